package io.unifiedcache.api.linker;

import java.util.Arrays;
import java.util.stream.LongStream;

/**
 * Places of pages in a pool, in the order of the pages. A slot is numbered from 0 and counts whole
 * pages, not tokens.
 *
 * <p>Immutable and thread-safe.
 */
public final class Slots {
  private final long[] slots;

  private Slots(long[] slots) {
    for (long slot : slots) {
      if (slot < 0) {
        throw new IllegalArgumentException("a slot must not be negative, not " + slot);
      }
    }
    this.slots = slots;
  }

  /**
   * Returns the given slots.
   *
   * @throws IllegalArgumentException if one is negative
   */
  public static Slots of(long... slots) {
    return new Slots(slots.clone());
  }

  /**
   * Returns {@code count} slots from {@code first} on.
   *
   * @throws IllegalArgumentException if one argument is negative
   */
  public static Slots range(long first, int count) {
    if (count < 0) {
      throw new IllegalArgumentException("there cannot be " + count + " slots");
    }
    return new Slots(LongStream.range(first, first + count).toArray());
  }

  /** Returns the number of slots. */
  public int size() {
    return slots.length;
  }

  /** Returns the slot of page {@code i}. */
  public long slot(int i) {
    return slots[i];
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Slots that && Arrays.equals(slots, that.slots);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(slots);
  }

  @Override
  public String toString() {
    return "Slots" + Arrays.toString(slots);
  }
}
