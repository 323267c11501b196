package io.unifiedcache.benchmarks;

import io.unifiedcache.benchmarks.Engine.Layers;
import io.unifiedcache.benchmarks.Engine.Shape;
import io.unifiedcache.benchmarks.Table.Goal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Loads and offloads of 256 pages of 1 MiB beside plain copies of the same pages.
 *
 * <p>The copies run from one end of used memory to the other for the stored side, and piece by
 * piece in the engine's pools, as the pages lie there.
 */
final class TransferRows {
  private static final int PAGES = 256;
  private static final long PAGE_BYTES = 1 << 20;

  private final Rounds rounds;
  private final Table table;

  TransferRows(Rounds rounds, Table table) {
    this.rounds = rounds;
    this.table = table;
  }

  /** Measures with pieces of the keys and values of 32 layers, then with those of 8. */
  void measure() {
    measure(32);
    measure(8);
  }

  private void measure(int layers) {
    Shape shape = new Shape(PAGES, /* pools= */ 1, layers, PAGE_BYTES / 2 / layers);
    String of =
        "%d pages of 1 MiB, %d layers, pieces of %d KiB"
            .formatted(PAGES, layers, shape.pieceBytes() >> 10);
    try (Engine engine = new Engine(shape);
        TwoThreads threads = new TwoThreads();
        Arena arena = Arena.ofShared()) {
      MemorySegment objects = arena.allocate(shape.bytes(), 4096).fill((byte) 1);
      MemorySegment others = arena.allocate(shape.bytes(), 4096).fill((byte) 2);
      List<MemorySegment> pieces = engine.pieces(0);
      Side copiesOut =
          Side.of(() -> threads.copy(PAGES, page -> copy(pieces, objects, page, /* out= */ true)));
      Side copiesIn =
          Side.of(() -> threads.copy(PAGES, page -> copy(pieces, objects, page, /* out= */ false)));
      Side wholeCopies =
          Side.of(
              () ->
                  threads.copy(
                      PAGES,
                      page ->
                          MemorySegment.copy(
                              objects, page * PAGE_BYTES, others, page * PAGE_BYTES, PAGE_BYTES)));
      Side offload =
          () -> {
            engine.forget();
            return Side.time(engine::offload);
          };
      Side load =
          Side.of(
              () -> {
                engine.lookup();
                var unused = engine.load();
              });
      table.row("offload / copies: " + of, rounds.ratio(copiesOut, offload), Goal.atLeast(0.6));
      table.row("load / copies: " + of, rounds.ratio(copiesIn, load), Goal.atLeast(0.7));
      table.row("load / copies without pieces: " + of, rounds.ratio(wholeCopies, load), Goal.NONE);
      table.row(
          "first layer / (1.15 x all / layers + 1 ms): " + of,
          rounds.each(() -> firstLayer(engine.load(), layers)),
          Goal.atMost(1));
    }
  }

  private static double firstLayer(Layers load, int layers) {
    return load.first() / (1.15 * load.last() / layers + 1e6);
  }

  /** Copies a page out of the pieces of a pool, or into them. */
  private static void copy(
      List<MemorySegment> pieces, MemorySegment objects, int page, boolean out) {
    long bytes = PAGE_BYTES / pieces.size();
    for (int i = 0; i < pieces.size(); i++) {
      long at = page * PAGE_BYTES + i * bytes;
      if (out) {
        MemorySegment.copy(pieces.get(i), page * bytes, objects, at, bytes);
      } else {
        MemorySegment.copy(objects, at, pieces.get(i), page * bytes, bytes);
      }
    }
  }
}
