package io.unifiedcache.api.store;

/**
 * What a store offers beyond exists, put and get.
 *
 * <p>An undeclared <em>operation</em> is refused by one uniform error and changes nothing; a
 * declared <em>promise</em> is kept (rule {@code store.capability-honest}).
 */
public enum Capability {
  /** {@link CacheStore#remove}. */
  REMOVE(false),
  /** {@link CacheStore#clear}. */
  CLEAR(false),
  /** {@link CacheStore#list}. */
  LIST(false),
  /** {@link CacheStore#openSession}. */
  RANGED_READ(false),
  /** Pieces may be {@link io.unifiedcache.api.DeviceMemory}. */
  DEVICE_MEMORY(false),
  /**
   * Promise: objects survive a close and the death of the process (rule {@code store.durable});
   * what a loss of power leaves is for the store to say.
   */
  DURABLE(true),
  /** Promise: several processes may open one store (rule {@code store.shared}). */
  SHARED(true),
  /** Promise: live bytes never pass a budget (rule {@code store.bounded}). */
  BOUNDED(true),
  /**
   * Promise: a put of a key that is there says {@link ObjectStatus#PRESENT} (rule {@code
   * store.reports-present}).
   */
  REPORTS_PRESENT(true);

  private final boolean promise;

  Capability(boolean promise) {
    this.promise = promise;
  }

  /** Tells whether this is a promise about what other operations do, not an operation. */
  public boolean isPromise() {
    return promise;
  }
}
