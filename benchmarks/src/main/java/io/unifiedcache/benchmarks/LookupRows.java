package io.unifiedcache.benchmarks;

import com.sun.management.ThreadMXBean;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.benchmarks.Engine.Shape;
import io.unifiedcache.benchmarks.Table.Goal;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.key.KeyTemplate;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A lookup of pages, one pool and one object a page, beside building the same keys and asking a
 * {@link ConcurrentHashMap} for each.
 */
final class LookupRows {
  /** Pages of one round at least, so that a round is long enough to time. */
  private static final int ROUND_PAGES = 50_000;

  private final Rounds rounds;
  private final Table table;
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** What the plain side finds, so that nobody leaves its work out. */
  private long found;

  LookupRows(Rounds rounds, Table table) {
    this.rounds = rounds;
    this.table = table;
  }

  /** Measures 1,000 pages, and as many as no cache of a processor holds the keys of. */
  void measure() {
    measure(1000, Goal.atMost(3), Goal.atMost(16));
    measure(100_000, Goal.NONE, Goal.NONE);
  }

  /** Measures time, and what is allocated beyond the keys. */
  private void measure(int pages, Goal time, Goal bytes) {
    Shape shape = new Shape(pages, /* pools= */ 1, /* layers= */ 1, /* pieceBytes= */ 512);
    try (Engine engine = new Engine(shape)) {
      KeyTemplate template =
          KeyLayout.of(
                  KeyForm.STRICT,
                  Engine.identity(0, 1),
                  /* rankReplicated= */ false,
                  EmptySegments.KEEP)
              .templates(engine.pool())
              .get(0);
      engine.offload();
      ConcurrentHashMap<ObjectKey, Boolean> map = new ConcurrentHashMap<>();
      for (PageKey page : engine.pages()) {
        map.put(template.key(page), true);
      }
      Runnable plain = () -> ask(engine.pages(), template, map);
      found = 0;
      table.row(
          "lookup / keys and map: " + pages + " pages, one pool, one object a page",
          rounds.ratio(
              Side.of(() -> repeat(pages, engine::lookup)), Side.of(() -> repeat(pages, plain))),
          time);
      table.row(
          "bytes a lookup allocates per page beyond its keys: " + pages + " pages",
          rounds.each(() -> (allocated(engine::lookup) - allocated(plain)) / pages),
          bytes);
    }
  }

  private void ask(
      List<PageKey> pages, KeyTemplate template, ConcurrentHashMap<ObjectKey, Boolean> map) {
    for (PageKey page : pages) {
      if (map.containsKey(template.key(page))) {
        found++;
      }
    }
    if (found % pages.size() != 0) {
      throw new IllegalStateException("found " + found);
    }
  }

  private static void repeat(int pages, Runnable work) {
    for (int i = 0; i < ROUND_PAGES; i += pages) {
      work.run();
    }
  }

  private double allocated(Runnable work) {
    long before = threads.getCurrentThreadAllocatedBytes();
    work.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
