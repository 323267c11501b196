package io.unifiedcache.benchmarks;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
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
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.PageHasher;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * What an engine has: pools with a slot for every page, and a linker between them and a memory
 * store.
 *
 * <p>A page of a pool is one object: a piece of keys for each layer, then a piece of values for
 * each layer.
 */
final class Engine implements AutoCloseable {
  /**
   * The shape of an engine.
   *
   * @param pages pages, and slots of each pool
   * @param pools pools, the first of full attention, the others of sliding windows
   * @param layers layers, each with two pieces of every page in every pool: keys and values
   * @param pieceBytes bytes of a piece
   */
  record Shape(int pages, int pools, int layers, long pieceBytes) {
    long pageBytes() {
      return 2L * layers * pieceBytes;
    }

    long bytes() {
      return (long) pages * pools * pageBytes();
    }
  }

  /**
   * When the layers of a load were in place, in nanoseconds from the start.
   *
   * @param first the first one
   * @param last the last one
   */
  record Layers(long first, long last) {}

  private static final Duration LONG = Duration.ofMinutes(1);
  private static final int COPY_THREADS = 2;

  private final Shape shape;
  private final Arena arena = Arena.ofShared();
  private final CacheStore store;
  private final boolean ownsStore;
  private final DevicePools pools;
  private final CacheLinker linker;
  private final List<PageKey> pages;
  private final List<PoolQuery> queries;
  private long requests;

  /** Creates an engine that is alone with its store. */
  Engine(Shape shape) {
    this(shape, openStore(2 * shape.bytes()), /* ownsStore= */ true, RankCollective.ALONE);
  }

  /** Creates one rank of several that share a store. */
  Engine(Shape shape, CacheStore store, RankCollective ranks) {
    this(shape, store, /* ownsStore= */ false, ranks);
  }

  private Engine(Shape shape, CacheStore store, boolean ownsStore, RankCollective ranks) {
    this.shape = shape;
    this.store = store;
    this.ownsStore = ownsStore;
    List<DevicePool> list = new ArrayList<>();
    for (int pool = 0; pool < shape.pools(); pool++) {
      PoolName name = pool == 0 ? PoolName.KV : new PoolName("swa-" + pool);
      list.add(PoolLayouts.packedKeysAndValues(name, name, buffers(), buffers()));
    }
    pools = new DevicePools(list, /* rankReplicated= */ false);
    linker =
        UnifiedCache.builder()
            .store(store)
            .identity(identity(ranks.rank(), ranks.size()))
            .pools(pools)
            .ranks(ranks)
            .instance("engine-" + ranks.rank())
            .open();
    pages = keys(shape.pages());
    queries =
        pools.sources().stream()
            .map(
                source ->
                    source.equals(PoolName.KV)
                        ? PoolQuery.allPages(source)
                        : PoolQuery.trailingPages(source, 8))
            .toList();
  }

  /** Opens a memory store that copies with as many threads as the plain copies do. */
  static CacheStore openStore(long capacity) {
    return Backends.discover()
        .open(
            "memory",
            SettingsSources.of(
                Map.of(
                    "capacity",
                    Long.toString(Math.max(capacity, 64 << 20)),
                    "copy-threads",
                    Integer.toString(COPY_THREADS))),
            "benchmark");
  }

  /** Returns the identity of a rank. */
  static CacheIdentity identity(int rank, int ranks) {
    return CacheIdentity.builder()
        .model("meta-llama/Llama-3.1-8B-Instruct")
        .elementType("bfloat16")
        .pageTokens(64)
        .tensor(rank, ranks)
        .build();
  }

  /** Returns the page keys of a prompt of random tokens. */
  static List<PageKey> keys(int count) {
    int[] tokens = new SplittableRandom(1).ints(count, 0, 150_000).toArray();
    return PageHasher.of(1).pageKeys(tokens);
  }

  private List<LayerBuffer> buffers() {
    List<LayerBuffer> buffers = new ArrayList<>();
    for (int layer = 0; layer < shape.layers(); layer++) {
      MemorySegment memory = arena.allocate(shape.pages() * shape.pieceBytes(), 4096);
      memory.fill((byte) (layer + 1));
      buffers.add(new LayerBuffer(layer, HostMemory.of(memory), shape.pieceBytes()));
    }
    return buffers;
  }

  Shape shape() {
    return shape;
  }

  List<PageKey> pages() {
    return pages;
  }

  /** Returns the first pool. */
  DevicePool pool() {
    return pools.pools().get(0);
  }

  /** Returns the memory of each of a page's pieces, slot after slot, in the order of an object. */
  List<MemorySegment> pieces(int pool) {
    return pools.pools().get(pool).components().get(0).buffers().stream()
        .map(buffer -> ((HostMemory) buffer.memory()).segment())
        .toList();
  }

  /** Stores all pages, none of which is in the store, and returns when that is answered. */
  void offload() {
    linker.offload(request());
    requireOk(linker.pollOffloads(LONG));
  }

  /** Forgets all that the store has. */
  void forget() {
    var unused = store.clear(KeyPrefix.EVERYTHING, Deadline.never());
  }

  /** Looks all pages up, all of which are in the store. */
  void lookup() {
    int found = linker.lookup(pages, queries).restorable().longest();
    if (found != pages.size()) {
      throw new IllegalStateException("of " + pages.size() + " pages only " + found + " are there");
    }
  }

  /**
   * Loads all pages, waits layer by layer, and returns when the load is answered.
   *
   * @return when layers were in place
   */
  Layers load() {
    linker.load(request());
    long start = System.nanoTime();
    LoadBatch batch = linker.startLayerWiseLoading();
    long first = 0;
    for (int layer = 0; layer < shape.layers(); layer++) {
      var unused = batch.awaitLayer(layer, LONG);
      if (layer == 0) {
        first = System.nanoTime() - start;
      }
    }
    long last = System.nanoTime() - start;
    requireOk(linker.pollLoads(LONG));
    return new Layers(first, last);
  }

  private TransferRequest request() {
    Slots slots = Slots.range(0, pages.size());
    return new TransferRequest(
        "request-" + requests++,
        pools.sources().stream().map(source -> new PoolTransfer(source, pages, slots)).toList());
  }

  private static void requireOk(List<Completion> completions) {
    if (completions.size() != 1 || !completions.get(0).ok()) {
      throw new IllegalStateException("not all pages: " + completions);
    }
  }

  @Override
  public void close() {
    linker.close();
    if (ownsStore) {
      store.close();
    }
    arena.close();
  }
}
