package io.unifiedcache.api.store;

import io.unifiedcache.api.Memory;
import java.util.List;

/** Sums over pieces of memory. */
final class Pieces {
  private Pieces() {}

  /** Returns the sum of the sizes, exact past 2^31 (rule {@code store.long-sizes}). */
  static long byteSize(List<Memory> pieces) {
    long sum = 0;
    for (int i = 0; i < pieces.size(); i++) {
      sum = Math.addExact(sum, pieces.get(i).byteSize());
    }
    return sum;
  }
}
