package io.unifiedcache.api.linker;

import io.unifiedcache.api.Memory;
import java.util.Objects;

/**
 * The memory in which a pool keeps one part of one layer, for all its slots.
 *
 * <p>Slot {@code s} is the {@code pieceBytes} bytes from {@code s * slotStride} on. Buffers of
 * token rows have a stride of {@code page tokens * row bytes}.
 *
 * @param layer the layer that needs these bytes, counted from 0
 * @param memory the whole buffer
 * @param slotStride bytes from one slot to the next, at least {@code pieceBytes}
 * @param pieceBytes bytes of one slot, at least 1
 */
public record LayerBuffer(int layer, Memory memory, long slotStride, long pieceBytes) {
  /**
   * Creates a buffer.
   *
   * @throws IllegalArgumentException if the layer is negative, the sizes do not fit each other, or
   *     the memory has no room for one slot
   */
  public LayerBuffer {
    Objects.requireNonNull(memory, "memory");
    if (layer < 0) {
      throw new IllegalArgumentException("a layer must not be negative, not " + layer);
    }
    if (pieceBytes < 1) {
      throw new IllegalArgumentException(
          "a piece of layer " + layer + " must have at least 1 byte, not " + pieceBytes);
    }
    if (slotStride < pieceBytes) {
      throw new IllegalArgumentException(
          "slots of layer %d would overlap: the stride is %d bytes and a piece %d"
              .formatted(layer, slotStride, pieceBytes));
    }
    if (memory.byteSize() < pieceBytes) {
      throw new IllegalArgumentException(
          "the buffer of layer %d has %d bytes, too few for a piece of %d"
              .formatted(layer, memory.byteSize(), pieceBytes));
    }
  }

  /** Creates a buffer whose slots follow each other without a gap. */
  public LayerBuffer(int layer, Memory memory, long pieceBytes) {
    this(layer, memory, pieceBytes, pieceBytes);
  }

  /** Returns the number of slots. */
  public long slots() {
    return (memory.byteSize() - pieceBytes) / slotStride + 1;
  }

  /**
   * Returns the bytes of a slot.
   *
   * @throws IndexOutOfBoundsException if there is no such slot
   */
  public Memory piece(long slot) {
    if (slot < 0 || slot >= slots()) {
      throw new IndexOutOfBoundsException(
          "slot %d of layer %d: the buffer has %d slots".formatted(slot, layer, slots()));
    }
    return memory.slice(slot * slotStride, pieceBytes);
  }
}
