package io.unifiedcache.cli.replay;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolTransfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * The pools of one rank, and beside each buffer another of the same size that says what a load must
 * bring.
 *
 * <p>Used by one thread; transfers touch the pools alone.
 */
final class RankPools {
  private final DevicePools pools;
  private final List<Place> places;

  /**
   * Creates pools of host memory.
   *
   * @param rank the rank, which the content depends on unless the pools are replicated
   */
  RankPools(DevicePools pools, int rank) {
    this.pools = pools;
    this.places = new ArrayList<>();
    int writer = pools.rankReplicated() ? 0 : rank;
    for (DevicePool pool : pools.pools()) {
      for (Component component : pool.components()) {
        for (LayerBuffer buffer : component.buffers()) {
          places.add(Place.of(pool, component, buffer, writer));
        }
      }
    }
  }

  DevicePools pools() {
    return pools;
  }

  /** Writes what the pages of a transfer hold, as computing them would. */
  void compute(PoolTransfer transfer) {
    long[] pageSeeds = pageSeeds(transfer);
    for (Place place : places) {
      if (place.source.equals(transfer.source())) {
        for (int i = 0; i < pageSeeds.length; i++) {
          long seed = PageContent.seed(pageSeeds[i], place.contentSeed);
          long offset = place.offset(transfer.slots().slot(i));
          PageContent.fill(seed, place.memory, offset, place.bytes);
        }
      }
    }
  }

  /**
   * Makes every bit wrong that a transfer is about to load, and keeps what it must bring.
   *
   * @return the bytes to load
   */
  long poison(PoolTransfer transfer) {
    long[] pageSeeds = pageSeeds(transfer);
    long bytes = 0;
    for (Place place : places) {
      if (place.source.equals(transfer.source())) {
        for (int i = 0; i < pageSeeds.length; i++) {
          long seed = PageContent.seed(pageSeeds[i], place.contentSeed);
          long offset = place.offset(transfer.slots().slot(i));
          PageContent.fill(seed, place.expected, offset, place.bytes);
          PageContent.poison(seed, place.memory, offset, place.bytes);
          bytes += place.bytes;
        }
      }
    }
    return bytes;
  }

  /** Compares one layer of what a transfer has loaded with what it must have brought. */
  void compare(PoolTransfer transfer, int layer, Tally tally) {
    for (Place place : places) {
      if (place.layer == layer && place.source.equals(transfer.source())) {
        for (int i = 0; i < transfer.keys().size(); i++) {
          long offset = place.offset(transfer.slots().slot(i));
          long end = offset + place.bytes;
          long wrong =
              MemorySegment.mismatch(place.memory, offset, end, place.expected, offset, end);
          if (wrong >= 0) {
            tally.mismatch(place.describe(transfer.keys().get(i), offset, wrong));
          }
        }
      }
    }
  }

  private static long[] pageSeeds(PoolTransfer transfer) {
    return transfer.keys().stream().mapToLong(PageContent::pageSeed).toArray();
  }

  /**
   * One layer buffer.
   *
   * @param contentSeed the part of the seed that comes from rank, pool, component and layer
   */
  private record Place(
      PoolName pool,
      PoolName source,
      String component,
      int layer,
      MemorySegment memory,
      MemorySegment expected,
      long stride,
      long bytes,
      long contentSeed) {
    static Place of(DevicePool pool, Component component, LayerBuffer buffer, int writer) {
      if (!(buffer.memory() instanceof HostMemory memory)) {
        throw new IllegalArgumentException("pool " + pool.name() + " is not in host memory");
      }
      return new Place(
          pool.name(),
          pool.source(),
          component.name(),
          buffer.layer(),
          memory.segment(),
          Arena.ofAuto().allocate(memory.byteSize(), 64),
          buffer.slotStride(),
          buffer.pieceBytes(),
          PageContent.placeSeed(writer, pool.name(), component.name(), buffer.layer()));
    }

    long offset(long slot) {
      return slot * stride;
    }

    String describe(PageKey page, long offset, long wrong) {
      return "page %s, pool %s, component %s, layer %d, byte %d of %d: expected 0x%02x, found 0x%02x"
          .formatted(
              page,
              pool,
              component,
              layer,
              wrong,
              bytes,
              expected.get(ValueLayout.JAVA_BYTE, offset + wrong),
              memory.get(ValueLayout.JAVA_BYTE, offset + wrong));
    }
  }
}
