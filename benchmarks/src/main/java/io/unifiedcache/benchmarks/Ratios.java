package io.unifiedcache.benchmarks;

import java.util.List;

/**
 * Prints how the linker and the memory store compare with the least work that could do the same.
 *
 * <p>Both sides of a ratio take turns in one process. Arguments pick groups of rows; without any,
 * all are measured.
 */
public final class Ratios {
  private static final Rounds ROUNDS = new Rounds(/* warmups= */ 15, /* rounds= */ 31);

  private Ratios() {}

  /** Measures the groups {@code lookup}, {@code store} and {@code transfer}, or those named. */
  public static void main(String[] args) {
    List<String> groups = args.length == 0 ? List.of("lookup", "store", "transfer") : List.of(args);
    Table table = new Table(System.out);
    for (String group : groups) {
      switch (group) {
        case "lookup" -> new LookupRows(ROUNDS, table).measure();
        case "store" -> new StoreRows(ROUNDS, table).measure();
        case "transfer" -> new TransferRows(ROUNDS, table).measure();
        default -> throw new IllegalArgumentException("there is no group " + group);
      }
    }
  }
}
