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
import org.jspecify.annotations.Nullable;

/**
 * Registered memory through which objects are copied whose own memory Mooncake cannot take: made
 * when it is first needed, and given out in blocks. Thread-safe.
 */
final class Staging {
  private static final long ALIGNMENT = 4096;

  private final Registrations registrations;
  private final long capacity;
  private final Turns turns = new Turns();

  // Guarded by the turns.

  /** All of the memory, once it was needed and Mooncake has registered it. */
  private @Nullable Block all;

  /** The free parts: their sizes by where they begin. */
  private final TreeMap<Long, Long> free = new TreeMap<>();

  Staging(Registrations registrations, long capacity) {
    this.registrations = registrations;
    this.capacity = capacity / ALIGNMENT * ALIGNMENT;
  }

  /** A part of the memory. */
  static final class Block {
    final MemorySegment segment;
    private final Runnable giveBack;

    private Block(MemorySegment segment, Runnable giveBack) {
      this.segment = segment;
      this.giveBack = giveBack;
    }

    /** Gives the block back. */
    void free() {
      giveBack.run();
    }

    /** Gives the block back when a stage ends. */
    void freeAfter(CompletionStage<?> stage) {
      stage.whenComplete((nothing, never) -> free());
    }
  }

  /** Returns the most bytes that a block can have. */
  long capacity() {
    return capacity;
  }

  /**
   * Waits for a block, unless the caller stops waiting first.
   *
   * @param least the bytes that it has at least; not more than {@link #capacity}
   * @param wanted the bytes that would be of use; at least as many
   * @return a block, or null if the caller has stopped waiting
   * @throws CacheException if there is no memory, or Mooncake does not register it
   */
  @Nullable Block take(long least, long wanted, Call call) {
    return turns.await(call, () -> part(least, wanted));
  }

  /** Returns registered memory of its own, or leaves nothing behind. */
  private Block allocate(long bytes) {
    Arena arena = Arena.ofShared();
    try {
      MemorySegment segment = allocate(arena, bytes);
      Registration registration = registrations.register(HostMemory.of(segment));
      return new Block(
          segment,
          () -> {
            registration.close();
            arena.close();
          });
    } catch (RuntimeException | Error e) {
      arena.close();
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

  /** Returns the largest free part, or of it what is of use; null if it is too small. */
  private @Nullable Block part(long least, long wanted) {
    Block whole = all;
    if (whole == null) {
      whole = allocate(capacity);
      all = whole;
      free.put(0L, capacity);
    }
    long begin = -1;
    long size = 0;
    for (Map.Entry<Long, Long> part : free.entrySet()) {
      if (part.getValue() > size) {
        begin = part.getKey();
        size = part.getValue();
      }
    }
    if (size < roundUp(least)) {
      return null;
    }
    long at = begin;
    long taken = Math.min(size, roundUp(Math.min(wanted, capacity)));
    free.remove(at);
    if (size > taken) {
      free.put(at + taken, size - taken);
    }
    return new Block(
        whole.segment.asSlice(at, taken), () -> turns.giveBack(() -> addFree(at, taken)));
  }

  private static long roundUp(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  private void addFree(long at, long size) {
    Map.Entry<Long, Long> before = free.lowerEntry(at);
    if (before != null && before.getKey() + before.getValue() == at) {
      at = before.getKey();
      size += before.getValue();
    }
    Long after = free.remove(at + size);
    free.put(at, after == null ? size : size + after);
  }

  /** Frees the memory; nothing is at it any more. */
  void end() {
    Block whole = all;
    if (whole != null) {
      whole.free();
    }
  }
}
