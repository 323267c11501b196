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
import io.unifiedcache.benchmarks.Table.Goal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The memory store alone, in batches of 32, beside plain copies of the same objects.
 *
 * <p>A round moves 256 MiB, batch after batch, so that no object is still in a cache of the
 * processor from the round before. The copies are batches too: both sides wait for a whole batch
 * before they begin the next.
 */
final class StoreRows {
  private static final int BATCH = 32;
  private static final long ROUND_BYTES = 256 << 20;

  private final Rounds rounds;
  private final Table table;

  StoreRows(Rounds rounds, Table table) {
    this.rounds = rounds;
    this.table = table;
  }

  /** Measures objects of 64 KiB, 1 MiB and 4 MiB. */
  void measure() {
    measure("64 KiB", 64 << 10);
    measure("1 MiB", 1 << 20);
    measure("4 MiB", 4 << 20);
  }

  private void measure(String size, long bytes) {
    int objects = Math.toIntExact(ROUND_BYTES / bytes);
    try (CacheStore store = Engine.openStore(2 * ROUND_BYTES);
        TwoThreads threads = new TwoThreads();
        Arena arena = Arena.ofShared()) {
      MemorySegment sources = arena.allocate(ROUND_BYTES, 4096).fill((byte) 1);
      MemorySegment targets = arena.allocate(ROUND_BYTES, 4096).fill((byte) 2);
      List<List<PutOp>> puts = new ArrayList<>();
      List<List<GetOp>> gets = new ArrayList<>();
      for (int from = 0; from < objects; from += BATCH) {
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
      Side copies =
          Side.of(
              () -> {
                for (int first = 0; first < objects; first += BATCH) {
                  copy(threads, sources, targets, first, bytes);
                }
              });
      Side put =
          () -> {
            var unused = store.clear(KeyPrefix.EVERYTHING, Deadline.never());
            return Side.time(
                () -> puts.forEach(ops -> requireOk(store.put(ops, Deadline.never()))));
          };
      Side get = Side.of(() -> gets.forEach(ops -> requireOk(store.get(ops, Deadline.never()))));
      String of = "batches of " + BATCH + " of " + size;
      table.row("put / copies: " + of, rounds.ratio(copies, put), Goal.atLeast(0.9));
      table.row("get / copies: " + of, rounds.ratio(copies, get), Goal.atLeast(0.9));
    }
  }

  private static void copy(
      TwoThreads threads, MemorySegment sources, MemorySegment targets, int first, long bytes) {
    threads.copy(
        BATCH,
        i -> {
          long at = (first + i) * bytes;
          MemorySegment.copy(sources, at, targets, at, bytes);
        });
  }

  private static void requireOk(BatchResult result) {
    if (result.count(ObjectStatus.OK) != result.size()) {
      throw new IllegalStateException("not all OK: " + result);
    }
  }
}
