package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.linker.key.KeyTemplate;
import java.util.ArrayList;
import java.util.List;

/**
 * The objects of a pool's pages: names, pieces of memory, and ranges by layer, all from the one
 * structure of the pool (rule {@code key.order}).
 */
final class PageObjects {
  private final DevicePool pool;
  private final List<KeyTemplate> templates;
  private final long slots;

  /** By component, then by layer: what the layer needs of the object. */
  private final List<List<List<Part>>> parts;

  /** A buffer's bytes within the object. */
  private record Part(long objectOffset, LayerBuffer buffer) {}

  /**
   * Joins a pool and the names of its objects.
   *
   * @param templates one name per component, in the same order
   * @throws IllegalArgumentException if there are more or fewer names than components
   */
  PageObjects(DevicePool pool, List<KeyTemplate> templates, int layers) {
    if (templates.size() != pool.components().size()) {
      throw new IllegalArgumentException(
          "pool %s has %d components but the key layout names %d objects"
              .formatted(pool.name(), pool.components().size(), templates.size()));
    }
    this.pool = pool;
    this.templates = List.copyOf(templates);
    this.slots = pool.slots();
    this.parts = pool.components().stream().map(each -> byLayer(each, layers)).toList();
  }

  private static List<List<Part>> byLayer(Component component, int layers) {
    List<List<Part>> byLayer = new ArrayList<>();
    for (int layer = 0; layer < layers; layer++) {
      byLayer.add(new ArrayList<>());
    }
    long offset = 0;
    for (LayerBuffer buffer : component.buffers()) {
      byLayer.get(buffer.layer()).add(new Part(offset, buffer));
      offset = Math.addExact(offset, buffer.pieceBytes());
    }
    return byLayer.stream().map(List::copyOf).toList();
  }

  PoolName name() {
    return pool.name();
  }

  PoolName source() {
    return pool.source();
  }

  /** Returns the names of a page's objects, one per component. */
  List<KeyTemplate> templates() {
    return templates;
  }

  long slots() {
    return slots;
  }

  int components() {
    return templates.size();
  }

  ObjectKey key(PageKey page, int component) {
    return templates.get(component).key(page);
  }

  long objectBytes(int component) {
    return pool.components().get(component).objectBytes();
  }

  /** Returns the memory of an object, in the order of its bytes. */
  List<Memory> pieces(int component, long slot) {
    List<LayerBuffer> buffers = pool.components().get(component).buffers();
    Memory[] pieces = new Memory[buffers.size()];
    for (int i = 0; i < pieces.length; i++) {
      pieces[i] = buffers.get(i).piece(slot);
    }
    return List.of(pieces);
  }

  /** Returns what a layer needs of an object, and where it goes; empty if nothing. */
  List<Range> ranges(int component, int layer, long slot) {
    List<Part> needed = parts.get(component).get(layer);
    Range[] ranges = new Range[needed.size()];
    for (int i = 0; i < ranges.length; i++) {
      Part part = needed.get(i);
      ranges[i] = new Range(part.objectOffset(), part.buffer().piece(slot));
    }
    return List.of(ranges);
  }

  /** Tells whether all the memory of the pool is still allocated. */
  boolean isAlive() {
    for (Component component : pool.components()) {
      for (LayerBuffer buffer : component.buffers()) {
        if (!buffer.memory().isAlive()) {
          return false;
        }
      }
    }
    return true;
  }
}
