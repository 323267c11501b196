package io.unifiedcache.linker.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PoolLayoutsTest {
  private static final PoolName MAMBA = new PoolName("mamba");
  private long address = 0x1000;

  /** Returns one buffer of four slots for each layer. */
  private List<LayerBuffer> buffers(long bytes, int... layers) {
    return IntStream.of(layers)
        .mapToObj(
            layer -> {
              address += 0x1000;
              return new LayerBuffer(layer, new DeviceMemory("d", address, 4 * bytes), bytes);
            })
        .toList();
  }

  @Test
  void keysAndValues_twoObjects_allLayersEach() {
    List<LayerBuffer> keys = buffers(8, 0, 1, 2);
    List<LayerBuffer> values = buffers(6, 0, 1, 2);
    DevicePool pool = PoolLayouts.keysAndValues(PoolName.KV, PoolName.KV, keys, values);
    assertThat(pool.components())
        .containsExactly(new Component("k", keys), new Component("v", values));
    assertThat(pool.pageBytes()).isEqualTo(3 * 8 + 3 * 6);
    assertThat(PoolLayouts.keysAndValues(PoolName.KV, keys, values)).isEqualTo(pool);
    assertThat(PoolLayouts.packed(PoolName.KV, keys))
        .isEqualTo(PoolLayouts.packed(PoolName.KV, PoolName.KV, keys));
    assertThat(pool.slots()).isEqualTo(4);
  }

  @Test
  void packedKeysAndValues_oneObject_keysThenValues() {
    List<LayerBuffer> keys = buffers(8, 0, 1);
    List<LayerBuffer> values = buffers(8, 0, 1);
    DevicePool pool = PoolLayouts.packedKeysAndValues(PoolName.KV, PoolName.KV, keys, values);
    assertThat(pool.components()).hasSize(1);
    assertThat(pool.components().getFirst().buffers())
        .containsExactly(keys.get(0), keys.get(1), values.get(0), values.get(1));
  }

  @Test
  void keysAndValues_layersDiffer_isRefused() {
    assertThatThrownBy(
            () ->
                PoolLayouts.keysAndValues(
                    PoolName.KV, PoolName.KV, buffers(8, 0, 1), buffers(8, 1, 0)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("kv")
        .hasMessageContaining("[0, 1]")
        .hasMessageContaining("[1, 0]");
    assertThatThrownBy(
            () ->
                PoolLayouts.packedKeysAndValues(
                    PoolName.KV, PoolName.KV, buffers(8, 0, 0), buffers(8, 0, 0)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("one buffer for each of the same layers");
  }

  @Test
  void splitHeads_shares_alternateKeysAndValues() {
    DevicePool pool =
        PoolLayouts.splitHeads(
            PoolName.KV,
            PoolName.KV,
            List.of(buffers(4, 0), buffers(4, 0)),
            List.of(buffers(4, 0), buffers(4, 0)));
    assertThat(pool.components())
        .extracting(Component::name)
        .containsExactly("k.0", "v.0", "k.1", "v.1");
    assertThatThrownBy(
            () ->
                PoolLayouts.splitHeads(PoolName.KV, PoolName.KV, List.of(buffers(4, 0)), List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 shares of keys but 0");
  }

  @Test
  void mamba_emptyTemporalState_isDropped() {
    List<LayerBuffer> temporal = buffers(5, 2, 3);
    List<LayerBuffer> convolution = buffers(3, 2, 3);
    assertThat(PoolLayouts.mamba(MAMBA, temporal, List.of(convolution)).components())
        .containsExactly(new Component("temporal", temporal), new Component("conv_0", convolution));
    assertThat(PoolLayouts.mamba(MAMBA, List.of(), List.of(convolution)).components())
        .containsExactly(new Component("conv_0", convolution));
    assertThat(PoolLayouts.packedMamba(MAMBA, temporal, List.of(convolution)).components())
        .containsExactly(
            new Component(
                Component.PACKED,
                List.of(temporal.get(0), temporal.get(1), convolution.get(0), convolution.get(1))));
    assertThatThrownBy(() -> PoolLayouts.mamba(MAMBA, List.of(), List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("mamba");
    assertThatThrownBy(() -> PoolLayouts.mamba(MAMBA, temporal, List.of(buffers(3, 2))))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void dsv4_noPhysicalKv_sourcesAreKvAndSwa() {
    PoolName swa = new PoolName("swa");
    DevicePools pools =
        new DevicePools(
            List.of(
                PoolLayouts.packed(swa, swa, buffers(12, 0, 1, 2)),
                PoolLayouts.packed(new PoolName("c4"), PoolName.KV, buffers(9, 0)),
                PoolLayouts.packed(new PoolName("c4_state"), swa, buffers(4, 0))),
            /* rankReplicated= */ true);
    assertThat(pools.sources()).containsExactly(swa, PoolName.KV);
    assertThat(pools.layers()).isEqualTo(3);
  }

  @Test
  void latents_oneObject_calledK() {
    List<LayerBuffer> latents = buffers(10, 0, 1);
    assertThat(PoolLayouts.latents(PoolName.KV, PoolName.KV, latents).components())
        .containsExactly(new Component("k", latents));
  }
}
