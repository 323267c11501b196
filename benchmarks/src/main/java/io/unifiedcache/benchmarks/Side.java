package io.unifiedcache.benchmarks;

/** One side of a comparison: does its work once, and tells how long the part took that counts. */
@FunctionalInterface
interface Side {
  /** Works, and returns the nanoseconds that count; what it needs around them is its own affair. */
  long nanos();

  /** Returns the side that is timed from its beginning to its end. */
  static Side of(Runnable work) {
    return () -> time(work);
  }

  /** Returns the nanoseconds that some work takes. */
  static long time(Runnable work) {
    long start = System.nanoTime();
    work.run();
    return System.nanoTime() - start;
  }
}
