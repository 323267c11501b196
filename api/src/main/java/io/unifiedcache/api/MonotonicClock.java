package io.unifiedcache.api;

/**
 * A clock that only goes forward, in nanoseconds from an arbitrary origin.
 *
 * <p>Everything in the project that waits or expires asks the clock it was given, so that a test
 * can bring its own. Implementations are thread-safe.
 */
@FunctionalInterface
public interface MonotonicClock {
  /** The clock of the JVM, {@link System#nanoTime()}. */
  MonotonicClock SYSTEM = System::nanoTime;

  /** Returns the time. Only differences of two values mean anything, and they may wrap around. */
  long nanos();
}
