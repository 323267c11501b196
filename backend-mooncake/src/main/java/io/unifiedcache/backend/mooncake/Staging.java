package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.store.Registration;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory through which objects are copied whose own memory Mooncake cannot take: made
 * when it is first needed, and given out in blocks. Thread-safe.
 */
final class Staging {
  private static final long ALIGNMENT = 4096;
  private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final Registrations registrations;
  private final long capacity;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition freed = lock.newCondition();

  /** The free parts: their sizes by where they begin. */
  private final TreeMap<Long, Long> free = new TreeMap<>();

  private final Arena arena = Arena.ofShared();
  private @Nullable MemorySegment memory;

  Staging(Registrations registrations, long capacity) {
    this.registrations = registrations;
    this.capacity = capacity / ALIGNMENT * ALIGNMENT;
  }

  /** A part of the memory, or memory of its own for what is larger than that. */
  final class Block {
    final MemorySegment segment;
    private final long at;
    private final @Nullable Arena own;
    private final Registration registration;

    private Block(MemorySegment segment, long at, @Nullable Arena own, Registration registration) {
      this.segment = segment;
      this.at = at;
      this.own = own;
      this.registration = registration;
    }

    /** Gives the block back. */
    void free() {
      if (own == null) {
        giveBack(at, segment.byteSize());
      } else {
        registration.close();
        own.close();
      }
    }

    /** Gives the block back when a stage ends. */
    void freeAfter(CompletionStage<?> stage) {
      stage.whenComplete((nothing, never) -> free());
    }
  }

  /**
   * Waits for a block, unless the caller stops waiting first.
   *
   * @param least the bytes that it has at least
   * @param wanted the bytes that would be of use; at least as many
   * @return a block, or null if the caller has stopped waiting
   * @throws CacheException if there is no memory, or Mooncake does not register it
   */
  @Nullable Block take(long least, long wanted, Call call) {
    if (least > capacity) {
      return own(least);
    }
    lock.lock();
    try {
      prepare();
      while (!call.isLate()) {
        long at = -1;
        long size = 0;
        for (Map.Entry<Long, Long> part : free.entrySet()) {
          if (part.getValue() > size) {
            at = part.getKey();
            size = part.getValue();
          }
        }
        if (size >= roundUp(least)) {
          long taken = Math.min(size, roundUp(Math.min(wanted, capacity)));
          free.remove(at);
          if (size > taken) {
            free.put(at + taken, size - taken);
          }
          MemorySegment all = memory;
          if (all == null) {
            throw new IllegalStateException("the memory was prepared");
          }
          return new Block(all.asSlice(at, taken), at, null, Registration.NONE);
        }
        try {
          long unused = freed.awaitNanos(NAP_NANOS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return null;
        }
      }
      return null;
    } finally {
      lock.unlock();
    }
  }

  private static long roundUp(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  private void prepare() {
    if (memory == null) {
      MemorySegment fresh = allocate(arena, capacity);
      Registration unused = registrations.register(HostMemory.of(fresh));
      memory = fresh;
      free.put(0L, capacity);
    }
  }

  private Block own(long bytes) {
    Arena own = Arena.ofShared();
    try {
      MemorySegment segment = allocate(own, bytes);
      return new Block(segment, 0, own, registrations.register(HostMemory.of(segment)));
    } catch (CacheException e) {
      own.close();
      throw e;
    }
  }

  private static MemorySegment allocate(Arena arena, long bytes) {
    try {
      return arena.allocate(bytes, ALIGNMENT);
    } catch (OutOfMemoryError | IllegalArgumentException e) {
      throw new CacheException(
          FailureCode.NO_SPACE, "there is no memory to stage " + bytes + " bytes", e);
    }
  }

  private void giveBack(long at, long size) {
    lock.lock();
    try {
      Map.Entry<Long, Long> before = free.lowerEntry(at);
      if (before != null && before.getKey() + before.getValue() == at) {
        at = before.getKey();
        size += before.getValue();
      }
      Long after = free.remove(at + size);
      free.put(at, after == null ? size : size + after);
      freed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Frees the memory; nothing is at it any more. */
  void end() {
    arena.close();
  }
}
