package io.unifiedcache.linker.pool;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.LayerBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The layouts of the pools that engines have.
 *
 * <p>A layout fixes which objects a page has and in which order the layers' pieces stand in each.
 * It takes the layer buffers that the engine already has; a model is a {@link
 * io.unifiedcache.api.linker.DevicePools} of them:
 *
 * <table>
 * <caption>Pools by model family</caption>
 * <tr><th>family</th><th>pools</th></tr>
 * <tr><td>MHA</td><td>{@code kv} split or packed</td></tr>
 * <tr><td>MLA</td><td>{@code kv} of one component</td></tr>
 * <tr><td>with sliding windows</td><td>{@code kv}, {@code swa}</td></tr>
 * <tr><td>with Mamba layers</td><td>{@code kv}, {@code mamba}</td></tr>
 * <tr><td>with an indexer</td><td>{@code kv}, {@code indexer} sourced from {@code kv}</td></tr>
 * <tr><td>with a draft model</td><td>{@code kv}, {@code draft} sourced from {@code kv}</td></tr>
 * <tr><td>DSv4</td><td>{@code swa}; compressed pools sourced from {@code kv}, which has no memory
 *     of its own; states sourced from {@code swa}</td></tr>
 * </table>
 *
 * <p>Source of the orders: SGLang 0.5.23, see the {@code golden} vectors of this module.
 */
public final class PoolLayouts {
  /** The component of keys, and of the latent of MLA. */
  public static final String KEYS = "k";

  /** The component of values. */
  public static final String VALUES = "v";

  /** The component of the recurrent state of Mamba layers. */
  public static final String TEMPORAL = "temporal";

  /** The components of the convolution states of Mamba layers begin with this. */
  public static final String CONVOLUTION = "conv_";

  private PoolLayouts() {}

  /**
   * Returns a pool with slots of its own whose page is two objects, all layers' keys and all
   * layers' values.
   *
   * @param keys one buffer per layer
   * @param values one buffer per layer, in the same order of layers
   * @throws IllegalArgumentException if keys and values do not have the same layers
   */
  public static DevicePool keysAndValues(
      PoolName name, List<LayerBuffer> keys, List<LayerBuffer> values) {
    return keysAndValues(name, name, keys, values);
  }

  /**
   * Returns a pool whose page is two objects, all layers' keys and all layers' values.
   *
   * @param source whose slots it takes
   * @param keys one buffer per layer
   * @param values one buffer per layer, in the same order of layers
   * @throws IllegalArgumentException if keys and values do not have the same layers
   */
  public static DevicePool keysAndValues(
      PoolName name, PoolName source, List<LayerBuffer> keys, List<LayerBuffer> values) {
    requireSameLayers(name, keys, values);
    return new DevicePool(
        name, source, List.of(new Component(KEYS, keys), new Component(VALUES, values)));
  }

  /**
   * Returns a pool whose page is one object, all layers' keys and then all layers' values.
   *
   * @throws IllegalArgumentException if keys and values do not have the same layers
   */
  public static DevicePool packedKeysAndValues(
      PoolName name, PoolName source, List<LayerBuffer> keys, List<LayerBuffer> values) {
    requireSameLayers(name, keys, values);
    return packed(name, source, concat(keys, values));
  }

  /**
   * Returns a pool whose page is a key and a value object per share of the heads, as where
   * deployments of different tensor-parallel sizes share a store.
   *
   * @param keys per share, one buffer per layer
   * @param values per share, one buffer per layer
   * @throws IllegalArgumentException if there are no shares, or the layers differ anywhere
   */
  public static DevicePool splitHeads(
      PoolName name,
      PoolName source,
      List<List<LayerBuffer>> keys,
      List<List<LayerBuffer>> values) {
    if (keys.size() != values.size()) {
      throw new IllegalArgumentException(
          "pool %s has %d shares of keys but %d of values"
              .formatted(name, keys.size(), values.size()));
    }
    List<Component> components = new ArrayList<>();
    for (int share = 0; share < keys.size(); share++) {
      requireSameLayers(name, keys.getFirst(), keys.get(share));
      requireSameLayers(name, keys.get(share), values.get(share));
      components.add(new Component(KEYS + "." + share, keys.get(share)));
      components.add(new Component(VALUES + "." + share, values.get(share)));
    }
    return new DevicePool(name, source, components);
  }

  /** Returns a pool of MLA latents, whose page is one object called {@link #KEYS}. */
  public static DevicePool latents(PoolName name, PoolName source, List<LayerBuffer> latents) {
    return new DevicePool(name, source, List.of(new Component(KEYS, latents)));
  }

  /**
   * Returns a pool with slots of its own whose page is one object, its buffers in the given order.
   */
  public static DevicePool packed(PoolName name, List<LayerBuffer> buffers) {
    return packed(name, name, buffers);
  }

  /** Returns a pool whose page is one object, its buffers in the given order. */
  public static DevicePool packed(PoolName name, PoolName source, List<LayerBuffer> buffers) {
    return new DevicePool(name, source, List.of(new Component(Component.PACKED, buffers)));
  }

  /**
   * Returns a pool of Mamba states, whose page is an object for the recurrent state and one for
   * each convolution state.
   *
   * @param temporal one buffer per layer, or none if the recurrent state has no elements, which
   *     drops its object
   * @param convolutions per convolution state, one buffer per layer
   * @throws IllegalArgumentException if there is no state at all, or the layers of two differ
   */
  public static DevicePool mamba(
      PoolName name, List<LayerBuffer> temporal, List<List<LayerBuffer>> convolutions) {
    List<Component> components = new ArrayList<>();
    if (!temporal.isEmpty()) {
      components.add(new Component(TEMPORAL, temporal));
    }
    for (int i = 0; i < convolutions.size(); i++) {
      components.add(new Component(CONVOLUTION + i, convolutions.get(i)));
    }
    for (Component component : components) {
      requireSameLayers(name, components.getFirst().buffers(), component.buffers());
    }
    return new DevicePool(name, components);
  }

  /**
   * Returns a pool of Mamba states whose page is one object: the recurrent state, if it has
   * elements, and then the convolution states.
   *
   * @throws IllegalArgumentException if there is no state at all, or the layers of two differ
   */
  public static DevicePool packedMamba(
      PoolName name, List<LayerBuffer> temporal, List<List<LayerBuffer>> convolutions) {
    List<LayerBuffer> buffers = new ArrayList<>();
    for (Component component : mamba(name, temporal, convolutions).components()) {
      buffers.addAll(component.buffers());
    }
    return packed(name, buffers);
  }

  private static List<LayerBuffer> concat(List<LayerBuffer> first, List<LayerBuffer> second) {
    List<LayerBuffer> all = new ArrayList<>(first);
    all.addAll(second);
    return all;
  }

  private static void requireSameLayers(
      PoolName name, List<LayerBuffer> first, List<LayerBuffer> second) {
    List<Integer> layers = first.stream().map(LayerBuffer::layer).toList();
    List<Integer> others = second.stream().map(LayerBuffer::layer).toList();
    Set<Integer> distinct = new HashSet<>(layers);
    if (!layers.equals(others) || distinct.size() != layers.size()) {
      throw new IllegalArgumentException(
          "the parts of pool %s must have one buffer for each of the same layers, in one order,"
                  .formatted(name)
              + " but have layers "
              + layers
              + " and "
              + others);
    }
  }
}
