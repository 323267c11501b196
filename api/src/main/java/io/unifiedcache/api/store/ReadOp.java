package io.unifiedcache.api.store;

import java.util.List;

/**
 * Ranges of one object of a session, read together: the keys and the values of a layer, say.
 *
 * @param entry which key of the session, counted from 0
 * @param ranges the ranges, in any order
 */
public record ReadOp(int entry, List<Range> ranges) {
  /**
   * Creates an entry.
   *
   * @throws IllegalArgumentException if the entry is negative
   */
  public ReadOp {
    if (entry < 0) {
      throw new IllegalArgumentException("entry must not be negative, not " + entry);
    }
    ranges = List.copyOf(ranges);
  }

  /**
   * Returns the bytes that the targets take.
   *
   * @throws ArithmeticException if they do not fit in a {@code long}
   */
  public long byteSize() {
    long sum = 0;
    for (int i = 0; i < ranges.size(); i++) {
      sum = Math.addExact(sum, ranges.get(i).target().byteSize());
    }
    return sum;
  }
}
