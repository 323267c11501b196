package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;

/** What Mooncake's numbers mean. */
final class Answers {
  /** No room, for the moment or for good; or all that is there is leased or pinned. */
  static final long NO_SPACE = -200;

  /** An argument is wrong; also, a target is shorter than its object. */
  static final long INVALID_PARAMS = -600;

  /** No complete copy in memory; it may be on an SSD, from where it can be read as a whole. */
  static final long NOT_IN_MEMORY = -702;

  /** No complete copy yet: another writer is at it, or died at it. */
  static final long REPLICA_NOT_READY = -703;

  static final long OBJECT_NOT_FOUND = -704;
  static final long OBJECT_EXISTS = -705;

  /** Leased, and so not removed. */
  static final long LEASED = -706;

  /** The lease ran out while bytes were copied: they are not to be used. */
  static final long LEASE_EXPIRED = -707;

  /** A transfer failed, and the transport may still be at the memory. */
  static final long TRANSFER_FAILED = -800;

  static final long CHECKSUM = -801;

  /** A call to a server failed. */
  static final long RPC_FAILED = -900;

  static final long RPC_TIMEOUT = -901;

  /** The tenant has used up what it may store, and nothing of it could go. */
  static final long TENANT_FULL = -1700;

  /** The master keeps tenants apart, and does not know this one. */
  static final long TENANT_UNKNOWN = -1701;

  private Answers() {}

  /** Tells whether a number says that there is no object to be read. */
  static boolean isAbsent(long number) {
    return number == OBJECT_NOT_FOUND || number == REPLICA_NOT_READY;
  }

  /** Tells whether a number says that there is no room, which may pass. */
  static boolean isFull(long number) {
    return number == NO_SPACE || number == TENANT_FULL;
  }

  /** Returns the failure that a negative number stands for; it keeps the number. */
  static StoreFailure failure(ObjectKey key, String call, long number) {
    StoreFailure failure =
        StoreFailure.of(
            code(number),
            Limits.about(key, "%s answered %d: %s".formatted(call, number, meaning(number))));
    return isFull(number) ? failure.asRetryable() : failure;
  }

  /** Returns the kind of failure that a number stands for. */
  static FailureCode code(long number) {
    if (isFull(number)) {
      return FailureCode.NO_SPACE;
    } else if (number == INVALID_PARAMS || number == TENANT_UNKNOWN) {
      return FailureCode.REFUSED;
    } else if (number == LEASED || number == REPLICA_NOT_READY) {
      return FailureCode.BUSY;
    } else if (number == LEASE_EXPIRED) {
      return FailureCode.LEASE_EXPIRED;
    } else if (number == CHECKSUM) {
      return FailureCode.CORRUPT;
    } else if (number == TRANSFER_FAILED
        || number == NOT_IN_MEMORY
        || number == RPC_FAILED
        || number == RPC_TIMEOUT) {
      return FailureCode.UNREACHABLE;
    }
    return FailureCode.INTERNAL;
  }

  /** Returns what an operator should know of a number. */
  static String meaning(long number) {
    if (number == NO_SPACE) {
      return "no segment has room, or all that could go is leased or pinned";
    } else if (number == INVALID_PARAMS) {
      return "an argument is refused";
    } else if (number == NOT_IN_MEMORY) {
      return "no copy is in memory";
    } else if (number == REPLICA_NOT_READY) {
      return "no copy is complete; another writer is at it or has died";
    } else if (number == OBJECT_NOT_FOUND) {
      return "there is no such object";
    } else if (number == OBJECT_EXISTS) {
      return "the object is there already";
    } else if (number == LEASED) {
      return "it is leased";
    } else if (number == LEASE_EXPIRED) {
      return "its lease ran out while it was copied";
    } else if (number == TRANSFER_FAILED) {
      return "bytes could not be moved; the owner of the segment may be gone";
    } else if (number == CHECKSUM) {
      return "its checksum does not fit";
    } else if (number == RPC_FAILED) {
      return "the master does not answer, or is of another version";
    } else if (number == RPC_TIMEOUT) {
      return "the master does not answer in time";
    } else if (number == TENANT_FULL) {
      return "the tenant (tenant_id) has used up its quota, and all it has is leased or pinned";
    } else if (number == TENANT_UNKNOWN) {
      return "the master has no quota for this tenant (tenant_id), and stores nothing without one";
    }
    return "an error of Mooncake's own";
  }
}
