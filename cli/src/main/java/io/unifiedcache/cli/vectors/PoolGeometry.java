package io.unifiedcache.cli.vectors;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The pools that a row describes, in memory of their own, and where each byte of it belongs. */
final class PoolGeometry {
  private static final long MAX_BUFFER_BYTES = 1 << 24;

  private final List<DevicePool> pools = new ArrayList<>();
  private final Map<String, Integer> pageSizes = new HashMap<>();
  private final TreeMap<Long, Place> places = new TreeMap<>();

  private PoolGeometry() {}

  /** A buffer of a pool: [component index, buffer index], and its memory. */
  private record Place(int component, int buffer, MemorySegment memory) {}

  /**
   * Makes the pools.
   *
   * @param geometry the member {@code poolGeometry} of a row
   */
  static PoolGeometry of(Row geometry) throws VectorException {
    PoolGeometry made = new PoolGeometry();
    for (String pool : geometry.members()) {
      made.add(pool, geometry.object(pool));
    }
    return made;
  }

  private void add(String name, Row pool) throws VectorException {
    Map<Integer, Integer> layers = layersOfBuffers(pool.object("layerMapping"));
    List<LayerBuffer> buffers = new ArrayList<>();
    List<List<Row>> components = pool.objectMatrix("buffers");
    for (int component = 0; component < components.size(); component++) {
      for (int buffer = 0; buffer < components.get(component).size(); buffer++) {
        Row described = components.get(component).get(buffer);
        Integer layer = layers.get(buffer);
        if (layer == null) {
          throw new VectorException(
              pool.where() + ": expected a layer for buffer " + buffer + " of pool " + name);
        }
        long bytes = (long) described.number("rows") * described.number("rowBytes");
        if (bytes > MAX_BUFFER_BYTES) {
          throw new VectorException(
              "%s: expected a buffer of at most %d bytes, but it has %d"
                  .formatted(described.where(), MAX_BUFFER_BYTES, bytes));
        }
        MemorySegment memory = Arena.ofAuto().allocate(bytes, 64);
        places.put(memory.address(), new Place(component, buffer, memory));
        buffers.add(new LayerBuffer(layer, HostMemory.of(memory), described.number("pageBytes")));
      }
    }
    pools.add(
        new DevicePool(
            new PoolName(name),
            new PoolName(pool.text("source")),
            List.of(new Component(Component.PACKED, buffers))));
    pageSizes.put(pool.text("source"), pool.number("pageSize"));
  }

  /** Returns the layer of each buffer; a buffer has one, a layer may have several. */
  private static Map<Integer, Integer> layersOfBuffers(Row mapping) throws VectorException {
    Map<Integer, Integer> layers = new HashMap<>();
    for (String layer : mapping.members()) {
      for (int buffer : Row.numbersOf(mapping.required(layer))) {
        layers.put(buffer, Integer.parseInt(layer));
      }
    }
    return layers;
  }

  DevicePools pools(boolean rankReplicated) {
    return new DevicePools(pools, rankReplicated);
  }

  /** Returns the tokens of a page of a source, 1 for a source of states. */
  int pageSize(String source) {
    return pageSizes.getOrDefault(source, 1);
  }

  /** Returns [component index, buffer index, byte offset in that buffer]. */
  List<Integer> locate(Memory memory) {
    if (!(memory instanceof HostMemory piece)) {
      throw new IllegalArgumentException("these pools are in host memory, not in " + memory);
    }
    long address = piece.segment().address();
    Map.Entry<Long, Place> entry = places.floorEntry(address);
    if (entry == null || address + piece.byteSize() > entry.getKey() + bytes(entry.getValue())) {
      throw new IllegalArgumentException("memory outside the pools: " + memory);
    }
    Place place = entry.getValue();
    return List.of(place.component(), place.buffer(), (int) (address - entry.getKey()));
  }

  private static long bytes(Place place) {
    return place.memory().byteSize();
  }
}
