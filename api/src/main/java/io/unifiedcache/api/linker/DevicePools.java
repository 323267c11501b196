package io.unifiedcache.api.linker;

import io.unifiedcache.api.PoolName;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The pools of a model on one rank, in the order in which a lookup evaluates them.
 *
 * @param pools the pools, at least one (rule {@code restore.anchor}), with different names
 * @param rankReplicated whether every tensor rank holds identical bytes, so that the first of them
 *     alone writes them and the keys do not name the tensor rank (rule {@code offload.owner})
 */
public record DevicePools(List<DevicePool> pools, boolean rankReplicated) {
  /**
   * Creates a set of pools.
   *
   * @throws IllegalArgumentException if there is no pool or two have the same name
   */
  public DevicePools {
    pools = List.copyOf(pools);
    if (pools.isEmpty()) {
      throw new IllegalArgumentException("a model needs at least one pool with memory of its own");
    }
    Set<PoolName> names = new HashSet<>();
    for (DevicePool pool : pools) {
      if (!names.add(pool.name())) {
        throw new IllegalArgumentException("two pools are called " + pool.name());
      }
    }
  }

  /** Returns the different sources of the pools, in the order of the pools. */
  public Set<PoolName> sources() {
    Set<PoolName> sources = new LinkedHashSet<>();
    for (DevicePool pool : pools) {
      sources.add(pool.source());
    }
    return sources;
  }

  /** Returns the number of layers: one more than the highest that a buffer belongs to. */
  public int layers() {
    int layers = 0;
    for (DevicePool pool : pools) {
      for (Component component : pool.components()) {
        for (LayerBuffer buffer : component.buffers()) {
          layers = Math.max(layers, buffer.layer() + 1);
        }
      }
    }
    return layers;
  }
}
