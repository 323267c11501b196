package io.unifiedcache.api.linker;

import io.unifiedcache.api.PoolName;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A cache pool of an engine: its memory, and how a page of it is cut into objects.
 *
 * <p>Object names and pieces of memory come from this one structure, so that their orders cannot
 * drift apart (rule {@code key.order}).
 *
 * @param name the name
 * @param source the pool whose slots this pool uses; itself, or another, which need not have memory
 *     of its own
 * @param components the objects of a page, at least one, with different names
 */
public record DevicePool(PoolName name, PoolName source, List<Component> components) {
  /**
   * Creates a pool.
   *
   * @throws IllegalArgumentException if there are no components or two have the same name
   */
  public DevicePool {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(source, "source");
    components = List.copyOf(components);
    if (components.isEmpty()) {
      throw new IllegalArgumentException("pool " + name + " has no components");
    }
    Set<String> names = new HashSet<>();
    for (Component component : components) {
      if (!names.add(component.name())) {
        throw new IllegalArgumentException(
            "pool " + name + " has two components called " + component.name());
      }
    }
  }

  /** Creates a pool that uses slots of its own. */
  public DevicePool(PoolName name, List<Component> components) {
    this(name, name, components);
  }

  /** Returns the number of slots: that of the smallest buffer. */
  public long slots() {
    long slots = Long.MAX_VALUE;
    for (Component component : components) {
      for (LayerBuffer buffer : component.buffers()) {
        slots = Math.min(slots, buffer.slots());
      }
    }
    return slots;
  }

  /** Returns the bytes of a page: the sum of its objects. */
  public long pageBytes() {
    long sum = 0;
    for (Component component : components) {
      sum = Math.addExact(sum, component.objectBytes());
    }
    return sum;
  }
}
