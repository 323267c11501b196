package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
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
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import io.unifiedcache.conformance.subject.LinkerSpec;
import io.unifiedcache.linker.key.CacheIdentity;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A small engine: pools of a few slots, with guard bytes around every piece of them, and a linker
 * over them.
 *
 * <p>What a page of a pool holds follows from its name and the identity, so that bytes of another
 * page, pool, layer or identity show. Used by one thread at a time.
 */
final class Engine {
  /** A pool with slots of its own beside {@code kv}. */
  static final PoolName SIDE = PoolName.SWA;

  /** The slots of every pool. */
  static final int SLOTS = 16;

  /** What the keys of the smallest identities take, with page names of up to 5 letters. */
  private static final int KEY_BYTES = 73;

  private static final long PIECE = 264;
  private static final long GAP = 24;
  private static final byte GUARD = (byte) 0xa5;
  private static final byte POISON = (byte) 0xdb;

  /** What an engine is to be like. */
  static final class Plan {
    private final LinkerRig rig;
    private final Map<String, String> settings = new LinkedHashMap<>();
    private final List<PlannedPool> pools = new ArrayList<>();
    private final Set<Capability> hidden = EnumSet.noneOf(Capability.class);
    private CacheIdentity identity;
    private RankCollective ranks = RankCollective.ALONE;
    private int layers = 3;
    private boolean replicated;
    private UnaryOperator<StoreLimits> limits = UnaryOperator.identity();
    private UnaryOperator<DevicePools> devices = UnaryOperator.identity();
    private @Nullable Runnable opening;

    private record PlannedPool(PoolName name, PoolName source, List<String> components) {}

    Plan(LinkerRig rig) {
      this.rig = rig;
      this.identity = CacheIdentity.builder().tag(rig.tag()).build();
    }

    /** Sets the number of layers; 3 if it is not set. */
    Plan layers(int count) {
      layers = count;
      return this;
    }

    /** Adds a pool; if none is added there is {@code kv} with keys and values. */
    Plan pool(PoolName name, PoolName source, String... components) {
      pools.add(new PlannedPool(name, source, List.of(components)));
      return this;
    }

    /**
     * Makes the pools {@code kv}, with keys and values, and {@link #SIDE}, of one object a page.
     */
    Plan withSide() {
      return pool(PoolName.KV, PoolName.KV, "k", "v").pool(SIDE, SIDE, Component.PACKED);
    }

    /** Makes the pool {@code kv}, of one object a page. */
    Plan withPacked() {
      return pool(PoolName.KV, PoolName.KV, Component.PACKED);
    }

    /** Makes every tensor rank hold the same bytes. */
    Plan replicated() {
      replicated = true;
      return this;
    }

    /** Sets how this rank agrees with the others. */
    Plan ranks(RankCollective value) {
      ranks = value;
      return this;
    }

    /** Changes the identity, whose tag must stay. */
    Plan identity(UnaryOperator<CacheIdentity.Builder> change) {
      identity = change.apply(identity.toBuilder()).build();
      return this;
    }

    /** Sets a setting of the linker. */
    Plan set(String key, String value) {
      settings.put(key, value);
      return this;
    }

    /** Sets a setting of the linker. */
    Plan set(String key, Duration value) {
      return set(key, value.toMillis() + "ms");
    }

    /** Hides a capability of the store. */
    Plan without(Capability capability) {
      hidden.add(capability);
      return this;
    }

    /** Tightens the limits of the store. */
    Plan limits(UnaryOperator<StoreLimits> tightened) {
      limits = tightened;
      return this;
    }

    /** Admits no more entries in a call than this, and no more than the store does. */
    Plan batch(int most) {
      return limits(
          old ->
              new StoreLimits(
                  Math.min(most, old.batch()),
                  old.keyBytes(),
                  old.objectBytes(),
                  old.pieces(),
                  old.alignment(),
                  old.grace(),
                  old.busy()));
    }

    /** Changes the pools that the linker is told of. */
    Plan pools(UnaryOperator<DevicePools> change) {
      devices = change;
      return this;
    }

    /** Sets what happens whenever the linker opens the store: it may block or throw. */
    Plan opening(Runnable action) {
      opening = action;
      return this;
    }

    /**
     * Opens the engine's linker. It is closed when the rule ends.
     *
     * @throws CacheException if the linker is refused
     */
    Engine open() {
      Engine engine = new Engine(this);
      rig.add(engine);
      engine.linker = ObservedLinker.open(() -> rig.trial().linkers().open(engine.spec));
      return engine;
    }
  }

  private final LinkerRig rig;
  private final Trial trial;
  private final FaultInjectingStore store;
  private final DevicePools pools;
  private final LinkerSpec spec;
  private final int layers;
  private final long identityNumber;
  private final HostMemory block;
  private final List<Place> places = new ArrayList<>();

  /** By page and source: the keys that were put for it. */
  private final Map<PageKey, Map<PoolName, Set<ObjectKey>>> objects = new LinkedHashMap<>();

  /** By load: how many completions of it were looked at. */
  private final Map<String, Integer> answers = new LinkedHashMap<>();

  private final Deque<Completion> loaded = new ArrayDeque<>();
  private final Deque<Completion> offloaded = new ArrayDeque<>();
  private @Nullable ObservedLinker linker;
  private long used;
  private int offloads;

  /** A piece: of which slot of which source, what part of the page it is, and where it lies. */
  private record Place(PoolName source, long slot, String part, int layer, MemorySegment piece) {}

  private Engine(Plan plan) {
    rig = plan.rig;
    trial = rig.trial();
    store = new FaultInjectingStore(rig.storeUnderTest(), rig.stored(), plan.hidden, plan.limits);
    rig.add(store);
    layers = plan.layers;
    List<Plan.PlannedPool> planned =
        plan.pools.isEmpty()
            ? List.of(new Plan.PlannedPool(PoolName.KV, PoolName.KV, List.of("k", "v")))
            : plan.pools;
    StoreLimits limits = store.limits();
    long piece = Math.max(1, Math.min(PIECE, limits.objectBytes() / layers));
    long stride = roundUp(piece + GAP, limits.alignment());
    long components = planned.stream().mapToInt(each -> each.components().size()).sum();
    block = trial.memory(stride * (1 + components * layers * SLOTS));
    block.segment().fill(GUARD);
    used = stride;
    List<DevicePool> list = new ArrayList<>();
    for (Plan.PlannedPool each : planned) {
      list.add(pool(each, piece, stride, limits.pieces()));
    }
    pools = plan.devices.apply(new DevicePools(list, plan.replicated));
    CacheIdentity shown =
        plan.replicated ? plan.identity.toBuilder().tensor(0, 1).build() : plan.identity;
    identityNumber = shown.hashCode();
    requireKeysFit(limits);
    spec =
        new LinkerSpec(
            new Provider(store, plan.opening),
            plan.identity,
            pools,
            plan.ranks,
            plan.settings,
            "conformance-" + plan.ranks.rank());
    poison();
  }

  private static long roundUp(long value, long alignment) {
    return (value + alignment - 1) / alignment * alignment;
  }

  /** Cuts objects so that none has more pieces than the store takes. */
  private DevicePool pool(Plan.PlannedPool planned, long piece, long stride, int mostPieces) {
    List<Component> components = new ArrayList<>();
    for (String name : planned.components()) {
      List<LayerBuffer> buffers = new ArrayList<>();
      for (int layer = 0; layer < layers; layer++) {
        buffers.add(buffer(planned, name, layer, piece, stride));
      }
      for (int from = 0; from < layers; ) {
        int to = (int) Math.min(layers, (long) from + mostPieces);
        String part = to - from == layers ? name : name + from;
        components.add(new Component(part, buffers.subList(from, to)));
        from = to;
      }
    }
    return new DevicePool(planned.name(), planned.source(), components);
  }

  private LayerBuffer buffer(
      Plan.PlannedPool planned, String component, int layer, long piece, long stride) {
    HostMemory memory = block.slice(used, stride * (SLOTS - 1) + piece);
    used += stride * SLOTS;
    LayerBuffer buffer = new LayerBuffer(layer, memory, stride, piece);
    String part = planned.name() + "/" + component + "/" + layer;
    for (long slot = 0; slot < SLOTS; slot++) {
      MemorySegment segment = ((HostMemory) buffer.piece(slot)).segment();
      places.add(new Place(planned.source(), slot, part, layer, segment));
    }
    return buffer;
  }

  /** A store that does not take keys as long as those of linkers is of no use to one. */
  private void requireKeysFit(StoreLimits limits) {
    if (limits.keyBytes() < KEY_BYTES) {
      throw trial.notApplicable(
          "keys of linkers have up to %d bytes, and the store takes %d"
              .formatted(KEY_BYTES, limits.keyBytes()));
    }
  }

  /** Opens the store in between for the linker. */
  private record Provider(FaultInjectingStore store, @Nullable Runnable opening)
      implements CacheStoreProvider {
    @Override
    public String name() {
      return "under-test";
    }

    @Override
    public List<Option<?>> options() {
      return List.of();
    }

    @Override
    public Set<Capability> capabilities() {
      return store.capabilities();
    }

    @Override
    public CacheStore open(Settings settings, StoreContext context) {
      if (opening != null) {
        opening.run();
      }
      return store;
    }
  }

  // What it has.

  /** Returns the linker. */
  CacheLinker linker() {
    return observed();
  }

  private ObservedLinker observed() {
    if (linker == null) {
      throw new IllegalStateException("the linker did not open");
    }
    return linker;
  }

  /** Fails the rule unless the linker refuses a call as one that its caller got wrong. */
  void expectIllegal(String what, Consumer<CacheLinker> call) {
    expectIllegal(what, "", call);
  }

  /** Fails the rule unless the linker refuses such a call, with a message that has a name. */
  void expectIllegal(String what, String name, Consumer<CacheLinker> call) {
    CacheLinker open = observed().unobserved();
    try {
      call.accept(open);
    } catch (IllegalArgumentException e) {
      if (!String.valueOf(e.getMessage()).contains(name)) {
        throw new Violation(what + " to be refused by name", e.toString(), e);
      }
      return;
    } catch (RuntimeException e) {
      throw new Violation(what + " to throw an IllegalArgumentException", e.toString(), e);
    }
    throw new Violation(what + " to throw an IllegalArgumentException", "it returned");
  }

  /** Fails the rule unless the linker refuses a call, in whatever way. */
  void expectRejected(String what, Consumer<CacheLinker> call) {
    try {
      call.accept(observed().unobserved());
    } catch (IllegalArgumentException | CacheException e) {
      return;
    } catch (RuntimeException e) {
      throw new Violation(what + " to be refused", e.toString(), e);
    }
    throw new Violation(what + " to be refused", "it was taken");
  }

  /** Returns the store of the linker, with faults. */
  FaultInjectingStore store() {
    return store;
  }

  /** Returns the pools that the linker was told of. */
  DevicePools pools() {
    return pools;
  }

  /** Returns the bytes of the last object of a page of the first pool. */
  long objectBytes() {
    return pools.pools().getFirst().components().getLast().objectBytes();
  }

  /** Returns the number of layers. */
  int layers() {
    return layers;
  }

  /** Returns the last layer. */
  int lastLayer() {
    return layers - 1;
  }

  /** Returns queries for every page of every source. */
  List<PoolQuery> queries() {
    return pools.sources().stream().map(PoolQuery::allPages).toList();
  }

  // Its memory.

  /** Writes what was computed for a page into a slot of every source. */
  void fill(PageKey page, long slot) {
    fill(pools.sources(), page, slot);
  }

  /** Writes what was computed for a page into a slot of some sources. */
  void fill(Collection<PoolName> sources, PageKey page, long slot) {
    for (Place place : places) {
      if (place.slot() == slot && sources.contains(place.source())) {
        content(page, place).fill(place.piece(), 0);
      }
    }
  }

  /** Overwrites every slot. */
  void poison() {
    places.forEach(place -> place.piece().fill(POISON));
  }

  /** Overwrites a slot of every source. */
  void poison(long slot) {
    places.stream()
        .filter(place -> place.slot() == slot)
        .forEach(place -> place.piece().fill(POISON));
  }

  /** Returns how the layers up to the given one differ from what was computed for the page. */
  Optional<String> difference(PageKey page, long slot, int upToLayer) {
    return difference(pools.sources(), page, slot, upToLayer);
  }

  /** Returns how the layers of some sources differ from what was computed for the page. */
  Optional<String> difference(
      Collection<PoolName> sources, PageKey page, long slot, int upToLayer) {
    for (Place place : places) {
      if (place.slot() == slot && place.layer() <= upToLayer && sources.contains(place.source())) {
        Optional<String> difference = content(page, place).difference(place.piece(), 0);
        if (difference.isPresent()) {
          return Optional.of(
              "in %s of page %s in slot %d, %s"
                  .formatted(place.part(), page, slot, difference.get()));
        }
      }
    }
    return Optional.empty();
  }

  /** Fails the rule unless the slots hold what was computed for the pages, in every layer. */
  void expectHeld(String what, List<PageKey> pages, long firstSlot) {
    for (int i = 0; i < pages.size(); i++) {
      Optional<String> difference = difference(pages.get(i), firstSlot + i, lastLayer());
      if (difference.isPresent()) {
        throw new Violation(what + " to have put every byte in its place", difference.get());
      }
    }
  }

  /** Tells whether no byte of a slot has been written since it was poisoned. */
  boolean isPoisoned(long slot) {
    return places.stream()
        .filter(place -> place.slot() == slot)
        .allMatch(place -> isFilled(place.piece(), POISON));
  }

  /** Tells whether no byte of a slot of one source has been written since it was poisoned. */
  boolean isPoisoned(PoolName source, long slot) {
    return places.stream()
        .filter(place -> place.slot() == slot && place.source().equals(source))
        .allMatch(place -> isFilled(place.piece(), POISON));
  }

  /**
   * Returns the layers whose pieces begin in the memory of a call; none if it is not the pools'.
   */
  SortedSet<Integer> layersOf(Call call) {
    SortedSet<Integer> layers = new TreeSet<>();
    for (List<Memory> entry : call.memory()) {
      for (Memory each : entry) {
        MemorySegment segment = ((HostMemory) each).segment();
        for (Place place : places) {
          long distance = place.piece().address() - segment.address();
          if (distance >= 0 && distance < segment.byteSize()) {
            layers.add(place.layer());
          }
        }
      }
    }
    return layers;
  }

  /** Fails the rule if a byte beside the pieces has changed. */
  void expectGuardsIntact() {
    MemorySegment all = block.segment();
    long at = 0;
    for (Place place : places) {
      long begin = place.piece().address() - all.address();
      expectGuard(at, all.asSlice(at, begin - at));
      at = begin + place.piece().byteSize();
    }
    expectGuard(at, all.asSlice(at));
  }

  private void expectGuard(long at, MemorySegment gap) {
    if (!isFilled(gap, GUARD)) {
      throw new Violation(
          "no byte beside the pieces of the pools to be written",
          "one between offsets %d and %d was".formatted(at, at + gap.byteSize()));
    }
  }

  private static boolean isFilled(MemorySegment segment, byte value) {
    for (long i = 0; i < segment.byteSize(); i++) {
      if (segment.get(ValueLayout.JAVA_BYTE, i) != value) {
        return false;
      }
    }
    return true;
  }

  private Content content(PageKey page, Place place) {
    return new Content(identityNumber * 31 * 31 + page.hashCode() * 31L + place.part().hashCode());
  }

  // What it does.

  /** Returns a request for the same pages and slots of every source. */
  TransferRequest request(String id, List<PageKey> pages, long firstSlot) {
    return request(id, pools.sources(), pages, firstSlot);
  }

  /** Returns a request for pages of some sources. */
  TransferRequest request(
      String id, Collection<PoolName> sources, List<PageKey> pages, long firstSlot) {
    return request(id, sources, pages, firstSlot, CompletableFuture.completedFuture("now"));
  }

  /** Returns a request that waits for a stage. */
  TransferRequest request(
      String id,
      Collection<PoolName> sources,
      List<PageKey> pages,
      long firstSlot,
      CompletionStage<?> ready) {
    return new TransferRequest(
        id,
        sources.stream()
            .map(source -> new PoolTransfer(source, pages, Slots.range(firstSlot, pages.size())))
            .toList(),
        ready);
  }

  /**
   * Stores pages in every source, learns the keys of their objects, and overwrites every slot.
   * Fails the rule unless they are stored.
   */
  void store(List<PageKey> pages) {
    store(pools.sources(), pages);
  }

  /** Stores pages in some sources. */
  void store(Collection<PoolName> sources, List<PageKey> pages) {
    for (PageKey page : pages) {
      for (PoolName source : sources) {
        Completion completion = offload(Set.of(source), page, 0);
        if (!completion.ok()) {
          throw new Violation(
              "an offload of page " + page + " of pool " + source + " to be stored",
              describe(completion));
        }
      }
    }
    poison();
  }

  /** Fills a slot and offloads it, and takes down which objects are put; returns the completion. */
  Completion offload(Collection<PoolName> sources, PageKey page, long slot) {
    fill(sources, page, slot);
    int before = store.calls(Step.PUT).size();
    linker().offload(request("store-" + offloads++, sources, List.of(page), slot));
    Completion completion = pollOffload();
    List<Call> puts = store.calls(Step.PUT);
    if (sources.size() == 1) {
      for (Call put : puts.subList(Math.min(before, puts.size()), puts.size())) {
        objects
            .computeIfAbsent(page, each -> new LinkedHashMap<>())
            .computeIfAbsent(sources.iterator().next(), each -> new LinkedHashSet<>())
            .addAll(put.keys());
      }
    }
    return completion;
  }

  /** Returns the keys of the objects that were put for a page by {@link #store}. */
  List<ObjectKey> objects(PageKey page) {
    return pools.sources().stream().flatMap(source -> objects(page, source).stream()).toList();
  }

  /** Returns the keys of the objects that were put for a page of one source. */
  List<ObjectKey> objects(PageKey page, PoolName source) {
    Map<PoolName, Set<ObjectKey>> ofPage = objects.getOrDefault(page, Map.of());
    return List.copyOf(ofPage.getOrDefault(source, Set.of()));
  }

  /** Returns the longest restorable length of pages. */
  int restorable(List<PageKey> pages) {
    return linker().lookup(pages, queries()).usablePages();
  }

  /** Queues loads and starts them. */
  LoadBatch start(TransferRequest... requests) {
    for (TransferRequest request : requests) {
      linker().load(request);
    }
    LoadBatch batch = linker().startLayerWiseLoading();
    List<String> ids = IntStream.range(0, requests.length).mapToObj(i -> requests[i].id()).toList();
    trial.expectEqual("the requests of the batch that was started", ids, batch.requests());
    return batch;
  }

  /** Loads pages to the end, and returns the completion. */
  Completion load(String id, List<PageKey> pages, long firstSlot) {
    awaitEnd(start(request(id, pages, firstSlot)));
    return completionOf(id, pollLoads(id));
  }

  /** Waits for the end of a batch, in which everybody may fail: the completions tell. */
  void awaitEnd(LoadBatch batch) {
    try {
      var unused = batch.awaitLayer(lastLayer(), rig.patience());
    } catch (CacheException e) {
      trial.expect(
          e.code() != FailureCode.REFUSED,
          "a wait for the last layer to be served",
          () -> "it was refused: " + e.getMessage());
    }
  }

  /** Returns the next completion of a load. Fails the rule if none comes. */
  Completion pollLoad() {
    Completion next = poll("a load", loaded, () -> linker().pollLoads(rig.patience()));
    answers.merge(next.id(), 1, Integer::sum);
    return next;
  }

  /** Returns how often the completion of a load has come, or would with the next poll. */
  long answers(String id) {
    loaded.addAll(linker().pollLoads(Duration.ZERO));
    return answers.getOrDefault(id, 0)
        + loaded.stream().filter(each -> each.id().equals(id)).count();
  }

  /** Returns the next completion of an offload. Fails the rule if none comes. */
  Completion pollOffload() {
    return poll("an offload", offloaded, () -> linker().pollOffloads(rig.patience()));
  }

  /**
   * Returns the completions of some loads, in whatever order and how often they come. Fails the
   * rule if one does not come.
   */
  Map<String, Completion> pollLoads(String... ids) {
    Map<String, Completion> completions = new LinkedHashMap<>();
    while (!completions.keySet().containsAll(List.of(ids))) {
      Completion next = pollLoad();
      completions.putIfAbsent(next.id(), next);
    }
    return completions;
  }

  /** Returns the completions of some offloads, as {@link #pollLoads} does those of loads. */
  Map<String, Completion> pollOffloads(String... ids) {
    Map<String, Completion> completions = new LinkedHashMap<>();
    while (!completions.keySet().containsAll(List.of(ids))) {
      Completion next = pollOffload();
      completions.putIfAbsent(next.id(), next);
    }
    return completions;
  }

  private Completion poll(
      String what, Deque<Completion> known, Supplier<List<Completion>> polling) {
    if (known.isEmpty()) {
      known.addAll(polling.get());
    }
    Completion next = known.poll();
    if (next == null) {
      throw new Violation(
          "the completion of " + what + " within " + rig.patience().toSeconds() + " s",
          "poll returned nothing");
    }
    return next;
  }

  /** Fails the rule unless a completion is that of the id, and says that all was moved. */
  void expectOk(String id, Completion completion) {
    trial.expectEqual("the id of the next completion", id, completion.id());
    trial.expect(
        completion.ok(), "request " + id + " to complete as moved", () -> describe(completion));
  }

  /** Fails the rule unless the completion of the id says that all was moved. */
  void expectOk(String id, Map<String, Completion> completions) {
    expectOk(id, completionOf(id, completions));
  }

  /** Returns the completion of the id, and fails the rule if it says that all was moved. */
  Completion expectFailed(String id, Map<String, Completion> completions) {
    Completion completion = completionOf(id, completions);
    trial.expect(!completion.ok(), "request " + id + " to complete as failed", () -> "it is ok");
    return completion;
  }

  private static Completion completionOf(String id, Map<String, Completion> completions) {
    Completion completion = completions.get(id);
    if (completion == null) {
      throw new IllegalArgumentException(id + " is none of " + completions.keySet());
    }
    return completion;
  }

  /** Returns a completion in words. */
  static String describe(Completion completion) {
    return completion.ok()
        ? completion.id() + ": ok"
        : completion.id()
            + ": failed with "
            + completion.failures().stream()
                .map(
                    each ->
                        each.pool()
                            + "/"
                            + each.page()
                            + ": "
                            + each.cause().code()
                            + " ("
                            + each.cause().message()
                            + ")")
                .toList();
  }

  /** Closes the linker. Fails the rule if that does not come back, or guard bytes were written. */
  void close() {
    ObservedLinker open = linker;
    if (open != null) {
      trial.await(
          "close of the linker",
          trial.start(
              "close",
              () -> {
                open.close();
                return Boolean.TRUE;
              }));
    }
    expectGuardsIntact();
  }
}
