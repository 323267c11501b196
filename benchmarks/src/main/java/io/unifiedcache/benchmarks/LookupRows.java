package io.unifiedcache.benchmarks;

import com.sun.management.ThreadMXBean;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
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
 * A lookup of 1,000 pages, one pool and one object a page, beside building the same keys and asking
 * a {@link ConcurrentHashMap} for each.
 */
final class LookupRows {
  private static final int PAGES = 1000;

  /** Lookups of one round, so that a round is long enough to time. */
  private static final int TIMES = 50;

  private final Rounds rounds;
  private final Table table;
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** What the plain side finds, so that nobody leaves its work out. */
  private int found;

  LookupRows(Rounds rounds, Table table) {
    this.rounds = rounds;
    this.table = table;
  }

  /** Measures time, and what is allocated beyond the keys. */
  void measure() {
    Shape shape = new Shape(PAGES, /* pools= */ 1, /* layers= */ 1, /* pieceBytes= */ 512);
    KeyTemplate template =
        KeyLayout.of(
                KeyForm.STRICT,
                Engine.identity(0, 1),
                /* rankReplicated= */ false,
                EmptySegments.KEEP)
            .templates(PoolName.KV, List.of(Component.PACKED))
            .get(0);
    try (Engine engine = new Engine(shape)) {
      engine.offload();
      ConcurrentHashMap<ObjectKey, Boolean> map = new ConcurrentHashMap<>();
      for (PageKey page : engine.pages()) {
        map.put(template.key(page), true);
      }
      Runnable plain = () -> ask(engine.pages(), template, map);
      table.row(
          "lookup / keys and map: 1,000 pages, one pool, one object a page",
          rounds.ratio(Side.of(() -> repeat(engine::lookup)), Side.of(() -> repeat(plain))),
          Goal.atMost(3));
      table.row(
          "bytes a lookup allocates per page beyond its keys: 1,000 pages",
          rounds.each(() -> (allocated(engine::lookup) - allocated(plain)) / PAGES),
          Goal.atMost(16));
    }
  }

  private void ask(
      List<PageKey> pages, KeyTemplate template, ConcurrentHashMap<ObjectKey, Boolean> map) {
    for (PageKey page : pages) {
      if (map.containsKey(template.key(page))) {
        found++;
      }
    }
    if (found % PAGES != 0) {
      throw new IllegalStateException("found " + found);
    }
  }

  private static void repeat(Runnable work) {
    for (int i = 0; i < TIMES; i++) {
      work.run();
    }
  }

  private double allocated(Runnable work) {
    long before = threads.getCurrentThreadAllocatedBytes();
    work.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
