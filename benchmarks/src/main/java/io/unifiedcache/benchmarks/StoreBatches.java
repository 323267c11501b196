package io.unifiedcache.benchmarks;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A memory store and the batches of 32 that a round puts and gets.
 *
 * <p>A round moves 256 MiB, batch after batch, so that no object is still in a cache of the
 * processor from the round before.
 */
final class StoreBatches implements AutoCloseable {
  static final int BATCH = 32;
  static final long ROUND_BYTES = 256 << 20;

  private final Arena arena = Arena.ofShared();
  private final CacheStore store = Engine.openStore(2 * ROUND_BYTES);
  private final long bytes;
  private final MemorySegment sources = arena.allocate(ROUND_BYTES, 4096);
  private final MemorySegment targets = arena.allocate(ROUND_BYTES, 4096).fill((byte) 2);
  private final List<List<PutOp>> puts = new ArrayList<>();
  private final List<List<GetOp>> gets = new ArrayList<>();

  /** Creates batches of objects of the given bytes, in memory that has been used. */
  StoreBatches(long bytes) {
    this.bytes = bytes;
    SplittableRandom random = new SplittableRandom(bytes);
    for (long at = 0; at < ROUND_BYTES; at += Long.BYTES) {
      sources.set(ValueLayout.JAVA_LONG, at, random.nextLong());
    }
    for (int from = 0; from < objects(); from += BATCH) {
      List<PutOp> put = new ArrayList<>();
      List<GetOp> get = new ArrayList<>();
      for (int i = from; i < from + BATCH; i++) {
        ObjectKey key = new ObjectKey("object-" + i);
        put.add(new PutOp(key, List.of(HostMemory.of(sources.asSlice(i * bytes, bytes)))));
        get.add(new GetOp(key, List.of(HostMemory.of(targets.asSlice(i * bytes, bytes)))));
      }
      puts.add(put);
      gets.add(get);
    }
  }

  /** Returns the number of objects of a round. */
  int objects() {
    return Math.toIntExact(ROUND_BYTES / bytes);
  }

  /** Returns the side that puts all objects, none of which is in the store. */
  Side put() {
    return () -> {
      var unused = store.clear(KeyPrefix.EVERYTHING, Deadline.never());
      return Side.time(() -> puts.forEach(ops -> requireOk(store.put(ops, Deadline.never()))));
    };
  }

  /** Returns the side that gets all objects, all of which have been put. */
  Side get() {
    return Side.of(() -> gets.forEach(ops -> requireOk(store.get(ops, Deadline.never()))));
  }

  /** Copies the objects of the batch that begins with {@code first} from where puts read. */
  void copy(TwoThreads threads, int first) {
    threads.copy(
        BATCH,
        i -> {
          long at = (first + i) * bytes;
          MemorySegment.copy(sources, at, targets, at, bytes);
        });
  }

  /** Returns the side that gets all objects, and holds every byte against what was put. */
  Side checkedGet() {
    Side get = get();
    return () -> {
      targets.fill((byte) 0);
      long nanos = get.nanos();
      long at = sources.mismatch(targets);
      if (at >= 0) {
        throw new IllegalStateException("byte " + at + " differs from what was put");
      }
      return nanos;
    };
  }

  private static void requireOk(BatchResult result) {
    if (result.count(ObjectStatus.OK) != result.size()) {
      throw new IllegalStateException("not all OK: " + result);
    }
  }

  @Override
  public void close() {
    store.close();
    arena.close();
  }
}
