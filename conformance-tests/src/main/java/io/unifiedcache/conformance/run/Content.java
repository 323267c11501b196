package io.unifiedcache.conformance.run;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * The bytes of an object, which follow from a number: every part of it can be written and checked
 * without the rest.
 *
 * @param id the number
 */
public record Content(long id) {
  private static final ValueLayout.OfLong WORD =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Writes the bytes from {@code offset} on until the memory is full. */
  public void fill(MemorySegment memory, long offset) {
    long size = memory.byteSize();
    long i = 0;
    while (i < size && ((offset + i) & 7) != 0) {
      memory.set(ValueLayout.JAVA_BYTE, i, byteAt(offset + i));
      i++;
    }
    for (; i + 8 <= size; i += 8) {
      memory.set(WORD, i, word((offset + i) >>> 3));
    }
    for (; i < size; i++) {
      memory.set(ValueLayout.JAVA_BYTE, i, byteAt(offset + i));
    }
  }

  /** Returns the first difference between the memory and the bytes from {@code offset} on. */
  public Optional<String> difference(MemorySegment memory, long offset) {
    long size = memory.byteSize();
    for (long i = 0; i < size; i++) {
      while (((offset + i) & 7) == 0
          && i + 8 <= size
          && memory.get(WORD, i) == word((offset + i) >>> 3)) {
        i += 8;
      }
      if (i < size && memory.get(ValueLayout.JAVA_BYTE, i) != byteAt(offset + i)) {
        return Optional.of(
            "byte %d is 0x%02x, not 0x%02x"
                .formatted(offset + i, memory.get(ValueLayout.JAVA_BYTE, i), byteAt(offset + i)));
      }
    }
    return Optional.empty();
  }

  private byte byteAt(long offset) {
    return (byte) (word(offset >>> 3) >>> ((offset & 7) * 8));
  }

  /** Mixes well: the finalizer that SplittableRandom uses. */
  private long word(long index) {
    long z = id * 0x9E3779B97F4A7C15L + index;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
