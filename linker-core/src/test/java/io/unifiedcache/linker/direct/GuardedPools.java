package io.unifiedcache.linker.direct;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * An engine's pools in one block of memory in which guard bytes lie before, between and behind all
 * pieces, so that a byte written beside its target shows.
 */
final class GuardedPools implements AutoCloseable {
  static final PoolName SWA = new PoolName("swa");

  private static final long PIECE = 24;
  private static final long GAP = 16;
  private static final byte GUARD = (byte) 0xa5;
  private static final byte POISON = (byte) 0xdb;

  final DevicePools pools;
  final KeyLayout layout =
      KeyLayout.of(
          KeyForm.STRICT,
          CacheIdentity.builder().model("m").build(),
          /* rankReplicated= */ false,
          EmptySegments.KEEP);

  private final int layers;
  private final int slots;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment block;
  private final TreeMap<Long, Place> places = new TreeMap<>();
  private long used = GAP;

  /** A piece: of which slot of which source, and what part of the page. */
  record Place(PoolName source, long slot, String part, int layer) {}

  GuardedPools(int layers, int slots, boolean swa) {
    this.layers = layers;
    this.slots = slots;
    long buffers = layers * (swa ? 4L : 2L);
    block = arena.allocate(GAP + buffers * slots * (PIECE + GAP));
    block.fill(GUARD);
    List<DevicePool> list = new ArrayList<>();
    list.add(PoolLayouts.keysAndValues(PoolName.KV, PoolName.KV, buffers(), buffers()));
    if (swa) {
      list.add(PoolLayouts.packedKeysAndValues(SWA, SWA, buffers(), buffers()));
    }
    pools = new DevicePools(list, /* rankReplicated= */ false);
    for (DevicePool pool : pools.pools()) {
      for (Component component : pool.components()) {
        int index = 0;
        for (LayerBuffer buffer : component.buffers()) {
          String part = pool.name() + "/" + component.name() + "/" + index++;
          for (long slot = 0; slot < slots; slot++) {
            places.put(
                segment(buffer.piece(slot)).address(),
                new Place(pool.source(), slot, part, buffer.layer()));
          }
        }
      }
    }
  }

  private List<LayerBuffer> buffers() {
    List<LayerBuffer> buffers = new ArrayList<>();
    for (int layer = 0; layer < layers; layer++) {
      HostMemory memory = HostMemory.of(block.asSlice(used, slots * (PIECE + GAP) - GAP));
      buffers.add(new LayerBuffer(layer, memory, PIECE + GAP, PIECE));
      used += slots * (PIECE + GAP);
    }
    return buffers;
  }

  /** Returns whether memory is that of the pools. */
  boolean have(Memory memory) {
    long offset = segment(memory).address() - block.address();
    return offset >= 0 && offset < block.byteSize();
  }

  /** Returns what a piece, or a part of one, belongs to. */
  Place place(Memory piece) {
    return places.floorEntry(segment(piece).address()).getValue();
  }

  /** Returns the page and pool of every object that the pages have. */
  Map<ObjectKey, PoolPage> objects(List<PageKey> pages) {
    Map<ObjectKey, PoolPage> objects = new HashMap<>();
    for (DevicePool pool : pools.pools()) {
      layout
          .templates(pool)
          .forEach(
              template ->
                  pages.forEach(
                      page -> objects.put(template.key(page), new PoolPage(pool.name(), page))));
    }
    return objects;
  }

  /** A page in one pool. */
  record PoolPage(PoolName pool, PageKey page) {}

  /** Writes what was computed for a page. */
  void fill(PoolName source, PageKey page, long slot) {
    eachPiece(source, slot, (place, piece) -> piece.copyFrom(pattern(page, place.part())));
  }

  /** Overwrites a slot. */
  void poison(PoolName source, long slot) {
    eachPiece(source, slot, (place, piece) -> piece.fill(POISON));
  }

  /** Tells whether the layers up to the given one hold what was computed for the page. */
  boolean holds(PoolName source, PageKey page, long slot, int upToLayer) {
    boolean[] good = {true};
    eachPiece(
        source,
        slot,
        (place, piece) ->
            good[0] &=
                place.layer() > upToLayer || piece.mismatch(pattern(page, place.part())) < 0);
    return good[0];
  }

  /** Tells whether no byte beside the pieces has changed. */
  boolean guardsAreIntact() {
    long at = 0;
    for (long piece : places.keySet()) {
      long begin = piece - block.address();
      if (!isGuard(at, begin)) {
        return false;
      }
      at = begin + PIECE;
    }
    return isGuard(at, block.byteSize());
  }

  private boolean isGuard(long from, long to) {
    for (long i = from; i < to; i++) {
      if (block.get(ValueLayout.JAVA_BYTE, i) != GUARD) {
        return false;
      }
    }
    return true;
  }

  private interface PieceAction {
    void accept(Place place, MemorySegment piece);
  }

  private void eachPiece(PoolName source, long slot, PieceAction action) {
    places.forEach(
        (address, place) -> {
          if (place.slot() == slot && place.source().equals(source)) {
            action.accept(place, block.asSlice(address - block.address(), PIECE));
          }
        });
  }

  private static MemorySegment pattern(PageKey page, String part) {
    byte[] pattern = new byte[(int) PIECE];
    int seed = (page + part).hashCode();
    for (int i = 0; i < PIECE; i++) {
      pattern[i] = (byte) (seed >>> (i % 4 * 8) ^ i * 31);
    }
    return MemorySegment.ofArray(pattern);
  }

  private static MemorySegment segment(Memory memory) {
    return ((HostMemory) memory).segment();
  }

  @Override
  public void close() {
    arena.close();
  }
}
