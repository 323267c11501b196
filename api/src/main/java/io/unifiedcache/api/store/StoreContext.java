package io.unifiedcache.api.store;

import io.unifiedcache.api.MonotonicClock;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;

/**
 * What surrounds a store that is being opened.
 *
 * @param instance the name of this instance in logs and thread names; not blank
 * @param clock the clock for whatever the store times out or expires
 * @param threads makes the store's threads, should it need any; daemon threads
 */
public record StoreContext(String instance, MonotonicClock clock, ThreadFactory threads) {
  /**
   * Creates a context.
   *
   * @throws IllegalArgumentException if the instance is blank
   */
  public StoreContext {
    if (instance.isBlank()) {
      throw new IllegalArgumentException("the name of an instance must not be blank");
    }
    Objects.requireNonNull(clock, "clock");
    Objects.requireNonNull(threads, "threads");
  }

  /** Returns a context with the clock of the JVM and daemon threads named after the instance. */
  public static StoreContext of(String instance) {
    return new StoreContext(
        instance,
        MonotonicClock.SYSTEM,
        Thread.ofPlatform().daemon().name(instance + "-", 0).factory());
  }
}
