package io.unifiedcache.api;

import java.util.Objects;

/**
 * Memory of a device, which nobody in the JVM dereferences.
 *
 * <p>Only a store that offers {@code DEVICE_MEMORY} ever receives it (rule {@code
 * linker.device-memory}).
 *
 * @param device the device, in the words of the store's transport, such as {@code cuda:0}
 * @param address the address of the first byte, in the device's address space; not zero
 * @param byteSize the size in bytes, not negative
 */
public record DeviceMemory(String device, long address, long byteSize) implements Memory {
  /**
   * Creates device memory.
   *
   * @throws IllegalArgumentException if the device is blank, the address is zero, or the size is
   *     negative or runs past the end of the address space
   */
  public DeviceMemory {
    if (device.isBlank()) {
      throw new IllegalArgumentException("device must not be blank");
    }
    if (address == 0) {
      throw new IllegalArgumentException("device address must not be zero");
    }
    if (byteSize < 0 || Long.compareUnsigned(address + byteSize, address) < 0) {
      throw new IllegalArgumentException(
          "device memory of %d bytes at 0x%x is not a run of bytes".formatted(byteSize, address));
    }
  }

  @Override
  public DeviceMemory slice(long offset, long bytes) {
    Objects.checkFromIndexSize(offset, bytes, byteSize);
    return new DeviceMemory(device, address + offset, bytes);
  }

  @Override
  public boolean isAlive() {
    return true;
  }
}
