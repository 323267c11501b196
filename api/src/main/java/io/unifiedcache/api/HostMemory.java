package io.unifiedcache.api;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Native memory of the host, as a {@link MemorySegment} that any thread may access.
 *
 * <p>Immutable and thread-safe; the bytes it points at are not. Two are equal when they cover the
 * same bytes within the same scope.
 */
public final class HostMemory implements Memory {
  /** Never started: a segment that this thread may access is not confined to another one. */
  private static final Thread STRANGER = Thread.ofPlatform().unstarted(() -> {});

  private final MemorySegment segment;

  private HostMemory(MemorySegment segment) {
    this.segment = segment;
  }

  /**
   * Returns the memory of a native segment of shared, automatic or global scope. A read-only
   * segment is a legal source.
   *
   * @throws IllegalArgumentException if the segment is on the heap (a native call could not address
   *     it), is confined to one thread (a transfer thread could not), or is no longer alive
   */
  public static HostMemory of(MemorySegment segment) {
    Objects.requireNonNull(segment, "segment");
    if (!segment.isNative()) {
      throw new IllegalArgumentException(
          "memory must be native, but this segment is on the heap: " + segment);
    }
    if (!segment.isAccessibleBy(STRANGER)) {
      throw new IllegalArgumentException(
          "memory must be accessible from every thread (Arena.ofShared, ofAuto or global), but this"
              + " segment is confined to one: "
              + segment);
    }
    if (!segment.scope().isAlive()) {
      throw new IllegalArgumentException("the arena of this segment is closed: " + segment);
    }
    return new HostMemory(segment);
  }

  /** Returns the segment. */
  public MemorySegment segment() {
    return segment;
  }

  @Override
  public long byteSize() {
    return segment.byteSize();
  }

  @Override
  public HostMemory slice(long offset, long bytes) {
    return new HostMemory(segment.asSlice(offset, bytes));
  }

  @Override
  public boolean isAlive() {
    return segment.scope().isAlive();
  }

  /** Segments themselves do not compare their sizes. */
  @Override
  public boolean equals(Object other) {
    return other instanceof HostMemory that
        && segment.address() == that.segment.address()
        && segment.byteSize() == that.segment.byteSize()
        && segment.scope().equals(that.segment.scope());
  }

  @Override
  public int hashCode() {
    return Objects.hash(segment.address(), segment.byteSize());
  }

  @Override
  public String toString() {
    return "HostMemory[address=0x%x, bytes=%d]".formatted(segment.address(), byteSize());
  }
}
