package io.unifiedcache.linker.direct;

import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The objects that failed to load (rule {@code load.no-livelock}): they are not offered until they
 * have been stored anew, or until the suspicion expires.
 *
 * <p>Thread-safe. Expired suspicions are dropped when they are asked for, and all together each
 * time the set has doubled.
 */
final class SuspectObjects {
  private static final int LEAST_SWEEP = 1024;

  private final MonotonicClock clock;
  private final long expiryNanos;

  /** By key: when the suspicion expires. */
  private final Map<ObjectKey, Long> expiries = new ConcurrentHashMap<>();

  private final AtomicInteger nextSweep = new AtomicInteger(LEAST_SWEEP);

  SuspectObjects(Duration expiry, MonotonicClock clock) {
    this.clock = clock;
    this.expiryNanos = expiry.toNanos();
  }

  /** Suspects an object from now on. */
  void add(ObjectKey key) {
    long now = clock.nanos();
    expiries.put(key, now + expiryNanos);
    int limit = nextSweep.get();
    if (expiries.size() > limit) {
      expiries.values().removeIf(expiry -> expiry - now <= 0);
      nextSweep.compareAndSet(limit, Math.max(LEAST_SWEEP, 2 * expiries.size()));
    }
  }

  /** Suspects an object no longer: it has been stored anew. */
  void clear(ObjectKey key) {
    expiries.remove(key);
  }

  boolean contains(ObjectKey key) {
    if (expiries.isEmpty()) {
      return false;
    }
    Long expiry = expiries.get(key);
    if (expiry == null) {
      return false;
    }
    if (expiry - clock.nanos() <= 0) {
      expiries.remove(key, expiry);
      return false;
    }
    return true;
  }

  int size() {
    return expiries.size();
  }
}
