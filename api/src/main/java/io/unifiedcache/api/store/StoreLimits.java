package io.unifiedcache.api.store;

import java.time.Duration;

/**
 * The limits of a store (rule {@code store.limits}).
 *
 * <p>A call with more than {@code batch} entries is refused whole and touches nothing. An entry
 * over one of the other limits is {@code FAILED} with code {@code REFUSED} and its neighbours
 * proceed. At each limit it works.
 *
 * @param batch entries of one call, at least 1
 * @param keyBytes bytes of a key in UTF-8, at least 1
 * @param objectBytes bytes of one object, at least 1
 * @param pieces pieces of memory of one object, or ranges of one read entry, at least 1
 * @param alignment what every address of a non-empty piece must be a multiple of, in bytes; a power
 *     of two, 1 for none
 * @param grace how long after its deadline a call may still return, not negative
 * @param busy how long an object may answer {@code BUSY} to {@code remove}, not negative
 */
public record StoreLimits(
    int batch,
    int keyBytes,
    long objectBytes,
    int pieces,
    long alignment,
    Duration grace,
    Duration busy) {
  /** No limit but those of the types; a grace of one second. */
  public static final StoreLimits NONE =
      new StoreLimits(
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Long.MAX_VALUE,
          Integer.MAX_VALUE,
          1,
          Duration.ofSeconds(1),
          Duration.ZERO);

  /**
   * Creates limits.
   *
   * @throws IllegalArgumentException if one is below its least value
   */
  public StoreLimits {
    requirePositive("batch", batch);
    requirePositive("keyBytes", keyBytes);
    requirePositive("objectBytes", objectBytes);
    requirePositive("pieces", pieces);
    requirePositive("alignment", alignment);
    if (Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException("alignment must be a power of two, not " + alignment);
    }
    requireNotNegative("grace", grace);
    requireNotNegative("busy", busy);
  }

  private static void requirePositive(String name, long value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, not " + value);
    }
  }

  private static void requireNotNegative(String name, Duration value) {
    if (value.isNegative()) {
      throw new IllegalArgumentException(name + " must not be negative, but is " + value);
    }
  }
}
