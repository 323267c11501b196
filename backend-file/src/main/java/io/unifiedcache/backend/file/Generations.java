package io.unifiedcache.backend.file;

import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The numbers of the puts of one process: unique, and later than those of all puts that were known
 * when they began.
 *
 * <p>Without a sign. The upper 48 bits are a time in 65,536ths of a second since 1970, moved on
 * where the clock is behind what is known already; the lower 16 are drawn by the process, so that
 * two do not give the same number to one key. Thread-safe.
 */
final class Generations {
  private static final int WRITER_BITS = 16;
  private static final int FRACTION_BITS = 16;
  private static final long NANOS = 1_000_000_000;

  private final int writer;
  private final AtomicLong last = new AtomicLong();

  /** Creates the numbers of a process, which is known by the lower bits of the writer. */
  Generations(int writer) {
    this.writer = writer & ((1 << WRITER_BITS) - 1);
  }

  /**
   * Returns the next number.
   *
   * @param known the latest of all numbers that are known
   */
  long next(Instant now, long known) {
    long clock =
        (now.getEpochSecond() << FRACTION_BITS) + ((long) now.getNano() << FRACTION_BITS) / NANOS;
    long least = Math.max(clock, (known >>> WRITER_BITS) + 1);
    long time = last.updateAndGet(before -> Math.max(before + 1, least));
    return (time << WRITER_BITS) | writer;
  }

  /** Returns the later one of two. */
  static long later(long one, long other) {
    return Long.compareUnsigned(one, other) < 0 ? other : one;
  }

  /** Returns when a put began, in seconds since 1970 without a sign. */
  static int seconds(long generation) {
    return (int) (generation >>> (WRITER_BITS + FRACTION_BITS));
  }
}
