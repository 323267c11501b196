package io.unifiedcache.benchmarks;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Registration;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** The batches of a round that a store puts and gets, in memory that it has registered. */
final class MooncakeBatches implements AutoCloseable {
  static final int BATCH = 32;

  /** The least bytes of a round, which are a batch at least. */
  private static final long LEAST_ROUND_BYTES = 64 << 20;

  private final Arena arena = Arena.ofShared();
  private final CacheStore store;
  private final long bytes;
  private final MemorySegment sources;
  private final MemorySegment targets;
  private final List<Registration> registrations = new ArrayList<>();
  private List<List<ObjectKey>> keys = new ArrayList<>();
  private long rounds;

  /** Creates batches of objects of the given bytes. */
  MooncakeBatches(CacheStore store, long bytes) {
    this.store = store;
    this.bytes = bytes;
    sources = arena.allocate(roundBytes(), 4096);
    targets = arena.allocate(roundBytes(), 4096).fill((byte) 2);
    SplittableRandom random = new SplittableRandom(bytes);
    for (long at = 0; at < roundBytes(); at += Long.BYTES) {
      sources.set(ValueLayout.JAVA_LONG, at, random.nextLong());
    }
    registrations.add(store.register(HostMemory.of(sources)));
    registrations.add(store.register(HostMemory.of(targets)));
  }

  /** Returns the bytes of a round. */
  long roundBytes() {
    return Math.max(LEAST_ROUND_BYTES, BATCH * bytes);
  }

  /** Returns the side that puts all objects, under keys that are not in the store. */
  Side put() {
    return () -> {
      remove();
      long round = rounds++;
      List<List<PutOp>> puts = new ArrayList<>();
      for (int from = 0; from < roundBytes() / bytes; from += BATCH) {
        List<ObjectKey> batch = new ArrayList<>();
        List<PutOp> put = new ArrayList<>();
        for (int i = from; i < from + BATCH; i++) {
          ObjectKey key =
              new ObjectKey("java-" + ProcessHandle.current().pid() + "-" + round + "-" + i);
          batch.add(key);
          put.add(new PutOp(key, List.of(HostMemory.of(sources.asSlice(i * bytes, bytes)))));
        }
        keys.add(batch);
        puts.add(put);
      }
      return Side.time(() -> puts.forEach(ops -> requireOk(store.put(ops, Deadline.never()))));
    };
  }

  /** Returns the side that gets all objects, and holds every byte against what was put. */
  Side get() {
    return () -> {
      targets.fill((byte) 0);
      List<List<GetOp>> gets = new ArrayList<>();
      long at = 0;
      for (List<ObjectKey> batch : keys) {
        List<GetOp> get = new ArrayList<>();
        for (ObjectKey key : batch) {
          get.add(new GetOp(key, List.of(HostMemory.of(targets.asSlice(at, bytes)))));
          at += bytes;
        }
        gets.add(get);
      }
      long nanos =
          Side.time(() -> gets.forEach(ops -> requireOk(store.get(ops, Deadline.never()))));
      long differs = sources.mismatch(targets);
      if (differs >= 0) {
        throw new IllegalStateException("byte " + differs + " differs from what was put");
      }
      return nanos;
    };
  }

  private void remove() {
    for (List<ObjectKey> batch : keys) {
      requireOk(store.remove(batch, /* evenIfLeased= */ true, Deadline.never()));
    }
    keys = new ArrayList<>();
  }

  private static void requireOk(BatchResult result) {
    if (result.count(ObjectStatus.OK) != result.size()) {
      throw new IllegalStateException("not all OK: " + result);
    }
  }

  @Override
  public void close() {
    remove();
    registrations.forEach(Registration::close);
    arena.close();
  }
}
