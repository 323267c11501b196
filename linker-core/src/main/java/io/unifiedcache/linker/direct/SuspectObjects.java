package io.unifiedcache.linker.direct;

import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The objects that failed to load (rule {@code load.no-livelock}): they are not offered until they
 * have been stored anew, or until the suspicion expires.
 *
 * <p>Thread-safe. Expired suspicions are dropped when they are asked for, and all together each
 * time the set has doubled.
 */
final class SuspectObjects {
  private static final int LEAST_SWEEP = 1024;

  /**
   * A suspicion.
   *
   * @param expiry when it ends
   * @param bad whether the failure proved that the stored object is bad, so that finding it again
   *     does not clear it
   */
  private record Suspicion(long expiry, boolean bad) {}

  private final MonotonicClock clock;
  private final long expiryNanos;
  private final Map<ObjectKey, Suspicion> suspicions = new ConcurrentHashMap<>();
  private final AtomicInteger nextSweep = new AtomicInteger(LEAST_SWEEP);

  SuspectObjects(Duration expiry, MonotonicClock clock) {
    this.clock = clock;
    this.expiryNanos = expiry.toNanos();
  }

  /** Returns whether the failure of a load of one object makes it suspect. */
  static boolean isRaisedBy(StoreFailure failure) {
    return switch (failure.code()) {
      case CLOSED, CANCELLED -> false;
      default -> true;
    };
  }

  /** Returns whether the failure of a load as a whole makes all its objects suspect. */
  static boolean isRaisedByWhole(StoreFailure failure) {
    return switch (failure.code()) {
      case CLOSED, CANCELLED, OTHER_RANK, REFUSED -> false;
      default -> true;
    };
  }

  /** Suspects an object from now on. */
  void add(ObjectKey key, boolean bad) {
    long now = clock.nanos();
    suspicions.merge(
        key,
        new Suspicion(now + expiryNanos, bad),
        (old, latest) -> new Suspicion(latest.expiry(), old.bad() || latest.bad()));
    int limit = nextSweep.get();
    if (suspicions.size() > limit) {
      suspicions.values().removeIf(suspicion -> suspicion.expiry() - now <= 0);
      nextSweep.compareAndSet(limit, Math.max(LEAST_SWEEP, 2 * suspicions.size()));
    }
  }

  /** Suspects an object no longer: it has been stored anew. */
  void clear(ObjectKey key) {
    suspicions.remove(key);
  }

  boolean contains(ObjectKey key) {
    return find(key) != null;
  }

  /** Tells whether the object is suspected of being bad. */
  boolean isBad(ObjectKey key) {
    Suspicion suspicion = find(key);
    return suspicion != null && suspicion.bad();
  }

  private @Nullable Suspicion find(ObjectKey key) {
    // Not only if the map is not empty: while one thread adds and another removes, it may say that
    // it is and hold a third key.
    Suspicion suspicion = suspicions.get(key);
    if (suspicion != null && suspicion.expiry() - clock.nanos() <= 0) {
      suspicions.remove(key, suspicion);
      return null;
    }
    return suspicion;
  }

  /** Returns the number of objects under suspicion. */
  int size() {
    long now = clock.nanos();
    suspicions.values().removeIf(suspicion -> suspicion.expiry() - now <= 0);
    return suspicions.size();
  }
}
