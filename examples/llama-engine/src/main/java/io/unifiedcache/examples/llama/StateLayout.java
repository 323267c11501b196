package io.unifiedcache.examples.llama;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The form in which llama.cpp hands out the cached rows of a sequence, and takes them in.
 *
 * <p>All little-endian: {@code u32 cells}; for each cell {@code i32 position, u32 0}; {@code u32 0,
 * u32 layers}; for each layer {@code i32 type, u64 row bytes} and the rows of keys, a row for each
 * cell; then the same with the values.
 *
 * @param layers the number of layers
 * @param type llama.cpp's number of the type of elements, the same in all layers
 * @param rowBytes the bytes of a token's keys in a layer, and of its values
 */
record StateLayout(int layers, int type, long rowBytes) {
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final long CELLS_BYTES = 4;
  private static final long CELL_BYTES = 8;
  private static final long MODEL_BYTES = 8;
  private static final long LAYER_BYTES = 12;

  /**
   * Reads the layout off a state.
   *
   * @throws IllegalStateException if the state is not in this form, as where another version of
   *     llama.cpp wrote it
   */
  static StateLayout of(MemorySegment state) {
    int cells = state.get(INT, 0);
    long model = CELLS_BYTES + cells * CELL_BYTES;
    require(state.get(INT, model) == 0, "values stored by rows");
    int layers = state.get(INT, model + 4);
    StateLayout layout =
        new StateLayout(
            layers,
            state.get(INT, model + MODEL_BYTES),
            state.get(LONG, model + MODEL_BYTES + Integer.BYTES));
    layout.requireForm(state, cells, 0);
    return layout;
  }

  /** Returns the size of a state of so many cells. */
  long bytes(int cells) {
    return values(layers - 1, cells) + cells * rowBytes;
  }

  /** Returns where the rows of keys of a layer begin. */
  long keys(int layer, int cells) {
    return CELLS_BYTES + cells * CELL_BYTES + MODEL_BYTES + part(layer, cells);
  }

  /** Returns where the rows of values of a layer begin. */
  long values(int layer, int cells) {
    return keys(0, cells) + part(layers + layer, cells) - part(0, cells);
  }

  /** Writes all but the rows into a state whose cells have the positions from 0 on. */
  void writeForm(MemorySegment state, int cells) {
    state.set(INT, 0, cells);
    for (int cell = 0; cell < cells; cell++) {
      long at = CELLS_BYTES + cell * CELL_BYTES;
      state.set(INT, at, cell);
      state.set(INT, at + Integer.BYTES, 0);
    }
    long model = CELLS_BYTES + cells * CELL_BYTES;
    state.set(INT, model, 0);
    state.set(INT, model + Integer.BYTES, layers);
    for (int layer = 0; layer < layers; layer++) {
      writeHeader(state, keys(layer, cells));
      writeHeader(state, values(layer, cells));
    }
  }

  /**
   * Holds all but the rows of a state against this layout.
   *
   * @param first the position of the first cell
   * @throws IllegalStateException if anything differs
   */
  void requireForm(MemorySegment state, int cells, int first) {
    require(state.byteSize() == bytes(cells), bytes(cells) + " bytes in all");
    require(state.get(INT, 0) == cells, cells + " cells");
    for (int cell = 0; cell < cells; cell++) {
      long at = CELLS_BYTES + cell * CELL_BYTES;
      require(state.get(INT, at) == first + cell, "positions from " + first + " on");
      require(state.get(INT, at + Integer.BYTES) == 0, "one sequence");
    }
    for (int layer = 0; layer < layers; layer++) {
      requireHeader(state, keys(layer, cells));
      requireHeader(state, values(layer, cells));
    }
  }

  private long part(int index, int cells) {
    return LAYER_BYTES + index * (LAYER_BYTES + cells * rowBytes);
  }

  private void writeHeader(MemorySegment state, long rows) {
    state.set(INT, rows - LAYER_BYTES, type);
    state.set(LONG, rows - LAYER_BYTES + Integer.BYTES, rowBytes);
  }

  private void requireHeader(MemorySegment state, long rows) {
    require(
        state.get(INT, rows - LAYER_BYTES) == type
            && state.get(LONG, rows - LAYER_BYTES + Integer.BYTES) == rowBytes,
        "layers whose rows are alike");
  }

  private static void require(boolean isTrue, String what) {
    if (!isTrue) {
      throw new IllegalStateException(
          "the state of a sequence does not have " + what + ": it is another llama.cpp's");
    }
  }
}
