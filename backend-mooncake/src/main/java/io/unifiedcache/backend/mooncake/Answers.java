package io.unifiedcache.backend.mooncake;

/** What Mooncake's numbers mean. */
final class Answers {
  /** No room, for the moment or for good; or all that is there is leased or pinned. */
  static final long NO_SPACE = -200;

  /** An argument is wrong; also, a target is shorter than its object. */
  static final long INVALID_PARAMS = -600;

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

  private Answers() {}
}
