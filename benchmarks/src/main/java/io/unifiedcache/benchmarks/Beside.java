package io.unifiedcache.benchmarks;

import io.unifiedcache.benchmarks.Table.Goal;
import java.io.IOException;
import java.util.List;

/**
 * Prints how the memory store compares with another store in local memory, which lives in a process
 * of its own: batches of 32, put and got.
 *
 * <p>Both take turns round after round, and only one works at a time. A ratio is the bytes per
 * second of the memory store by those of the other. What is got is compared with what was put.
 */
public final class Beside {
  private static final Rounds ROUNDS = new Rounds(/* warmups= */ 5, /* rounds= */ 31);

  private Beside() {}

  /** Measures beside the process that the arguments start: its name first, then its command. */
  public static void main(String[] args) throws IOException {
    if (args.length < 2) {
      throw new IllegalArgumentException("name the other store, and then its command");
    }
    String name = args[0];
    Table table = new Table(System.out);
    try (PeerProcess peer = new PeerProcess(List.of(args).subList(1, args.length))) {
      measure(name, peer, "64 KiB", 64 << 10, Goal.above(1), table);
      measure(name, peer, "1 MiB", 1 << 20, Goal.above(1), table);
      measure(name, peer, "4 MiB", 4 << 20, Goal.NONE, table);
    }
  }

  private static void measure(
      String name, PeerProcess peer, String size, long bytes, Goal goal, Table table) {
    try (StoreBatches batches = new StoreBatches(bytes)) {
      peer.prepare(StoreBatches.ROUND_BYTES, bytes, StoreBatches.BATCH);
      String of = name + ": batches of " + StoreBatches.BATCH + " of " + size;
      table.row("put / " + of, ROUNDS.ratio(peer::put, batches.put()), goal);
      table.row("get / " + of, ROUNDS.ratio(peer::get, batches.checkedGet()), goal);
    }
  }
}
