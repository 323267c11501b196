package io.unifiedcache.benchmarks;

import io.unifiedcache.benchmarks.Table.Goal;

/**
 * The memory store alone, in batches of 32, beside plain copies of the same objects.
 *
 * <p>The copies are batches too: both sides wait for a whole batch before they begin the next.
 */
final class StoreRows {
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
    try (StoreBatches batches = new StoreBatches(bytes);
        TwoThreads threads = new TwoThreads()) {
      Side copies =
          Side.of(
              () -> {
                for (int first = 0; first < batches.objects(); first += StoreBatches.BATCH) {
                  batches.copy(threads, first);
                }
              });
      String of = "batches of " + StoreBatches.BATCH + " of " + size;
      table.row("put / copies: " + of, rounds.ratio(copies, batches.put()), Goal.atLeast(0.9));
      table.row("get / copies: " + of, rounds.ratio(copies, batches.get()), Goal.atLeast(0.9));
    }
  }
}
