package io.unifiedcache.api;

/** What kind of thing went wrong. */
public enum FailureCode {
  /** There is no room for the object, now or ever. */
  NO_SPACE,
  /** The memory and the object, or the range, have different sizes. */
  SIZE_MISMATCH,
  /** The stored bytes are not those that were put. */
  CORRUPT,
  /** The object is leased or pinned for the moment. */
  BUSY,
  /** The right to read the object ran out before all of it was read. */
  LEASE_EXPIRED,
  /** The deadline passed. */
  TIMEOUT,
  /** A part of the store, such as a server, does not answer. */
  UNREACHABLE,
  /** Reading or writing below the store failed. */
  IO,
  /** The request is outside what the store declares or accepts. */
  REFUSED,
  /** The store or linker is closed. */
  CLOSED,
  /** The operation was given up on purpose. */
  CANCELLED,
  /** An object that a load needs is no longer there. */
  ABSENT,
  /** This rank did its part, and another rank failed or was lost. */
  OTHER_RANK,
  /** A defect: something that no other code describes. */
  INTERNAL
}
