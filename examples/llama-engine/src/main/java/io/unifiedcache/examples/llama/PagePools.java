package io.unifiedcache.examples.llama;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The memory from which the linker stores pages and into which it loads them: for each layer the
 * rows of keys, and those of values, of so many pages.
 *
 * <p>This engine runs one prompt at a time, so page {@code i} of the prompt has slot {@code i} in
 * both pools. An engine that runs many at once gives slots away.
 */
final class PagePools {
  private final List<LayerBuffer> keys = new ArrayList<>();
  private final List<LayerBuffer> values = new ArrayList<>();
  private final long pieceBytes;
  private final DevicePools pools;

  /**
   * Allocates the pools.
   *
   * @param arena where; shared, and open until the linker has closed
   * @param pages the most pages of a prompt
   * @param pieceBytes the bytes of the keys of a page in a layer, and of the values
   * @param isSliding whether a layer has a sliding window
   */
  PagePools(Arena arena, int layers, long pages, long pieceBytes, IntPredicate isSliding) {
    this.pieceBytes = pieceBytes;
    for (int layer = 0; layer < layers; layer++) {
      keys.add(buffer(arena, layer, pages, pieceBytes));
      values.add(buffer(arena, layer, pages, pieceBytes));
    }
    pools =
        new DevicePools(
            List.of(pool(PoolName.KV, isSliding.negate()), pool(PoolName.SWA, isSliding)),
            /* rankReplicated= */ false);
  }

  /** Returns what the linker needs to know of the pools. */
  DevicePools devicePools() {
    return pools;
  }

  /** Returns the bytes of the keys of a page in a layer, and of the values. */
  long pieceBytes() {
    return pieceBytes;
  }

  /** Returns the rows of keys of a page in a layer. */
  MemorySegment keys(int layer, long slot) {
    return piece(keys.get(layer), slot);
  }

  /** Returns the rows of values of a page in a layer. */
  MemorySegment values(int layer, long slot) {
    return piece(values.get(layer), slot);
  }

  private static LayerBuffer buffer(Arena arena, int layer, long pages, long pieceBytes) {
    return new LayerBuffer(layer, HostMemory.of(arena.allocate(pages * pieceBytes)), pieceBytes);
  }

  private DevicePool pool(PoolName name, IntPredicate has) {
    return PoolLayouts.keysAndValues(
        name,
        keys.stream().filter(buffer -> has.test(buffer.layer())).toList(),
        values.stream().filter(buffer -> has.test(buffer.layer())).toList());
  }

  private static MemorySegment piece(LayerBuffer buffer, long slot) {
    return ((HostMemory) buffer.piece(slot)).segment();
  }
}
