package io.unifiedcache.benchmarks;

import com.sun.management.ThreadMXBean;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.benchmarks.Engine.Shape;
import io.unifiedcache.linker.rank.LocalRanks;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/**
 * Prints how lookup, load and memory grow with pages, pools and ranks.
 *
 * <p>Pages are small, 4 KiB in 8 pieces, so that what grows is the work of the linker and not the
 * copying. Times are ratios to one row of the same table, the two taking turns.
 */
public final class Scale {
  private static final Rounds ROUNDS = new Rounds(/* warmups= */ 5, /* rounds= */ 21);
  private static final int LAYERS = 4;
  private static final long PIECE_BYTES = 512;
  private static final int PAGES = 1000;

  /** Pages that one side handles in a round at least, in as many calls as that takes. */
  private static final int ROUND_PAGES = 5000;

  private final PrintStream out;
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private Scale(PrintStream out) {
    this.out = out;
  }

  /** Prints the three tables. */
  public static void main(String[] args) {
    Scale scale = new Scale(System.out);
    scale.pages(List.of(10, 100, 1000, 10_000, 100_000));
    scale.pools(List.of(1, 2, 3, 4, 5, 6));
    scale.ranks(List.of(1, 2, 4, 8));
  }

  private void pages(List<Integer> counts) {
    out.println("Time per page, of that with " + PAGES + " pages; bytes of Java heap per page");
    out.println();
    out.println(
        "| pages | lookup | | load | | lookup allocates | load allocates | the store keeps |");
    out.println("|---|---|---|---|---|---|---|---|");
    try (Engine base = filled(1, PAGES)) {
      for (int count : counts) {
        try (Engine engine = filled(1, count)) {
          double lookup = ratio(engine, base, Engine::lookup);
          double load = ratio(engine, base, Scale::load);
          out.printf(
              Locale.ROOT,
              "| %,d | %.2f | %s | %.2f | %s | %.0f | %.0f | %.0f |%n",
              count,
              lookup,
              bar(lookup),
              load,
              bar(load),
              allocated(engine, Engine::lookup) / count,
              allocated(engine, Scale::load) / count,
              kept(engine) / count);
        }
      }
    }
    out.println();
  }

  private void pools(List<Integer> counts) {
    out.println("Time for " + PAGES + " pages in so many pools, of that in one");
    out.println();
    out.println("| pools | lookup | | load | |");
    out.println("|---|---|---|---|---|");
    try (Engine base = filled(1, PAGES)) {
      for (int count : counts) {
        try (Engine engine = filled(count, PAGES)) {
          double lookup = ratio(engine, base, Engine::lookup);
          double load = ratio(engine, base, Scale::load);
          out.printf(
              Locale.ROOT,
              "| %d | %.2f | %s | %.2f | %s |%n",
              count,
              lookup,
              bar(lookup),
              load,
              bar(load));
        }
      }
    }
    out.println();
  }

  private void ranks(List<Integer> counts) {
    out.println("Time for " + PAGES + " pages on so many ranks of one process, of that on one");
    out.println();
    out.println("| ranks | lookup | | load | |");
    out.println("|---|---|---|---|---|");
    try (Ranks base = new Ranks(1)) {
      for (int count : counts) {
        try (Ranks ranks = new Ranks(count)) {
          double lookup = ratio(ranks, base, Engine::lookup);
          double load = ratio(ranks, base, Scale::load);
          out.printf(
              Locale.ROOT,
              "| %d | %.2f | %s | %.2f | %s |%n",
              count,
              lookup,
              bar(lookup),
              load,
              bar(load));
        }
      }
    }
    out.println();
  }

  private static Engine filled(int pools, int pages) {
    Engine engine = new Engine(new Shape(pages, pools, LAYERS, PIECE_BYTES));
    engine.offload();
    return engine;
  }

  private static void load(Engine engine) {
    var unused = engine.load();
  }

  private static double ratio(Engine engine, Engine base, Consumer<Engine> work) {
    return ROUNDS.ratio(perThousandPages(engine, work), perThousandPages(base, work)).median();
  }

  private static Side perThousandPages(Engine engine, Consumer<Engine> work) {
    int pages = engine.shape().pages();
    int times = Math.max(1, ROUND_PAGES / pages);
    return () ->
        Side.time(
                () -> {
                  for (int i = 0; i < times; i++) {
                    work.accept(engine);
                  }
                })
            * 1000
            / times
            / pages;
  }

  private static double ratio(Ranks ranks, Ranks base, Consumer<Engine> work) {
    return ROUNDS
        .ratio(Side.of(() -> ranks.onEach(work)), Side.of(() -> base.onEach(work)))
        .median();
  }

  /** Returns the bytes that all threads allocate. */
  private double allocated(Engine engine, Consumer<Engine> work) {
    long before = threads.getTotalThreadAllocatedBytes();
    work.accept(engine);
    return threads.getTotalThreadAllocatedBytes() - before;
  }

  /** Returns the bytes of heap that the store's knowledge of its objects takes. */
  private static double kept(Engine engine) {
    long filled = usedHeap();
    engine.forget();
    return filled - usedHeap();
  }

  private static long usedHeap() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static String bar(double value) {
    return "█".repeat(Math.clamp(Math.round(2 * value), 1, 50));
  }

  /** Ranks that share a store, each an engine on a thread of its own. */
  private static final class Ranks implements AutoCloseable {
    private final CacheStore store;
    private final List<Engine> engines = new ArrayList<>();
    private final ExecutorService threads;

    Ranks(int count) {
      Shape shape = new Shape(PAGES, /* pools= */ 1, LAYERS, PIECE_BYTES);
      store = Engine.openStore(2L * count * shape.bytes());
      threads = Executors.newFixedThreadPool(count);
      for (RankCollective rank : LocalRanks.of(count)) {
        engines.add(new Engine(shape, store, rank));
      }
      onEach(Engine::offload);
    }

    /** Does the same on every rank, and returns when all are done. */
    void onEach(Consumer<Engine> work) {
      List<Callable<Boolean>> calls = new ArrayList<>();
      for (Engine engine : engines) {
        calls.add(
            () -> {
              work.accept(engine);
              return true;
            });
      }
      try {
        for (Future<Boolean> done : threads.invokeAll(calls)) {
          var unused = done.get();
        }
      } catch (InterruptedException | ExecutionException e) {
        throw new IllegalStateException("a rank failed", e);
      }
    }

    @Override
    public void close() {
      engines.forEach(Engine::close);
      store.close();
      threads.shutdown();
    }
  }
}
