package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * Pages in the memory of an engine, with a piece of keys and a piece of values for each layer, and
 * a linker that stores and loads them.
 */
final class EnginePages implements AutoCloseable {
  static final int LAYERS = 3;
  static final long PIECE_BYTES = 4096;
  static final String MODEL = "org/model";

  private static final Duration LONG = Duration.ofMinutes(3);

  // Not closed: a load that an owner has died under may be at it when the linker has been closed.
  private final Arena arena = Arena.ofAuto();
  private final AtomicLong longestNanos = new AtomicLong();
  private final List<PageKey> pages;
  private final List<MemorySegment> pieces = new ArrayList<>();
  private final CacheLinker linker;

  /**
   * Opens a linker over memory that is all zero.
   *
   * @param packed whether a page is one object, or one of keys and one of values
   */
  EnginePages(String tag, boolean packed, List<String> pages, Map<String, String> settings) {
    this.pages = pages.stream().map(PageKey::new).toList();
    List<LayerBuffer> keys = buffers();
    List<LayerBuffer> values = buffers();
    DevicePool pool =
        packed
            ? PoolLayouts.packedKeysAndValues(PoolName.KV, PoolName.KV, keys, values)
            : PoolLayouts.keysAndValues(PoolName.KV, PoolName.KV, keys, values);
    linker =
        UnifiedCache.builder()
            .backend("mooncake")
            .settings(settings)
            .identity(
                CacheIdentity.builder()
                    .tag(tag)
                    .model(MODEL)
                    .elementType("bfloat16")
                    .pageTokens(4)
                    .build())
            .pools(new DevicePools(List.of(pool), /* rankReplicated= */ false))
            .open();
  }

  /** Returns keys of pages that differ from one another and from those of another seed. */
  static List<String> keys(long seed, int count) {
    SplittableRandom random = new SplittableRandom(seed);
    return IntStream.range(0, count)
        .mapToObj(
            i -> {
              byte[] key = new byte[32];
              random.nextBytes(key);
              return HexFormat.of().formatHex(key);
            })
        .toList();
  }

  private List<LayerBuffer> buffers() {
    return IntStream.range(0, LAYERS)
        .mapToObj(
            layer -> {
              MemorySegment memory = arena.allocate(pages.size() * PIECE_BYTES, 4096);
              pieces.add(memory);
              return new LayerBuffer(layer, HostMemory.of(memory), PIECE_BYTES);
            })
        .toList();
  }

  /** Fills the pages with bytes that look random. */
  void fill(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (MemorySegment piece : pieces) {
      for (long at = 0; at < piece.byteSize(); at += Long.BYTES) {
        piece.set(ValueLayout.JAVA_LONG, at, random.nextLong());
      }
    }
  }

  /** Stores all pages. */
  void offload() {
    linker.offload(request());
    assertThat(linker.pollOffloads(LONG)).singleElement().matches(done -> done.ok(), "all stored");
  }

  /** Tells whether all pages can be stored now. */
  boolean canOffload() {
    linker.offload(request());
    return linker.pollOffloads(LONG).getFirst().ok();
  }

  /** Looks all pages up; returns how many can be loaded. */
  int hits() {
    return linker.lookup(pages, List.of(PoolQuery.allPages(PoolName.KV))).restorable().longest();
  }

  /** Looks all pages up and loads them layer by layer. */
  void load() {
    assertThat(hits()).isEqualTo(pages.size());
    linker.load(request());
    LoadBatch batch = linker.startLayerWiseLoading();
    for (int layer = 0; layer < LAYERS; layer++) {
      var unused = batch.awaitLayer(layer, LONG);
    }
    assertThat(linker.pollLoads(LONG)).singleElement().matches(done -> done.ok(), "all loaded");
  }

  /**
   * Looks all pages up and loads them layer by layer, whatever befalls the store; tells whether
   * every page is there now. Requires that the load ends once, and that what it calls loaded is.
   *
   * @param expected the hashes of the pages
   */
  boolean tryLoad(List<String> expected) {
    long began = System.nanoTime();
    if (hits() < pages.size()) {
      return false;
    }
    pieces.forEach(piece -> piece.fill((byte) 0));
    linker.load(request());
    LoadBatch batch = linker.startLayerWiseLoading();
    try {
      for (int layer = 0; layer < LAYERS; layer++) {
        var unused = batch.awaitLayer(layer, LONG);
      }
    } catch (CacheException e) {
      // Its completion says the same, once its memory is let go of.
    }
    longestNanos.accumulateAndGet(System.nanoTime() - began, Math::max);
    List<Completion> ends = linker.pollLoads(LONG);
    assertThat(ends).singleElement().extracting(Completion::id).isEqualTo("request");
    assertThat(linker.pollLoads(Duration.ZERO)).isEmpty();
    if (ends.getFirst().ok()) {
      assertThat(hashes()).isEqualTo(expected);
    }
    return ends.getFirst().ok();
  }

  /** Returns how long {@link #tryLoad} took at most to know what comes of a load. */
  Duration longest() {
    return Duration.ofNanos(longestNanos.get());
  }

  private TransferRequest request() {
    return new TransferRequest(
        "request", List.of(new PoolTransfer(PoolName.KV, pages, Slots.range(0, pages.size()))));
  }

  /** Returns the SHA-256 of each page: its pieces of keys, then those of values. */
  List<String> hashes() {
    return IntStream.range(0, pages.size()).mapToObj(page -> hash(pieces, page)).toList();
  }

  /** Returns the SHA-256 of the keys of each page, then that of its values. */
  List<String> hashesOfHalves() {
    return IntStream.range(0, pages.size())
        .boxed()
        .flatMap(
            page ->
                List.of(
                    hash(pieces.subList(0, LAYERS), page),
                    hash(pieces.subList(LAYERS, 2 * LAYERS), page))
                    .stream())
        .toList();
  }

  private static String hash(List<MemorySegment> pieces, int page) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (MemorySegment piece : pieces) {
        digest.update(piece.asSlice(page * PIECE_BYTES, PIECE_BYTES).asByteBuffer());
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    linker.close();
  }
}
