package io.unifiedcache.benchmarks;

import com.sun.management.ThreadMXBean;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.benchmarks.Engine.Shape;
import io.unifiedcache.benchmarks.Panel.Line;
import io.unifiedcache.benchmarks.Panel.Point;
import io.unifiedcache.linker.rank.LocalRanks;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;

/**
 * Prints how lookup, load and memory grow with pages, pools and ranks, and draws it.
 *
 * <p>Pages are small, so that what grows is the work of the linker and not the copying. Times are
 * ratios to one row of the same table, the two taking turns; so are those of plain copies of the
 * same pages, piece by piece with two threads, which tell what the machine's memory adds.
 */
public final class Scale {
  private static final Rounds ROUNDS = new Rounds(/* warmups= */ 5, /* rounds= */ 21);
  private static final int LAYERS = 4;
  private static final int PAGES = 1000;

  /** Pages that one side handles in a round at least, in as many calls as that takes. */
  private static final int ROUND_PAGES = 5000;

  private final PrintStream out;
  private final long pieceBytes;
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /**
   * One row of a table.
   *
   * @param count how many pages, pools or ranks
   * @param lookup the time of a lookup by that of the row the others are compared with
   * @param load the same of a load
   * @param copies the same of plain copies
   * @param lookupAllocates bytes of heap a lookup allocates per page
   * @param loadAllocates bytes of heap a load allocates per page
   * @param storeKeeps bytes of heap the store needs per page
   */
  private record Row(
      int count,
      double lookup,
      double load,
      double copies,
      double lookupAllocates,
      double loadAllocates,
      double storeKeeps) {}

  private Scale(PrintStream out, long pieceBytes) {
    this.out = out;
    this.pieceBytes = pieceBytes;
  }

  /**
   * Prints three tables, and writes their charts if there is an argument that names a file.
   *
   * @param args the file, or {@code -} for none, and the bytes of a piece, usually 512
   */
  public static void main(String[] args) throws IOException {
    String file = args.length > 0 ? args[0] : "-";
    Scale scale = new Scale(System.out, args.length > 1 ? Long.parseLong(args[1]) : 512);
    List<Row> pages = scale.pages(List.of(10, 100, 1000, 10_000, 100_000));
    List<Row> pools = scale.pools(List.of(1, 2, 3, 4, 5, 6));
    List<Row> ranks = scale.ranks(List.of(1, 2, 4, 8));
    if (!file.equals("-")) {
      Files.writeString(
          Path.of(file),
          Panel.svg(
              "How lookup, load and memory grow with pages, pools and ranks",
              List.of(
                  time("Pages: time per page, of that with 1,000", pages, true),
                  time("Pools: time, of that with one", pools, false),
                  time("Ranks: time, of that with one", ranks, false),
                  memory("Pages: bytes of heap per page", pages, true),
                  memory("Pools: bytes of heap per page", pools, false),
                  memory("Ranks: bytes of heap per page", ranks, false))));
    }
  }

  private static Panel time(String title, List<Row> rows, boolean logarithmic) {
    return new Panel(
        title,
        logarithmic,
        List.of(
            line("even", "proportional", rows, row -> logarithmic ? 1 : row.count()),
            line("copies", "plain copies", rows, Row::copies),
            line("load", "load", rows, Row::load),
            line("lookup", "lookup", rows, Row::lookup)));
  }

  private static Panel memory(String title, List<Row> rows, boolean logarithmic) {
    return new Panel(
        title,
        logarithmic,
        List.of(
            line("kept", "kept by the store", rows, Row::storeKeeps),
            line("load", "load", rows, Row::loadAllocates),
            line("lookup", "lookup", rows, Row::lookupAllocates)));
  }

  private static Line line(String style, String name, List<Row> rows, ToDoubleFunction<Row> value) {
    return new Line(
        style,
        name,
        rows.stream().map(row -> new Point(row.count(), value.applyAsDouble(row))).toList());
  }

  private List<Row> pages(List<Integer> counts) {
    head("pages", "Time per page, of that with " + PAGES + " pages");
    List<Row> rows = new ArrayList<>();
    try (Engines base = new Engines(1, 1, PAGES)) {
      for (int count : counts) {
        try (Engines engines = new Engines(1, 1, count)) {
          rows.add(row(count, engines, base, (double) PAGES / count));
        }
      }
    }
    out.println();
    return rows;
  }

  private List<Row> pools(List<Integer> counts) {
    head("pools", "Time for " + PAGES + " pages in so many pools, of that in one");
    List<Row> rows = new ArrayList<>();
    try (Engines base = new Engines(1, 1, PAGES)) {
      for (int count : counts) {
        try (Engines engines = new Engines(1, count, PAGES)) {
          rows.add(row(count, engines, base, 1));
        }
      }
    }
    out.println();
    return rows;
  }

  private List<Row> ranks(List<Integer> counts) {
    head("ranks", "Time for " + PAGES + " pages on so many ranks of one process, of that on one");
    List<Row> rows = new ArrayList<>();
    try (Engines base = new Engines(1, 1, PAGES)) {
      for (int count : counts) {
        try (Engines engines = new Engines(count, 1, PAGES)) {
          rows.add(row(count, engines, base, 1));
        }
      }
    }
    out.println();
    return rows;
  }

  private void head(String counted, String text) {
    out.println(text);
    out.println();
    out.printf(
        "| %s | lookup | load | plain copies | lookup allocates | load allocates | the store keeps"
            + " |%n",
        counted);
    out.println("|---|---|---|---|---|---|---|");
  }

  /** Measures one row, and prints it. */
  private Row row(int count, Engines engines, Engines base, double factor) {
    int pages = engines.pages();
    Row row =
        new Row(
            count,
            factor * ratio(engines, base, each -> each.onEach(Engine::lookup)),
            factor * ratio(engines, base, each -> each.onEach(Scale::load)),
            factor * ratio(engines, base, Engines::copy),
            allocated(() -> engines.onEach(Engine::lookup)) / pages,
            allocated(() -> engines.onEach(Scale::load)) / pages,
            engines.kept() / pages);
    out.printf(
        Locale.ROOT,
        "| %,d | %.2f | %.2f | %.2f | %.0f | %.0f | %.0f |%n",
        row.count(),
        row.lookup(),
        row.load(),
        row.copies(),
        row.lookupAllocates(),
        row.loadAllocates(),
        row.storeKeeps());
    return row;
  }

  private static void load(Engine engine) {
    var unused = engine.load();
  }

  private static double ratio(Engines engines, Engines base, Consumer<Engines> work) {
    return ROUNDS.ratio(repeated(engines, work), repeated(base, work)).median();
  }

  /** Returns the side whose time is that of one call. */
  private static Side repeated(Engines engines, Consumer<Engines> work) {
    int times = Math.max(1, ROUND_PAGES / engines.pages());
    return () ->
        Side.time(
                () -> {
                  for (int i = 0; i < times; i++) {
                    work.accept(engines);
                  }
                })
            / times;
  }

  /** Returns the bytes that all threads allocate. */
  private double allocated(Runnable work) {
    long before = threads.getTotalThreadAllocatedBytes();
    work.run();
    return threads.getTotalThreadAllocatedBytes() - before;
  }

  private static long usedHeap() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  /** Engines that share a store, each a rank, on a thread of its own if there are several. */
  private final class Engines implements AutoCloseable {
    private final Shape shape;
    private final CacheStore store;
    private final List<Engine> engines = new ArrayList<>();
    private final ExecutorService rankThreads;
    private final TwoThreads copyThreads = new TwoThreads();
    private final Arena arena = Arena.ofShared();
    private final MemorySegment copies;

    /** Creates engines whose pages are all in the store. */
    Engines(int ranks, int pools, int pages) {
      shape = new Shape(pages, pools, LAYERS, pieceBytes);
      store = Engine.openStore(2L * ranks * shape.bytes());
      rankThreads = Executors.newFixedThreadPool(ranks);
      // Ranks open together, each on a thread of its own.
      List<Future<Engine>> opening = new ArrayList<>();
      for (RankCollective rank : LocalRanks.of(ranks)) {
        opening.add(rankThreads.submit(() -> new Engine(shape, store, rank)));
      }
      opening.forEach(engine -> engines.add(opened(engine)));
      copies = arena.allocate(ranks * shape.bytes(), 4096).fill((byte) 1);
      onEach(Engine::offload);
    }

    private static Engine opened(Future<Engine> engine) {
      try {
        return engine.get();
      } catch (InterruptedException | ExecutionException e) {
        throw new IllegalStateException("an engine did not open", e);
      }
    }

    int pages() {
      return shape.pages();
    }

    /** Does the same on every rank, and returns when all are done. */
    void onEach(Consumer<Engine> work) {
      if (engines.size() == 1) {
        work.accept(engines.getFirst());
        return;
      }
      List<Callable<Boolean>> calls = new ArrayList<>();
      for (Engine engine : engines) {
        calls.add(
            () -> {
              work.accept(engine);
              return true;
            });
      }
      try {
        for (Future<Boolean> done : rankThreads.invokeAll(calls)) {
          var unused = done.get();
        }
      } catch (InterruptedException | ExecutionException e) {
        throw new IllegalStateException("a rank failed", e);
      }
    }

    /** Copies as many bytes as a load moves, from one place to where the load puts them. */
    void copy() {
      for (int rank = 0; rank < engines.size(); rank++) {
        for (int pool = 0; pool < shape.pools(); pool++) {
          List<MemorySegment> pieces = engines.get(rank).pieces(pool);
          long start = (long) (rank * shape.pools() + pool) * shape.pages() * shape.pageBytes();
          copyThreads.copy(
              shape.pages(),
              page -> {
                long at = start + page * shape.pageBytes();
                for (MemorySegment piece : pieces) {
                  MemorySegment.copy(copies, at, piece, page * pieceBytes, pieceBytes);
                  at += pieceBytes;
                }
              });
        }
      }
    }

    /** Forgets all objects, and returns the bytes of heap that they took. */
    double kept() {
      long filled = usedHeap();
      var unused = store.clear(KeyPrefix.EVERYTHING, Deadline.never());
      return filled - usedHeap();
    }

    @Override
    public void close() {
      engines.forEach(Engine::close);
      store.close();
      rankThreads.shutdown();
      copyThreads.close();
      arena.close();
    }
  }
}
