package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.store.Registration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory that is registered with Mooncake's client.
 *
 * <p>Mooncake takes no memory that overlaps what it has already, whereas callers may register what
 * overlaps: of such memory the parts that are new are registered, each as a region of its own, and
 * a region goes when the last registration that shares it does. Thread-safe.
 */
final class Registrations {
  private static final Logger LOG = LoggerFactory.getLogger(Registrations.class);

  private static final class Region {
    final long address;
    final long bytes;
    int users;

    Region(long address, long bytes) {
      this.address = address;
      this.bytes = bytes;
    }

    long end() {
      return address + bytes;
    }
  }

  private final MooncakeClient client;

  /** By address; they do not overlap. Guarded by itself. */
  private final TreeMap<Long, Region> regions = new TreeMap<>();

  /**
   * Those that Mooncake did not let go of. Memory that is registered there later may be other
   * memory, so that they are never used again, and are in its way until they are gone.
   */
  private final List<Region> stuck = new ArrayList<>();

  private boolean ended;

  Registrations(MooncakeClient client) {
    this.client = client;
  }

  /**
   * Registers memory, or none of it.
   *
   * @throws CacheException if Mooncake refuses
   */
  Registration register(Memory memory) {
    if (memory.byteSize() == 0) {
      return Registration.NONE;
    }
    if (!memory.isAlive()) {
      throw new CacheException(FailureCode.REFUSED, "the arena of the memory is closed");
    }
    long address = Entry.addressOf(memory);
    List<Region> shared;
    synchronized (regions) {
      addMissing(address, address + memory.byteSize());
      shared = overlapping(address, address + memory.byteSize());
      shared.forEach(region -> region.users++);
    }
    AtomicBoolean closed = new AtomicBoolean();
    return () -> {
      if (closed.compareAndSet(false, true)) {
        release(shared);
      }
    };
  }

  private void addMissing(long from, long to) {
    stuck.removeIf(region -> region.address < to && from < region.end() && unregister(region));
    List<Region> added = new ArrayList<>();
    long at = from;
    List<Region> there = overlapping(from, to);
    for (int i = 0; i <= there.size(); i++) {
      long next = i < there.size() ? there.get(i).address : to;
      if (at < next) {
        try {
          added.add(add(at, next - at));
        } catch (RuntimeException | Error e) {
          added.forEach(this::remove);
          throw e;
        }
      }
      at = i < there.size() ? there.get(i).end() : to;
    }
  }

  private Region add(long address, long bytes) {
    long answer;
    try {
      answer = client.register(address, bytes);
    } catch (ClientException e) {
      throw new CacheException(
          FailureCode.INTERNAL, "memory cannot be registered: " + e.getMessage(), e);
    }
    if (answer != 0) {
      throw new CacheException(
          Answers.code(answer),
          "%d bytes of memory at 0x%x cannot be registered: register_buffer answered %d"
              .formatted(bytes, address, answer));
    }
    Region region = new Region(address, bytes);
    regions.put(address, region);
    return region;
  }

  private List<Region> overlapping(long from, long to) {
    List<Region> found = new ArrayList<>();
    Map.Entry<Long, Region> before = regions.lowerEntry(from);
    if (before != null && before.getValue().end() > from) {
      found.add(before.getValue());
    }
    found.addAll(regions.subMap(from, to).values());
    return found;
  }

  private void release(List<Region> shared) {
    synchronized (regions) {
      for (Region region : shared) {
        region.users--;
        if (region.users == 0 && !ended) {
          remove(region);
        }
      }
    }
  }

  private void remove(Region region) {
    regions.remove(region.address);
    if (!unregister(region)) {
      stuck.add(region);
    }
  }

  /** Has Mooncake forget a region; false if it may still know it. */
  private boolean unregister(Region region) {
    try {
      long answer = client.unregister(region.address);
      if (answer != 0) {
        LOG.warn("unregister_buffer of {} bytes answered {}", region.bytes, answer);
      }
      // It does not know it, then.
      return answer == 0 || answer == Answers.INVALID_PARAMS;
    } catch (ClientException | RuntimeException e) {
      LOG.warn("{} bytes cannot be unregistered", region.bytes, e);
      return false;
    }
  }

  /** Tells whether memory lies within one region. */
  boolean covers(Memory memory) {
    long address = Entry.addressOf(memory);
    synchronized (regions) {
      Map.Entry<Long, Region> region = regions.floorEntry(address);
      return region != null && region.getValue().end() - address >= memory.byteSize();
    }
  }

  /** Forgets everything: the client is gone. */
  void end() {
    synchronized (regions) {
      ended = true;
      regions.clear();
    }
  }
}
