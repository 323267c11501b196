package io.unifiedcache.backend.memory;

import io.unifiedcache.api.Deadline;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The copying that one call has to do, cut into units that threads take one by one.
 *
 * <p>A unit is a part of a large entry or a run of small ones. Units are large enough to be worth
 * taking and small enough that threads finish together and a deadline is kept.
 */
final class Transfer {
  /** A unit of this size costs far more to copy than to take. */
  private static final long LEAST_UNIT = 128 << 10;

  /** Copies of several MiB bypass the caches, which is fastest; cut no finer than that. */
  private static final long MOST_UNIT = 4 << 20;

  /** An entry is not cut into parts smaller than this. */
  private static final long LEAST_PART = 1 << 20;

  /** So many units for each thread, so that the last ones end at nearly the same time. */
  private static final int UNITS_PER_THREAD = 16;

  private static final long PART_ALIGNMENT = 4096;

  private final List<EntryCopy> copies;
  private final Slabs slabs;
  private final Deadline by;
  private final long bytes;

  /** Each unit begins at this place of this copy, and ends where the next one begins. */
  private int[] unitCopies = new int[16];

  private long[] unitOffsets = new long[16];
  private int units;

  private final AtomicInteger next = new AtomicInteger();

  /**
   * Creates a transfer.
   *
   * @param copies what to copy, each with its object
   * @param threads how many threads will take units at most
   */
  Transfer(List<EntryCopy> copies, Slabs slabs, Deadline by, int threads) {
    this.copies = copies;
    this.slabs = slabs;
    this.by = by;
    long sum = 0;
    for (EntryCopy copy : copies) {
      sum += copy.size();
    }
    bytes = sum;
    cut(Math.clamp(bytes / threads / UNITS_PER_THREAD, LEAST_UNIT, MOST_UNIT));
  }

  /** Returns the bytes to copy. */
  long bytes() {
    return bytes;
  }

  /** Returns the number of units. */
  int units() {
    return units;
  }

  /** Takes units until there are no more; called by any number of threads. Never throws. */
  void work() {
    int unit;
    while ((unit = next.getAndIncrement()) < units) {
      copyUnit(unit);
    }
  }

  private void cut(long target) {
    long inUnit = target;
    for (int i = 0; i < copies.size(); i++) {
      long size = copies.get(i).size();
      if (inUnit + size > target) {
        addUnit(i, 0);
        inUnit = 0;
      }
      long most = Math.max(target, LEAST_PART);
      if (size > most) {
        long parts = (size + most - 1) / most;
        long part = (size / parts + PART_ALIGNMENT) & -PART_ALIGNMENT;
        for (long offset = part; offset < size; offset += part) {
          addUnit(i, offset);
        }
        inUnit = target;
      } else {
        inUnit += size;
      }
    }
  }

  private void addUnit(int copy, long offset) {
    if (units == unitCopies.length) {
      unitCopies = Arrays.copyOf(unitCopies, 2 * units);
      unitOffsets = Arrays.copyOf(unitOffsets, 2 * units);
    }
    unitCopies[units] = copy;
    unitOffsets[units] = offset;
    units++;
  }

  private void copyUnit(int unit) {
    boolean last = unit == units - 1;
    int endCopy = last ? copies.size() : unitCopies[unit + 1];
    long endOffset = last ? 0 : unitOffsets[unit + 1];
    int i = unitCopies[unit];
    long from = unitOffsets[unit];
    boolean inTime = true;
    while (i < endCopy || (i == endCopy && from < endOffset)) {
      EntryCopy copy = copies.get(i);
      long to = i == endCopy ? endOffset : copy.size();
      if (from < to) {
        try {
          // The clock is the caller's; whatever it throws must not end a copying thread.
          inTime = inTime && !by.hasPassed();
          if (inTime) {
            copy.copy(slabs, from, to);
          } else {
            copy.failLate();
          }
        } catch (RuntimeException | Error e) {
          copy.fail(e);
        }
      }
      i++;
      from = 0;
    }
  }
}
