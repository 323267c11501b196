package io.unifiedcache.benchmarks;

import java.util.Arrays;
import java.util.function.DoubleSupplier;

/**
 * Ratios of two sides that take turns, so that whatever else the machine does meets both.
 *
 * @param warmups rounds that do not count, in which code is compiled and memory touched
 * @param rounds rounds that count
 */
record Rounds(int warmups, int rounds) {
  /**
   * What the rounds came to.
   *
   * @param median the middle value
   * @param least the least value
   * @param most the greatest value
   * @param fastest what the fastest round of each side comes to, which neighbours on the machine
   *     disturb least
   */
  record Spread(double median, double least, double most, double fastest) {
    /** Returns the spread of some values. */
    static Spread of(double[] values, double fastest) {
      double[] sorted = values.clone();
      Arrays.sort(sorted);
      int middle = sorted.length / 2;
      double median =
          sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
      return new Spread(median, sorted[0], sorted[sorted.length - 1], fastest);
    }
  }

  /** Creates rounds. */
  Rounds {
    if (warmups < 0 || rounds < 1) {
      throw new IllegalArgumentException(warmups + " warm-ups and " + rounds + " rounds");
    }
  }

  /**
   * Returns the time of the first side by that of the second. Who begins changes from round to
   * round.
   */
  Spread ratio(Side first, Side second) {
    double[] ratios = new double[rounds];
    double leastOfFirst = Double.POSITIVE_INFINITY;
    double leastOfSecond = Double.POSITIVE_INFINITY;
    for (int round = -warmups; round < rounds; round++) {
      boolean swapped = round % 2 != 0;
      double ofSecond = swapped ? second.nanos() : 0;
      double ofFirst = first.nanos();
      if (!swapped) {
        ofSecond = second.nanos();
      }
      if (round >= 0) {
        ratios[round] = ofFirst / ofSecond;
        leastOfFirst = Math.min(leastOfFirst, ofFirst);
        leastOfSecond = Math.min(leastOfSecond, ofSecond);
      }
    }
    return Spread.of(ratios, leastOfFirst / leastOfSecond);
  }

  /** Returns what a measure that is a ratio already comes to. */
  Spread each(DoubleSupplier measure) {
    double[] values = new double[rounds];
    for (int round = -warmups; round < rounds; round++) {
      double value = measure.getAsDouble();
      if (round >= 0) {
        values[round] = value;
      }
    }
    return Spread.of(values, Arrays.stream(values).min().orElseThrow());
  }
}
