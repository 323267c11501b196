package io.unifiedcache.benchmarks;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The memory store beside plain copies of the same bytes.
 *
 * <p>One operation moves a batch of 32 objects. {@link #copies} is the limit: two threads that copy
 * the same pages with {@link MemorySegment#copyFrom}, from and to memory that was used before.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class StoreBenchmark {
  private static final int BATCH = 32;
  private static final int COPY_THREADS = 2;

  /** Bytes of an object: 64 KiB, 1 MiB, 4 MiB. */
  @Param({"65536", "1048576", "4194304"})
  public long bytes;

  private final Arena arena = Arena.ofShared();
  private final ExecutorService threads = Executors.newFixedThreadPool(COPY_THREADS);
  private List<HostMemory> sources = List.of();
  private List<HostMemory> targets = List.of();
  private List<ObjectKey> keys = List.of();
  private List<PutOp> puts = List.of();
  private List<GetOp> gets = List.of();
  private CacheStore store = open(BATCH);

  private static CacheStore open(long capacity) {
    return Backends.discover()
        .open(
            "memory",
            SettingsSources.of(Map.of("capacity", Long.toString(Math.max(capacity, 1L << 30)))),
            "benchmark");
  }

  /** Makes memory that both sides have used before, and stores the objects that get reads. */
  @Setup(Level.Trial)
  public void prepare() {
    store.close();
    store = open(4 * BATCH * bytes);
    sources = pages((byte) 7);
    targets = pages((byte) 9);
    keys = new ArrayList<>();
    puts = new ArrayList<>();
    gets = new ArrayList<>();
    for (int i = 0; i < BATCH; i++) {
      ObjectKey key = new ObjectKey("object-" + i);
      List<Memory> source = List.of(sources.get(i));
      List<Memory> target = List.of(targets.get(i));
      keys.add(key);
      puts.add(new PutOp(key, source));
      gets.add(new GetOp(key, target));
    }
    requireAll(ObjectStatus.OK, store.put(puts, Deadline.never()));
  }

  private List<HostMemory> pages(byte fill) {
    List<HostMemory> pages = new ArrayList<>();
    for (int i = 0; i < BATCH; i++) {
      pages.add(HostMemory.of(arena.allocate(bytes, 4096).fill(fill)));
    }
    return pages;
  }

  /** Frees everything. */
  @TearDown(Level.Trial)
  public void free() {
    store.close();
    threads.shutdown();
    arena.close();
  }

  /** Reads a batch. */
  @Benchmark
  public BatchResult get() {
    return requireAll(ObjectStatus.OK, store.get(gets, Deadline.never()));
  }

  /** Stores a batch whose keys have been removed. */
  @Benchmark
  public BatchResult put() {
    requireAll(ObjectStatus.OK, store.remove(keys, /* evenIfLeased= */ true, Deadline.never()));
    return requireAll(ObjectStatus.OK, store.put(puts, Deadline.never()));
  }

  /** Copies the same pages with two threads. */
  @Benchmark
  public long copies() throws InterruptedException, ExecutionException {
    List<Future<Long>> halves = new ArrayList<>();
    for (int thread = 0; thread < COPY_THREADS; thread++) {
      int first = thread;
      halves.add(
          threads.submit(
              () -> {
                long copied = 0;
                for (int i = first; i < BATCH; i += COPY_THREADS) {
                  targets.get(i).segment().copyFrom(sources.get(i).segment());
                  copied += bytes;
                }
                return copied;
              }));
    }
    long copied = 0;
    for (Future<Long> half : halves) {
      copied += half.get();
    }
    return copied;
  }

  private static BatchResult requireAll(ObjectStatus status, BatchResult result) {
    if (result.count(status) != result.size()) {
      throw new IllegalStateException("not all " + status + ": " + result);
    }
    return result;
  }
}
