package io.unifiedcache.api;

/**
 * A run of bytes that a store reads from or writes to.
 *
 * <p>Memory never owns what it points at: whoever allocated it keeps it allocated until the linker
 * has closed, or until memory that was quarantined has been released.
 */
public sealed interface Memory permits HostMemory, DeviceMemory {
  /** Returns the size in bytes. */
  long byteSize();

  /**
   * Returns the part of this memory that begins at {@code offset} and has {@code bytes} bytes.
   *
   * @throws IndexOutOfBoundsException if the part does not lie within this memory
   */
  Memory slice(long offset, long bytes);

  /**
   * Tells whether the memory is still allocated, as far as the JVM can know. Device memory, which
   * the JVM does not manage, always answers {@code true}.
   */
  boolean isAlive();
}
