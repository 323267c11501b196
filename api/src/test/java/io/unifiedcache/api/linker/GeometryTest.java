package io.unifiedcache.api.linker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.PoolName;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GeometryTest {
  private static final long BIG = 3L << 30;

  @Test
  void piece_isTheSlotsPartOfTheBuffer_pastFourGibibytes() {
    LayerBuffer buffer =
        new LayerBuffer(2, new DeviceMemory("cuda:0", 64, 3 * BIG), BIG, /* pieceBytes= */ 100);

    assertThat(buffer.slots()).isEqualTo(3);
    assertThat(buffer.piece(0)).isEqualTo(new DeviceMemory("cuda:0", 64, 100));
    assertThat(buffer.piece(2)).isEqualTo(new DeviceMemory("cuda:0", 64 + 2 * BIG, 100));
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 3, Long.MAX_VALUE})
  void piece_ofNoSlot_isRefusedAndNamed(long slot) {
    LayerBuffer buffer = new LayerBuffer(2, new DeviceMemory("cuda:0", 64, 30), 10);

    assertThatThrownBy(() -> buffer.piece(slot))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("slot " + slot + " of layer 2: the buffer has 3 slots");
  }

  @Test
  void slots_countsALastSlotWithoutItsGap() {
    assertThat(buffer(0, 100, 30, 10).slots()).isEqualTo(4);
    assertThat(buffer(0, 99, 30, 10).slots()).isEqualTo(3);
    assertThat(buffer(0, 10, 30, 10).slots()).isEqualTo(1);
  }

  @Test
  void pool_sumsItsComponentsAndHasTheSlotsOfItsSmallestBuffer() {
    DevicePool pool =
        new DevicePool(
            PoolName.KV,
            List.of(
                new Component("k", List.of(buffer(0, 100, 10, 10), buffer(1, 80, 10, 10))),
                new Component("v", List.of(buffer(0, 90, 10, 7)))));

    assertThat(pool.source()).isEqualTo(PoolName.KV);
    assertThat(pool.slots()).isEqualTo(8);
    assertThat(pool.pageBytes()).isEqualTo(27);
    assertThat(pool.components().getFirst().objectBytes()).isEqualTo(20);
  }

  @Test
  void objectBytes_isExactPast32Bits() {
    assertThat(
            new Component("k", List.of(buffer(0, BIG, BIG, BIG), buffer(1, BIG, BIG, BIG)))
                .objectBytes())
        .isEqualTo(2 * BIG);
  }

  @Test
  void pools_haveSourcesInOrderAndLayersUpToTheHighest() {
    PoolName swa = new PoolName("swa");
    DevicePools pools =
        new DevicePools(
            List.of(
                pool("draft", new PoolName("z"), 3),
                pool("swa", swa, 0),
                pool("c4", swa, 6),
                pool("kv", PoolName.KV, 1)),
            false);

    assertThat(pools.sources()).containsExactly(new PoolName("z"), swa, PoolName.KV);
    assertThat(pools.layers()).isEqualTo(7);
  }

  private static DevicePool pool(String name, PoolName source, int layer) {
    return new DevicePool(
        new PoolName(name),
        source,
        List.of(new Component(Component.PACKED, List.of(buffer(layer, 10, 10, 10)))));
  }

  private static LayerBuffer buffer(int layer, long bytes, long stride, long piece) {
    return new LayerBuffer(layer, new DeviceMemory("cuda:0", 64, bytes), stride, piece);
  }
}
