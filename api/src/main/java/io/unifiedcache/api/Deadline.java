package io.unifiedcache.api;

import java.time.Duration;

/**
 * A moment by which a call returns.
 *
 * <p>Immutable and thread-safe. A call that is given a deadline returns by it, give or take what
 * its store declares as grace (rule {@code store.deadline}).
 */
public final class Deadline {
  /** The longest time that is told apart from never: about 146 years. */
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE / 2);

  private static final Deadline NEVER = new Deadline(MonotonicClock.SYSTEM, 0, false);

  private final MonotonicClock clock;
  private final long at;
  private final boolean bounded;

  private Deadline(MonotonicClock clock, long at, boolean bounded) {
    this.clock = clock;
    this.at = at;
    this.bounded = bounded;
  }

  /** Returns the deadline that never passes. */
  public static Deadline never() {
    return NEVER;
  }

  /** Returns the deadline that lies {@code time} ahead on the clock of the JVM. */
  public static Deadline after(Duration time) {
    return after(time, MonotonicClock.SYSTEM);
  }

  /**
   * Returns the deadline that lies {@code time} ahead on the given clock.
   *
   * @param time not negative; zero has passed already
   * @throws IllegalArgumentException if the time is negative
   */
  public static Deadline after(Duration time, MonotonicClock clock) {
    if (time.isNegative()) {
      throw new IllegalArgumentException("a deadline cannot lie in the past: " + time);
    }
    if (time.compareTo(LONGEST) > 0) {
      return NEVER;
    }
    return new Deadline(clock, clock.nanos() + time.toNanos(), true);
  }

  /** Tells whether the moment has come. */
  public boolean hasPassed() {
    return remainingNanos() == 0;
  }

  /**
   * Returns the nanoseconds left: zero once the moment has come, {@link Long#MAX_VALUE} for {@link
   * #never()}.
   */
  public long remainingNanos() {
    return bounded ? Math.max(0, at - clock.nanos()) : Long.MAX_VALUE;
  }

  @Override
  public String toString() {
    return bounded ? "Deadline[in " + Duration.ofNanos(remainingNanos()) + "]" : "Deadline[never]";
  }
}
