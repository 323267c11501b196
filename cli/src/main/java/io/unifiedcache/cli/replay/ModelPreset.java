package io.unifiedcache.cli.replay;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A family of models: its pools, how its prompts query them, and whether all ranks hold the same.
 *
 * <p>The pools that hold a page's keys and values take the given page size together; each pool
 * beside them takes a quarter of it.
 */
public enum ModelPreset {
  /** Keys and values of full attention. */
  MHA(false),
  /** Latents of full attention. */
  MLA(true),
  /** Full attention, and layers with a sliding window. */
  HYBRID_SWA(false),
  /** Full attention, and Mamba layers with recurrent and convolution states. */
  HYBRID_MAMBA(false),
  /** Latents, and the keys of an indexer that picks among them. */
  INDEXER(true),
  /** Full attention, and the pool of a draft model. */
  DRAFT(false),
  /** Compressed pools without a pool of keys and values, a sliding window, and states of both. */
  DSV4(true);

  /** Page sizes are multiples of this per layer, so that every piece has at least a byte. */
  static final int GRAIN = 16;

  private static final PoolName MAMBA = new PoolName("mamba");
  private static final int SWA_WINDOW = 8;
  private static final int MAMBA_WINDOW = 1;

  private final boolean rankReplicated;

  ModelPreset(boolean rankReplicated) {
    this.rankReplicated = rankReplicated;
  }

  /** Tells whether all ranks hold the same bytes, which one of them writes for all. */
  public boolean isRankReplicated() {
    return rankReplicated;
  }

  /** Returns the queries of a lookup, one per source. */
  List<PoolQuery> queries() {
    PoolQuery kv = PoolQuery.allPages(PoolName.KV);
    return switch (this) {
      case MHA, MLA, INDEXER, DRAFT -> List.of(kv);
      case HYBRID_SWA, DSV4 -> List.of(kv, PoolQuery.trailingPages(PoolName.SWA, SWA_WINDOW));
      case HYBRID_MAMBA -> List.of(kv, PoolQuery.trailingPages(MAMBA, MAMBA_WINDOW));
    };
  }

  /**
   * Returns the pools of one rank in memory that lives as long as anything refers to it.
   *
   * @param slots pages that each pool holds
   */
  DevicePools allocate(int layers, long pageBytes, long slots) {
    Allocation memory = new Allocation(layers, pageBytes, slots);
    return new DevicePools(pools(memory), rankReplicated);
  }

  private List<DevicePool> pools(Allocation memory) {
    return switch (this) {
      case MHA -> List.of(attention(PoolName.KV, PoolName.KV, memory, 1));
      case MLA -> List.of(latents(memory));
      case HYBRID_SWA ->
          List.of(
              attention(PoolName.KV, PoolName.KV, memory, 1),
              attention(PoolName.SWA, PoolName.SWA, memory, /* divisor= */ 4));
      case HYBRID_MAMBA ->
          List.of(
              attention(PoolName.KV, PoolName.KV, memory, 1),
              PoolLayouts.mamba(MAMBA, memory.part(8), List.of(memory.part(16), memory.part(16))));
      case INDEXER -> List.of(latents(memory), packed("indexer", PoolName.KV, memory, 4));
      case DRAFT ->
          List.of(
              attention(PoolName.KV, PoolName.KV, memory, 1),
              attention(new PoolName("draft"), PoolName.KV, memory, /* divisor= */ 4));
      case DSV4 ->
          List.of(
              packed("swa", PoolName.SWA, memory, 4),
              packed("c4", PoolName.KV, memory, 2),
              packed("c4_indexer", PoolName.KV, memory, 4),
              packed("c128", PoolName.KV, memory, 4),
              packed("c4_state", PoolName.SWA, memory, 4),
              packed("c4_indexer_state", PoolName.SWA, memory, 4));
    };
  }

  private static DevicePool attention(
      PoolName name, PoolName source, Allocation memory, int divisor) {
    return PoolLayouts.keysAndValues(
        name, source, memory.part(2 * divisor), memory.part(2 * divisor));
  }

  private static DevicePool latents(Allocation memory) {
    return PoolLayouts.latents(PoolName.KV, PoolName.KV, memory.part(1));
  }

  private static DevicePool packed(String name, PoolName source, Allocation memory, int divisor) {
    return PoolLayouts.packed(new PoolName(name), source, memory.part(divisor));
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Makes the buffers of one rank. */
  private record Allocation(int layers, long pageBytes, long slots) {
    /** Returns a buffer per layer that holds this fraction of a page. */
    List<LayerBuffer> part(int divisor) {
      long pieceBytes = pageBytes / divisor / layers;
      List<LayerBuffer> buffers = new ArrayList<>();
      for (int layer = 0; layer < layers; layer++) {
        HostMemory memory =
            HostMemory.of(Arena.ofAuto().allocate(Math.multiplyExact(pieceBytes, slots), 64));
        buffers.add(new LayerBuffer(layer, memory, pieceBytes));
      }
      return buffers;
    }
  }
}
