package io.unifiedcache.api.store;

import io.unifiedcache.api.Memory;
import java.util.Objects;

/**
 * A part of an object and where its bytes go.
 *
 * @param objectOffset the first byte of the part, counted from the object's first; not negative
 * @param target the memory it fills; its size is the length of the part
 */
public record Range(long objectOffset, Memory target) {
  /**
   * Creates a range.
   *
   * @throws IllegalArgumentException if the offset is negative
   */
  public Range {
    if (objectOffset < 0) {
      throw new IllegalArgumentException("object offset must not be negative, not " + objectOffset);
    }
    Objects.requireNonNull(target, "target");
  }
}
