package io.unifiedcache.linker.direct;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.config.StartPolicy;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A small engine: pools of a few slots, filled and checked by a pattern, and a linker over them.
 */
final class Rig implements AutoCloseable {
  static final PoolName SWA = new PoolName("swa");
  static final int LAYERS = 3;
  static final int SLOTS = 16;
  static final Duration LONG = Duration.ofSeconds(20);

  private static final long PIECE = 24;

  final ScriptedStore store;
  final DevicePools pools;
  final KeyLayout layout;
  final CacheLinker linker;

  private final Arena arena = Arena.ofShared();
  private final Deque<Completion> loaded = new ArrayDeque<>();
  private final Deque<Completion> offloaded = new ArrayDeque<>();

  /** What a rig is made of; each method returns a changed copy. */
  record Plan(
      ScriptedStore store,
      boolean swa,
      boolean rankReplicated,
      boolean stages,
      RankCollective ranks,
      LinkerOptions options,
      MonotonicClock clock) {
    Plan withStore(ScriptedStore value) {
      return new Plan(value, swa, rankReplicated, stages, ranks, options, clock);
    }

    Plan withSwa() {
      return new Plan(store, true, rankReplicated, stages, ranks, options, clock);
    }

    Plan replicated() {
      return new Plan(store, swa, true, stages, ranks, options, clock);
    }

    /** Makes the ranks pipeline stages, not tensor ranks. */
    Plan asStages() {
      return new Plan(store, swa, rankReplicated, true, ranks, options, clock);
    }

    Plan withRanks(RankCollective value) {
      return new Plan(store, swa, rankReplicated, stages, value, options, clock);
    }

    Plan withClock(MonotonicClock value) {
      return new Plan(store, swa, rankReplicated, stages, ranks, options, value);
    }

    Plan withLoadPath(LoadPath path) {
      LinkerOptions o = options;
      return withOptions(path, o.loadTimeout(), o.closeTimeout(), o.rankTimeout());
    }

    Plan withCloseTimeout(Duration close) {
      return withOptions(options.loadPath(), options.loadTimeout(), close, options.rankTimeout());
    }

    Plan withRankTimeout(Duration rank) {
      return withOptions(options.loadPath(), options.loadTimeout(), options.closeTimeout(), rank);
    }

    Plan withStoreTimeouts(Duration each) {
      return withOptions(options.loadPath(), each, options.closeTimeout(), options.rankTimeout());
    }

    Plan withReadyTimeout(Duration ready) {
      LinkerOptions o = options;
      LinkerOptions changed =
          new LinkerOptions(
              o.loadPath(),
              o.lookupTimeout(),
              o.loadTimeout(),
              o.offloadTimeout(),
              ready,
              o.closeTimeout(),
              o.rankTimeout(),
              o.offloadThreads(),
              o.outageFailures(),
              o.suspectExpiry(),
              o.startPolicy(),
              o.startTimeout(),
              o.retryInterval(),
              o.groups());
      return new Plan(store, swa, rankReplicated, stages, ranks, changed, clock);
    }

    Plan withStart(StartPolicy policy, Duration startTimeout) {
      LinkerOptions o = options;
      LinkerOptions changed =
          new LinkerOptions(
              o.loadPath(),
              o.lookupTimeout(),
              o.loadTimeout(),
              o.offloadTimeout(),
              o.readyTimeout(),
              o.closeTimeout(),
              o.rankTimeout(),
              o.offloadThreads(),
              o.outageFailures(),
              o.suspectExpiry(),
              policy,
              startTimeout,
              o.retryInterval(),
              o.groups());
      return new Plan(store, swa, rankReplicated, stages, ranks, changed, clock);
    }

    private Plan withOptions(LoadPath path, Duration store, Duration close, Duration rank) {
      LinkerOptions o = options;
      LinkerOptions changed =
          new LinkerOptions(
              path,
              store.compareTo(o.lookupTimeout()) < 0 ? store : o.lookupTimeout(),
              store,
              store,
              o.readyTimeout(),
              close,
              rank,
              o.offloadThreads(),
              o.outageFailures(),
              o.suspectExpiry(),
              o.startPolicy(),
              o.startTimeout(),
              o.retryInterval(),
              o.groups());
      return new Plan(this.store, swa, rankReplicated, stages, ranks, changed, clock);
    }

    Rig build() {
      return new Rig(this, null);
    }

    /** Builds a rig whose linker opens its store. */
    Rig build(Late late) {
      return new Rig(this, late);
    }
  }

  /** How a linker opens its store, in place of the one of the plan. */
  record Late(StoreSource source, StoreStart.Pause pause) {}

  static Plan plan() {
    return new Plan(
        new ScriptedStore(),
        /* swa= */ false,
        /* rankReplicated= */ false,
        /* stages= */ false,
        RankCollective.ALONE,
        LinkerOptions.defaults(),
        MonotonicClock.SYSTEM);
  }

  private Rig(Plan plan, @Nullable Late late) {
    store = plan.store();
    List<DevicePool> list = new ArrayList<>();
    list.add(PoolLayouts.keysAndValues(PoolName.KV, PoolName.KV, buffers(LAYERS), buffers(LAYERS)));
    if (plan.swa()) {
      list.add(PoolLayouts.packedKeysAndValues(SWA, SWA, buffers(LAYERS), buffers(LAYERS)));
    }
    pools = new DevicePools(list, plan.rankReplicated());
    RankCollective ranks = plan.ranks();
    layout =
        KeyLayout.of(
            KeyForm.STRICT,
            plan.stages()
                ? CacheIdentity.builder().model("m").pipeline(ranks.rank(), ranks.size()).build()
                : CacheIdentity.builder().model("m").tensor(ranks.rank(), ranks.size()).build(),
            plan.rankReplicated(),
            EmptySegments.KEEP);
    RankMember member =
        new RankMember(
            ranks,
            /* owner= */ plan.stages() || ranks.rank() == 0,
            ranks.size() == 1 ? pools.sources() : Set.of(PoolName.KV, SWA));
    String name = "rig-" + ranks.rank();
    if (late == null) {
      linker =
          DirectLinker.open(
              store,
              /* ownsStore= */ true,
              layout,
              pools,
              member,
              plan.options(),
              plan.clock(),
              name);
    } else {
      linker =
          DirectLinker.open(
              new StoreStart(late.source().opening(), plan.options(), name, late.pause()),
              late.source(),
              layout,
              pools,
              member,
              plan.options(),
              plan.clock(),
              name);
    }
  }

  private List<LayerBuffer> buffers(int layers) {
    return IntStream.range(0, layers)
        .mapToObj(
            layer -> new LayerBuffer(layer, HostMemory.of(arena.allocate(SLOTS * PIECE)), PIECE))
        .toList();
  }

  /** Returns page keys that are the name and a number from 0 on. */
  static List<PageKey> pages(String name, int count) {
    return IntStream.range(0, count).mapToObj(i -> new PageKey(name + i)).toList();
  }

  List<PoolQuery> queries() {
    return pools.sources().stream()
        .map(
            source ->
                source.equals(PoolName.KV)
                    ? PoolQuery.allPages(source)
                    : PoolQuery.trailingPages(source, 2))
        .toList();
  }

  /** Returns a request for the same pages and slots of every source. */
  TransferRequest request(String id, List<PageKey> pages, long firstSlot) {
    return new TransferRequest(
        id,
        pools.sources().stream()
            .map(source -> new PoolTransfer(source, pages, Slots.range(firstSlot, pages.size())))
            .toList());
  }

  /** Fills the slots as if the pages had been computed, and stores them. */
  void store(String id, List<PageKey> pages) {
    for (int i = 0; i < pages.size(); i++) {
      fill(pages.get(i), i);
    }
    linker.offload(request(id, pages, 0));
    Completion completion = pollOffload();
    if (!completion.ok()) {
      throw new AssertionError("not stored: " + completion);
    }
    poison();
  }

  /** Returns the next completion of an offload. */
  Completion pollOffload() {
    if (offloaded.isEmpty()) {
      offloaded.addAll(linker.pollOffloads(LONG));
    }
    return offloaded.removeFirst();
  }

  /** Returns the next completions of offloads. */
  List<Completion> pollAllOffloads(int count) {
    List<Completion> all = new ArrayList<>();
    while (all.size() < count) {
      all.addAll(linker.pollOffloads(LONG));
    }
    return all;
  }

  /** Returns the next completion of a load. */
  Completion pollLoad() {
    if (loaded.isEmpty()) {
      loaded.addAll(linker.pollLoads(LONG));
    }
    return loaded.removeFirst();
  }

  /** Returns the key of an object of a page. */
  ObjectKey object(PageKey page, PoolName pool, int component) {
    DevicePool of =
        pools.pools().stream().filter(each -> each.name().equals(pool)).findFirst().orElseThrow();
    return layout.templates(of).get(component).key(page);
  }

  void fill(PageKey page, long slot) {
    eachPiece(slot, (name, piece) -> piece.copyFrom(pattern(page, name)));
  }

  /** Returns whether a layer of a slot holds what was computed for the page. */
  boolean holds(PageKey page, long slot, int layer) {
    boolean[] good = {true};
    eachPiece(
        slot,
        (name, piece) -> {
          if (name.endsWith("/" + layer) && piece.mismatch(pattern(page, name)) >= 0) {
            good[0] = false;
          }
        });
    return good[0];
  }

  /** Returns whether every layer of a slot holds what was computed for the page. */
  boolean holds(PageKey page, long slot) {
    return IntStream.range(0, LAYERS).allMatch(layer -> holds(page, slot, layer));
  }

  /** Overwrites every slot. */
  void poison() {
    for (long slot = 0; slot < SLOTS; slot++) {
      eachPiece(slot, (name, piece) -> piece.fill((byte) 0xdb));
    }
  }

  private interface PieceAction {
    void accept(String name, MemorySegment piece);
  }

  private void eachPiece(long slot, PieceAction action) {
    for (DevicePool pool : pools.pools()) {
      for (Component component : pool.components()) {
        int index = 0;
        for (LayerBuffer buffer : component.buffers()) {
          String name = pool.name() + "/" + component.name() + "/" + index++ + "/" + buffer.layer();
          action.accept(name, ((HostMemory) buffer.piece(slot)).segment());
        }
      }
    }
  }

  private static MemorySegment pattern(PageKey page, String name) {
    MemorySegment pattern = MemorySegment.ofArray(new byte[(int) PIECE]);
    int seed = (page + name).hashCode();
    for (int i = 0; i < PIECE; i++) {
      pattern.set(ValueLayout.JAVA_BYTE, i, (byte) (seed >>> (i % 4 * 8) ^ i * 31));
    }
    return pattern;
  }

  @Override
  public void close() {
    linker.close();
    arena.close();
  }
}
