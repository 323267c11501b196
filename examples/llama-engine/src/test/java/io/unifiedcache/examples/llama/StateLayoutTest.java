package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class StateLayoutTest {
  private static final StateLayout GEMMA = new StateLayout(18, 1, 512);

  private static MemorySegment state(int cells) {
    MemorySegment state = Arena.ofAuto().allocate(GEMMA.bytes(cells));
    GEMMA.writeForm(state, cells);
    return state;
  }

  @Test
  void bytes_ofGemma_areThoseThatLlamaCppWrites() {
    // 8 for the cell, and 512 for keys and values in each of 18 layers; 12 before each of these.
    assertThat(GEMMA.bytes(1)).isEqualTo(4 + 8 + 8 + 2 * 18 * (12 + 512));
    assertThat(GEMMA.bytes(641) - GEMMA.bytes(640)).isEqualTo(18_440);
  }

  @Test
  void rows_ofAllLayers_followEachOther() {
    long end = 4 + 8 * 3 + 8;
    for (int layer = 0; layer < 18; layer++) {
      assertThat(GEMMA.keys(layer, 3)).isEqualTo(end + 12);
      end = GEMMA.keys(layer, 3) + 3 * 512;
    }
    for (int layer = 0; layer < 18; layer++) {
      assertThat(GEMMA.values(layer, 3)).isEqualTo(end + 12);
      end = GEMMA.values(layer, 3) + 3 * 512;
    }
    assertThat(GEMMA.bytes(3)).isEqualTo(end);
  }

  @Test
  void of_writtenForm_isTheLayout() {
    assertThat(StateLayout.of(state(7))).isEqualTo(GEMMA);
  }

  @Test
  void requireForm_otherPositionOrLayer_isRefused() {
    MemorySegment moved = state(7);
    moved.set(ValueLayout.JAVA_INT_UNALIGNED, 4 + 8 * 3, 4);
    assertThatIllegalStateException()
        .isThrownBy(() -> GEMMA.requireForm(moved, 7, 0))
        .withMessageContaining("positions");

    MemorySegment wider = state(7);
    wider.set(ValueLayout.JAVA_LONG_UNALIGNED, GEMMA.values(17, 7) - 8, 1024);
    assertThatIllegalStateException()
        .isThrownBy(() -> StateLayout.of(wider))
        .withMessageContaining("layers");
  }

  @Test
  void of_valuesByColumns_isRefused() {
    MemorySegment columns = state(7);
    columns.set(ValueLayout.JAVA_INT_UNALIGNED, 4 + 8 * 7, 1);
    assertThatIllegalStateException()
        .isThrownBy(() -> StateLayout.of(columns))
        .withMessageContaining("by rows");
  }
}
