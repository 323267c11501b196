package io.unifiedcache.api;

/**
 * The kind of a failure.
 *
 * <p>Two questions are answered by the code alone, so that all stores answer them alike (rule
 * {@code store.failure-codes}): whether the same request may succeed later ({@link #retry}), and
 * whether the stored object itself is proven bad ({@link #provesBadObject}).
 */
public enum FailureCode {
  /** There is no room for the object, now or ever. */
  NO_SPACE(Retry.DEPENDS),
  /** The object, or the range of it, has another size than the memory. */
  SIZE_MISMATCH(Retry.NEVER),
  /** The stored bytes are not those that were put. */
  CORRUPT(Retry.NEVER),
  /** The object is leased or pinned for the moment. */
  BUSY(Retry.ALWAYS),
  /** The right to read the object ran out before all of it was read. */
  LEASE_EXPIRED(Retry.ALWAYS),
  /** The deadline passed. */
  TIMEOUT(Retry.ALWAYS),
  /** A part of the store, such as a server, does not answer. */
  UNREACHABLE(Retry.ALWAYS),
  /** Reading or writing below the store failed. It says nothing about the object. */
  IO(Retry.DEPENDS),
  /** The request is outside what the store declares or accepts. */
  REFUSED(Retry.NEVER),
  /** The store or linker is closed. */
  CLOSED(Retry.NEVER),
  /** The operation was given up on purpose. */
  CANCELLED(Retry.ALWAYS),
  /** An object that a load needs is no longer there. */
  ABSENT(Retry.NEVER),
  /** This rank did its part, and another rank failed or was lost. */
  OTHER_RANK(Retry.DEPENDS),
  /** A defect: something that no other code describes. It says nothing about the object. */
  INTERNAL(Retry.DEPENDS);

  /** Whether a request that failed may succeed later with nothing else changed. */
  public enum Retry {
    /** It may: what was in the way passes by itself. */
    ALWAYS,
    /** The failure itself says so, by {@link StoreFailure#retryable}. */
    DEPENDS,
    /** It will fail again. */
    NEVER
  }

  private final Retry retry;

  FailureCode(Retry retry) {
    this.retry = retry;
  }

  /** Returns whether a request that failed so may succeed later. */
  public Retry retry() {
    return retry;
  }

  /**
   * Returns whether a failure of this code, met while a whole object or its size was read, is proof
   * that the stored object is bad. Only then may the object be removed while others read it. A
   * fault of memory, of a disk, of a server or of a lease is no proof, and neither is a defect.
   */
  public boolean provesBadObject() {
    return this == SIZE_MISMATCH || this == CORRUPT;
  }
}
