package io.unifiedcache.api.linker;

import java.util.List;

/**
 * A part of a page that is one object in the store.
 *
 * <p>The object is the bytes of the buffers' pieces in the order of the buffers (rule {@code
 * key.order}).
 *
 * @param name tells the components of a pool apart, and enters the object key: {@link #PACKED},
 *     {@code k}, {@code v}, {@code temporal}, {@code conv_0}, ...
 * @param buffers the buffers, at least one
 */
public record Component(String name, List<LayerBuffer> buffers) {
  /** The name of the only component of a pool whose page is one object. */
  public static final String PACKED = "page";

  /**
   * Creates a component.
   *
   * @throws IllegalArgumentException if the name is blank or there are no buffers
   */
  public Component {
    if (name.isBlank()) {
      throw new IllegalArgumentException("the name of a component must not be blank");
    }
    buffers = List.copyOf(buffers);
    if (buffers.isEmpty()) {
      throw new IllegalArgumentException("component " + name + " has no buffers");
    }
  }

  /** Returns the size of the object in bytes. */
  public long objectBytes() {
    long sum = 0;
    for (LayerBuffer buffer : buffers) {
      sum = Math.addExact(sum, buffer.pieceBytes());
    }
    return sum;
  }
}
