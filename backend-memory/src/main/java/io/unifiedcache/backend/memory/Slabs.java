package io.unifiedcache.backend.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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

  private final Arena arena = Arena.ofShared();

  /** Granules of a slab are 2^{@code maxOrder}. */
  private final int maxOrder;

  private final long limit;

  /** Replaced, never changed, so that copying threads read it without the lock. */
  private volatile MemorySegment[] segments = {};

  /** For each slab and granule, the order of the free block that begins there. */
  private byte[][] freeOrders = {};

  /** For each order, where its free blocks begin, and some that are free no longer. */
  private final Stack[] candidates;

  private long granules;
  private long freeGranules;
  private boolean growing;

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
    candidates = new Stack[maxOrder + 1];
    Arrays.setAll(candidates, order -> new Stack());
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
    return growing;
  }

  /** Tells whether the first and largest block of an object of that many granules is there. */
  boolean hasBlockFor(long wanted) {
    if (freeGranules < wanted) {
      return false;
    }
    for (int order = largestOrder(wanted); order <= maxOrder; order++) {
      if (peek(order) >= 0) {
        return true;
      }
    }
    return false;
  }

  /** Announces that a slab is being reserved and returns its bytes. */
  long beginGrowth() {
    growing = true;
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
    growing = false;
    if (segment == null) {
      return;
    }
    int slab = segments.length;
    byte[] orders = new byte[1 << maxOrder];
    Arrays.fill(orders, NOT_FREE);
    freeOrders = Arrays.copyOf(freeOrders, slab + 1);
    freeOrders[slab] = orders;
    MemorySegment[] more = Arrays.copyOf(segments, slab + 1);
    more[slab] = segment;
    segments = more;

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
    freeGranules -= wanted;
    long[] blocks = new long[1];
    int count = 0;
    int order = maxOrder;
    while (wanted > 0) {
      order = Math.min(order, largestOrder(wanted));
      long first = take(order);
      if (first < 0) {
        order--;
        continue;
      }
      if (count == blocks.length) {
        blocks = Arrays.copyOf(blocks, 2 * count);
      }
      blocks[count++] = first << ORDER_BITS | order;
      wanted -= 1L << order;
    }
    return count == blocks.length ? blocks : Arrays.copyOf(blocks, count);
  }

  /** Gives blocks back. */
  void free(long[] blocks) {
    for (long block : blocks) {
      long first = block >>> ORDER_BITS;
      int order = orderOf(block);
      freeGranules += 1L << order;
      while (order < maxOrder && freeOrder(first ^ (1L << order)) == order) {
        setFreeOrder(first ^ (1L << order), NOT_FREE);
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
    for (Stack each : candidates) {
      each.clear();
    }
  }

  /** Takes a free block of the order, splitting a larger one if need be; -1 if there is none. */
  private long take(int order) {
    for (int larger = order; larger <= maxOrder; larger++) {
      long first = peek(larger);
      if (first < 0) {
        continue;
      }
      candidates[larger].pop();
      setFreeOrder(first, NOT_FREE);
      while (larger > order) {
        larger--;
        push(first + (1L << larger), larger);
      }
      return first;
    }
    return -1;
  }

  /**
   * Returns where a free block of the order begins, or -1. Drops candidates that have joined their
   * neighbours since; a block is formed anew only after that, so none is ever listed twice.
   */
  private long peek(int order) {
    Stack stack = candidates[order];
    while (!stack.isEmpty()) {
      long first = stack.top();
      if (freeOrder(first) == order) {
        return first;
      }
      stack.pop();
    }
    return -1;
  }

  private void push(long first, int order) {
    setFreeOrder(first, (byte) order);
    candidates[order].push(first);
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

  /** A stack of numbers. */
  private static final class Stack {
    private long[] elements = new long[16];
    private int size;

    boolean isEmpty() {
      return size == 0;
    }

    long top() {
      return elements[size - 1];
    }

    void pop() {
      size--;
    }

    void push(long element) {
      if (size == elements.length) {
        elements = Arrays.copyOf(elements, 2 * size);
      }
      elements[size++] = element;
    }

    void clear() {
      elements = new long[16];
      size = 0;
    }
  }
}
