package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.config.LoadPath;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What the pools and the options of a linker need of whatever store it gets. */
record StoreNeeds(DevicePools pools, LoadPath loadPath) {
  /**
   * Refuses a store that does not offer what is needed.
   *
   * @throws CacheException with code {@code REFUSED} if device memory (rule {@code
   *     linker.device-memory}) or loading by layers is needed and not offered
   */
  void requireOffered(Set<Capability> offered) {
    if (loadPath == LoadPath.LAYERS && !offered.contains(Capability.RANGED_READ)) {
      throw new CacheException(
          FailureCode.REFUSED,
          "linker.load-path = layers needs a store that offers RANGED_READ; this one offers "
              + offered);
    }
    if (!offered.contains(Capability.DEVICE_MEMORY)) {
      for (DevicePool pool : pools.pools()) {
        for (Component component : pool.components()) {
          for (LayerBuffer buffer : component.buffers()) {
            if (buffer.memory() instanceof DeviceMemory) {
              throw new CacheException(
                  FailureCode.REFUSED,
                  what(pool, component)
                      + " lies in device memory, which this store cannot address");
            }
          }
        }
      }
    }
  }

  /**
   * Refuses a store whose limits the pools' objects pass.
   *
   * @throws IllegalArgumentException if one does
   */
  void requireFit(StoreLimits limits) {
    for (DevicePool pool : pools.pools()) {
      for (Component component : pool.components()) {
        String what = what(pool, component);
        if (component.objectBytes() > limits.objectBytes()) {
          throw new IllegalArgumentException(
              "%s has %d bytes, but the store takes at most %d"
                  .formatted(what, component.objectBytes(), limits.objectBytes()));
        }
        if (component.buffers().size() > limits.pieces()) {
          throw new IllegalArgumentException(
              "%s has %d pieces, but the store takes at most %d"
                  .formatted(what, component.buffers().size(), limits.pieces()));
        }
        for (LayerBuffer buffer : component.buffers()) {
          if (address(buffer.memory()) % limits.alignment() != 0
              || buffer.slotStride() % limits.alignment() != 0) {
            throw new IllegalArgumentException(
                "%s: slots of layer %d are not aligned to %d bytes, as the store needs"
                    .formatted(what, buffer.layer(), limits.alignment()));
          }
        }
      }
    }
  }

  private static String what(DevicePool pool, Component component) {
    return "object " + component.name() + " of pool " + pool.name();
  }

  private static long address(Memory memory) {
    return switch (memory) {
      case HostMemory host -> host.segment().address();
      case DeviceMemory device -> device.address();
    };
  }

  /** Tells whether pages are loaded layer by layer from a store that offers what is needed. */
  boolean byLayers(Set<Capability> offered) {
    return offered.contains(Capability.RANGED_READ) && loadPath != LoadPath.PAGES;
  }

  /** Registers each buffer once, or none (rule {@code store.register}). */
  List<Registration> register(CacheStore store) {
    Set<Memory> buffers = new LinkedHashSet<>();
    for (DevicePool pool : pools.pools()) {
      for (Component component : pool.components()) {
        component.buffers().forEach(buffer -> buffers.add(buffer.memory()));
      }
    }
    List<Registration> registrations = new ArrayList<>();
    try {
      for (Memory buffer : buffers) {
        registrations.add(store.register(buffer));
      }
    } catch (RuntimeException | Error problem) {
      unregister(registrations).forEach(problem::addSuppressed);
      throw problem;
    }
    return List.copyOf(registrations);
  }

  /** Undoes every registration, whatever another does, and returns what they threw. */
  static List<Throwable> unregister(List<Registration> registrations) {
    List<Throwable> problems = new ArrayList<>();
    for (Registration registration : registrations.reversed()) {
      try {
        registration.close();
      } catch (RuntimeException | Error problem) {
        problems.add(problem);
      }
    }
    return problems;
  }
}
