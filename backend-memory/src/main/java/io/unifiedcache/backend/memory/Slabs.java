package io.unifiedcache.backend.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Native memory for objects, handed out in blocks.
 *
 * <p>Memory comes from the system in slabs, when it is first needed, and goes back all at once in
 * {@link #close}. Within a slab a buddy system keeps blocks of 2^k granules: a freed block joins
 * its free neighbour, so memory moves between sizes. An object takes as many blocks as it needs,
 * the largest first, which has two consequences: less than one granule per object is wasted, and
 * whatever is free can be used, however scattered it is.
 *
 * <p>The free blocks of each order are a list whose links lie in the blocks themselves, so that to
 * take one and to give one back needs no memory of the heap and cannot fail half-way.
 *
 * <p>Not thread-safe, but for {@link #reserve} and {@link #segmentOf}.
 */
final class Slabs implements AutoCloseable {
  /** The bytes of a granule, the unit in which memory is handed out. */
  static final int GRANULE = 512;

  /** Large enough that blocks are as long as the copies into them, small enough to reserve fast. */
  static final long DEFAULT_SLAB_BYTES = 16 << 20;

  private static final int GRANULE_SHIFT = Integer.numberOfTrailingZeros(GRANULE);

  /** Cache lines, pages, and what vector instructions like. */
  private static final long ALIGNMENT = 4096;

  /** A block is its first granule, shifted by this, and its order. */
  private static final int ORDER_BITS = 6;

  private static final byte NOT_FREE = -1;

  /** Stands for the block before the first one of a list, and after the last. */
  private static final long NONE = -1;

  private static final ValueLayout.OfLong LINK = ValueLayout.JAVA_LONG;

  private final Arena arena = Arena.ofShared();

  /** Granules of a slab are 2^{@code maxOrder}. */
  private final int maxOrder;

  private final long limit;

  /** Replaced, never changed, so that copying threads read it without the lock. */
  private volatile MemorySegment[] segments = {};

  /** For each slab and granule, the order of the free block that begins there. */
  private byte[][] freeOrders = {};

  /** For each order, where the first of its free blocks begins. */
  private final long[] firstFree;

  private long granules;
  private long freeGranules;

  /** The tables with one more slab, while one is being reserved. */
  private byte @Nullable [][] grownOrders;

  private MemorySegment @Nullable [] grownSegments;

  /**
   * Creates slabs.
   *
   * @param capacity the most bytes to reserve, rounded up to whole granules
   * @param slabBytes the bytes of a slab, a power of two and at least a granule
   */
  Slabs(long capacity, long slabBytes) {
    if (Long.bitCount(slabBytes) != 1 || slabBytes < GRANULE) {
      throw new IllegalArgumentException("slabs cannot have " + slabBytes + " bytes");
    }
    maxOrder = Long.numberOfTrailingZeros(slabBytes) - GRANULE_SHIFT;
    limit = granulesOf(capacity);
    firstFree = new long[maxOrder + 1];
    Arrays.fill(firstFree, NONE);
  }

  /** Returns the granules that an object takes: at least one, so that empty ones are bounded. */
  static long granulesOf(long bytes) {
    return Math.max(1, (bytes >>> GRANULE_SHIFT) + ((bytes & (GRANULE - 1)) == 0 ? 0 : 1));
  }

  /** Returns the most granules there can ever be. */
  long limit() {
    return limit;
  }

  /** Returns the granules reserved from the system. */
  long granules() {
    return granules;
  }

  /** Returns the granules that are free. */
  long freeGranules() {
    return freeGranules;
  }

  /** Tells whether another slab may be, or is being, reserved. */
  boolean canGrow() {
    return granules < limit;
  }

  /** Tells whether somebody is reserving a slab. */
  boolean isGrowing() {
    return grownSegments != null;
  }

  /** Tells whether the first and largest block of an object of that many granules is there. */
  boolean hasBlockFor(long wanted) {
    if (freeGranules < wanted) {
      return false;
    }
    for (int order = largestOrder(wanted); order <= maxOrder; order++) {
      if (firstFree[order] != NONE) {
        return true;
      }
    }
    return false;
  }

  /**
   * Announces that a slab is being reserved and returns its bytes. All that the heap has to give
   * for it is taken here, so that {@link #endGrowth} cannot fail.
   */
  long beginGrowth() {
    int slab = segments.length;
    byte[] orders = new byte[1 << maxOrder];
    Arrays.fill(orders, NOT_FREE);
    byte[][] moreOrders = Arrays.copyOf(freeOrders, slab + 1);
    moreOrders[slab] = orders;
    grownSegments = Arrays.copyOf(segments, slab + 1);
    grownOrders = moreOrders;
    return Math.min(limit - granules, 1L << maxOrder) << GRANULE_SHIFT;
  }

  /**
   * Reserves memory for a slab. Takes its time, since every page is touched; needs no lock.
   *
   * @return the memory, or null if the system has none
   */
  @Nullable MemorySegment reserve(long bytes) {
    try {
      return arena.allocate(bytes, ALIGNMENT);
    } catch (OutOfMemoryError e) {
      return null;
    }
  }

  /** Takes the reserved memory, if there is any, as a slab. */
  void endGrowth(@Nullable MemorySegment segment) {
    MemorySegment[] moreSegments = grownSegments;
    byte[][] moreOrders = grownOrders;
    grownSegments = null;
    grownOrders = null;
    if (segment == null || moreSegments == null || moreOrders == null) {
      return;
    }
    int slab = segments.length;
    freeOrders = moreOrders;
    moreSegments[slab] = segment;
    segments = moreSegments;

    long first = (long) slab << maxOrder;
    long end = first + (segment.byteSize() >>> GRANULE_SHIFT);
    granules += end - first;
    freeGranules += end - first;
    while (first < end) {
      int order = largestOrder(end - first);
      push(first, order);
      first += 1L << order;
    }
  }

  /**
   * Takes blocks that together have so many granules, the largest first.
   *
   * @throws IllegalStateException if there are not enough free granules
   */
  long[] allocate(long wanted) {
    if (wanted > freeGranules) {
      throw new IllegalStateException(wanted + " granules of " + freeGranules + " wanted");
    }
    long[] blocks = new long[1];
    int count = 0;
    int order = maxOrder;
    while (wanted > 0) {
      order = Math.min(order, largestOrder(wanted));
      if (count == blocks.length) {
        blocks = grown(blocks);
      }
      long first = take(order);
      if (first == NONE) {
        order--;
        continue;
      }
      blocks[count++] = first << ORDER_BITS | order;
      wanted -= 1L << order;
    }
    return count == blocks.length ? blocks : trimmed(blocks, count);
  }

  /** Returns the blocks with room for more. Where the heap has none, gives them back and throws. */
  private long[] grown(long[] blocks) {
    return copied(blocks, blocks.length, 2 * blocks.length);
  }

  private long[] trimmed(long[] blocks, int count) {
    return copied(blocks, count, count);
  }

  private long[] copied(long[] blocks, int count, int length) {
    try {
      return Arrays.copyOf(blocks, length);
    } catch (OutOfMemoryError e) {
      free(blocks, count);
      throw e;
    }
  }

  /** Gives blocks back. */
  void free(long[] blocks) {
    free(blocks, blocks.length);
  }

  private void free(long[] blocks, int count) {
    for (int i = 0; i < count; i++) {
      long block = blocks[i];
      long first = block >>> ORDER_BITS;
      int order = orderOf(block);
      freeGranules += 1L << order;
      while (order < maxOrder && freeOrder(first ^ (1L << order)) == order) {
        unlink(first ^ (1L << order), order);
        first &= -1L << (order + 1);
        order++;
      }
      push(first, order);
    }
  }

  /** Returns the bytes of a block. */
  static long bytesOf(long block) {
    return (long) GRANULE << orderOf(block);
  }

  /** Returns the slab that a block is in. */
  MemorySegment segmentOf(long block) {
    return segments[Math.toIntExact(block >>> (ORDER_BITS + maxOrder))];
  }

  /** Returns where a block begins in its slab, in bytes. */
  long offsetOf(long block) {
    return ((block >>> ORDER_BITS) & ((1L << maxOrder) - 1)) << GRANULE_SHIFT;
  }

  /** Returns all memory to the system. Nobody may use it any more. */
  @Override
  public void close() {
    arena.close();
    segments = new MemorySegment[0];
    freeOrders = new byte[0][];
    Arrays.fill(firstFree, NONE);
  }

  /** Takes a free block of the order, splitting a larger one if need be; NONE if there is none. */
  private long take(int order) {
    for (int larger = order; larger <= maxOrder; larger++) {
      long first = firstFree[larger];
      if (first == NONE) {
        continue;
      }
      unlink(first, larger);
      freeGranules -= 1L << order;
      while (larger > order) {
        larger--;
        push(first + (1L << larger), larger);
      }
      return first;
    }
    return NONE;
  }

  /** Puts a block at the front of the list of its order. */
  private void push(long first, int order) {
    long next = firstFree[order];
    setNext(first, next);
    setPrevious(first, NONE);
    if (next != NONE) {
      setPrevious(next, first);
    }
    firstFree[order] = first;
    setFreeOrder(first, (byte) order);
  }

  /** Takes a block out of the list of its order. */
  private void unlink(long first, int order) {
    long next = next(first);
    long previous = previous(first);
    if (previous == NONE) {
      firstFree[order] = next;
    } else {
      setNext(previous, next);
    }
    if (next != NONE) {
      setPrevious(next, previous);
    }
    setFreeOrder(first, NOT_FREE);
  }

  private long next(long first) {
    return slabOf(first).get(LINK, placeOf(first));
  }

  private void setNext(long first, long next) {
    slabOf(first).set(LINK, placeOf(first), next);
  }

  private long previous(long first) {
    return slabOf(first).get(LINK, placeOf(first) + LINK.byteSize());
  }

  private void setPrevious(long first, long previous) {
    slabOf(first).set(LINK, placeOf(first) + LINK.byteSize(), previous);
  }

  private MemorySegment slabOf(long granule) {
    return segments[(int) (granule >>> maxOrder)];
  }

  private long placeOf(long granule) {
    return (granule & ((1L << maxOrder) - 1)) << GRANULE_SHIFT;
  }

  private int largestOrder(long wanted) {
    return Math.min(maxOrder, Long.SIZE - 1 - Long.numberOfLeadingZeros(wanted));
  }

  private static int orderOf(long block) {
    return (int) block & ((1 << ORDER_BITS) - 1);
  }

  private byte freeOrder(long granule) {
    return freeOrders[(int) (granule >>> maxOrder)][(int) (granule & ((1L << maxOrder) - 1))];
  }

  private void setFreeOrder(long granule, byte order) {
    freeOrders[(int) (granule >>> maxOrder)][(int) (granule & ((1L << maxOrder) - 1))] = order;
  }
}
