package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.direct.FaultyStore.Odds;
import io.unifiedcache.linker.direct.GuardedPools.PoolPage;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One life of a linker over a store that goes wrong: random calls of an engine, beside a model that
 * knows for each what may and what must come of it.
 *
 * <p>What the model holds against the linker is listed in {@code docs/stress.md}. The calls follow
 * from the seed; how threads interleave does not.
 */
final class Soak implements FaultyStore.Witness {
  private static final int LAYERS = 3;
  private static final int SLOTS = 28;
  private static final int PROMPTS = 4;
  private static final int PROMPT_PAGES = 6;
  private static final int WINDOW = 2;
  private static final Duration LONG = Duration.ofSeconds(20);

  /** A load or an offload, as the model knows it. */
  private static final class Request {
    final String id;
    final Map<PoolName, List<PageKey>> pages;
    final List<Long> slots;
    final CompletableFuture<String> ready;
    final int submitted;

    /** The loads of the same batch; empty until started. */
    volatile List<Request> mates = List.of();

    volatile boolean mustFail;
    volatile boolean mayFail;
    boolean answered;
    boolean ok;

    Request(
        String id,
        Map<PoolName, List<PageKey>> pages,
        List<Long> slots,
        CompletableFuture<String> ready,
        int submitted) {
      this.id = id;
      this.pages = pages;
      this.slots = slots;
      this.ready = ready;
      this.submitted = submitted;
    }

    boolean has(PageKey page) {
      return pages.values().stream().anyMatch(each -> each.contains(page));
    }

    TransferRequest request() {
      return new TransferRequest(
          id,
          pages.entrySet().stream()
              .map(
                  each ->
                      new PoolTransfer(
                          each.getKey(),
                          each.getValue(),
                          Slots.of(
                              slots.stream()
                                  .limit(each.getValue().size())
                                  .mapToLong(slot -> slot)
                                  .toArray())))
              .toList(),
          ready);
    }
  }

  private record Started(LoadBatch batch, List<Request> loads) {}

  private record Quarantine(List<Long> slots, CompletionStage<?> released) {}

  private final SplittableRandom random;
  private final boolean swa;
  private final boolean hasty;
  private final boolean evicts;
  private final CacheStore below;
  private final FaultyStore store;
  private final GuardedPools pools;
  private final CacheLinker linker;
  private final String name;
  private final List<PageKey> universe;
  private final Map<ObjectKey, PoolPage> objects;

  private final List<Long> free = new ArrayList<>();
  private final List<Quarantine> quarantines = new ArrayList<>();

  /** Whose a slot is; written by the engine, read by all threads. */
  private final Map<Long, Request> owners = new ConcurrentHashMap<>();

  private final Map<String, Request> queued = new LinkedHashMap<>();
  private final Deque<Request> started = new ArrayDeque<>();
  private final Deque<Request> offloading = new ArrayDeque<>();

  /** All requests without an answer, for other threads. */
  private final Set<Request> open = new CopyOnWriteArraySet<>();

  private final List<Started> batches = new ArrayList<>();

  /** Pages that the linker must not offer, and pages that it must not hide. */
  private final Set<PoolPage> suspects = new HashSet<>();

  private final Set<PoolPage> trusted = new HashSet<>();
  private final Map<PageKey, Integer> offloadedAt = new HashMap<>();
  private final Map<PageKey, Integer> loadedAt = new HashMap<>();

  /** When an offload of the page last ended: it may have removed what another one found. */
  private final Map<PageKey, Integer> offloadEndedAt = new HashMap<>();

  private final Map<ObjectKey, Integer> lostAt = new HashMap<>();
  private final Set<ObjectKey> lookedUp = new HashSet<>();
  private final ConcurrentLinkedQueue<String> wrongs = new ConcurrentLinkedQueue<>();
  private int step;
  private int loadsStarted;
  private int loadsOk;
  private int offloads;

  /** What the lives so far came to. */
  static final class Tally {
    long lives;
    long steps;
    long loads;
    long loadsOk;
    long offloads;
    long cancels;
    long resets;
    long quarantines;
    long lookups;

    @Override
    public String toString() {
      return ("%d lives, %d steps, %d lookups, %d loads started, %d loaded, %d offloads, %d"
              + " cancelled while queued, %d resets, %d with quarantine")
          .formatted(lives, steps, lookups, loads, loadsOk, offloads, cancels, resets, quarantines);
    }
  }

  private final Tally tally;

  /**
   * Lives one life.
   *
   * @param below the store, which the linker closes
   * @param evicts whether the store may drop objects by itself
   */
  static void live(long seed, CacheStore below, boolean evicts, Tally tally) {
    Soak soak = new Soak(seed, below, evicts, tally);
    try {
      soak.live();
    } catch (Throwable problem) {
      throw new AssertionError(
          "the life of seed %d went wrong at step %d; %s".formatted(seed, soak.step, soak.wrongs),
          problem);
    }
  }

  private Soak(long seed, CacheStore below, boolean evicts, Tally tally) {
    random = new SplittableRandom(seed);
    this.below = below;
    this.evicts = evicts;
    this.tally = tally;
    swa = random.nextBoolean();
    hasty = random.nextInt(3) == 0;
    name = "soak-" + Long.toHexString(seed);
    Odds odds =
        random.nextInt(5) == 0
            ? Odds.NONE
            : new Odds(
                random.nextInt(12), random.nextInt(24), random.nextInt(600), random.nextInt(200));
    int batch = random.nextBoolean() ? Integer.MAX_VALUE : 3 + random.nextInt(10);
    store = new FaultyStore(below, seed, odds, batch, this);
    pools = new GuardedPools(LAYERS, SLOTS, swa);
    universe =
        IntStream.range(0, PROMPTS * PROMPT_PAGES).mapToObj(i -> new PageKey("p" + i)).toList();
    objects = pools.objects(universe);
    for (long slot = 0; slot < SLOTS; slot++) {
      free.add(slot);
    }
    trusted.addAll(objects.values());
    linker =
        DirectLinker.open(
            store,
            /* ownsStore= */ true,
            pools.layout,
            pools.pools,
            RankMember.alone(pools.pools),
            options(),
            MonotonicClock.SYSTEM,
            name);
  }

  private LinkerOptions options() {
    boolean ranges = below.capabilities().contains(Capability.RANGED_READ);
    Map<String, String> texts =
        Map.of(
            "linker.load-path",
            ranges && random.nextBoolean() ? "layers" : "pages",
            "linker.close-timeout",
            hasty ? "3ms" : "20s",
            // Faults come at random, also to every object of some questions in a row.
            "linker.outage-failures",
            "0",
            "linker.offload-threads",
            String.valueOf(1 + random.nextInt(3)));
    Settings.Builder settings = Settings.builder(LinkerOptions.options());
    for (Option<?> option : LinkerOptions.options()) {
      String text = texts.get(option.name());
      if (text != null) {
        settings.parse(option, text);
      }
    }
    return LinkerOptions.from(settings.build());
  }

  private void live() throws InterruptedException {
    int steps = 50 + random.nextInt(250);
    while (step < steps) {
      step();
      step++;
      requireNoWrong();
    }
    boolean closeUnderLoad = random.nextInt(3) == 0;
    if (!closeUnderLoad) {
      quiesce();
      Leftovers.awaitNone(linker);
    }
    close();
    tally.lives++;
    tally.steps += step;
    tally.loads += loadsStarted;
    tally.loadsOk += loadsOk;
    tally.offloads += offloads;
  }

  private void requireNoWrong() {
    if (!wrongs.isEmpty()) {
      throw new AssertionError(wrongs.toString());
    }
    if (step % 16 == 0) {
      requireGuards();
    }
  }

  private void requireGuards() {
    assertThat(pools.guardsAreIntact()).as("guard bytes").isTrue();
  }

  private void step() {
    recoverQuarantined();
    switch (random.nextInt(24)) {
      case 0, 1, 2 -> lookup();
      case 3, 4, 5, 6 -> load();
      case 7, 8, 9 -> start();
      case 10, 11 -> awaitLayer();
      case 12, 13 -> pollLoads(pause());
      case 14, 15, 16 -> offload();
      case 17, 18 -> pollOffloads(pause());
      case 19 -> cancel();
      case 20 -> lose();
      case 21 -> {
        if (random.nextBoolean()) {
          store.releaseOne();
        } else {
          store.openGates();
          store.closeGates();
        }
      }
      case 22 -> becomeReady();
      default -> {
        if (random.nextInt(8) == 0) {
          reset();
        }
      }
    }
  }

  private Duration pause() {
    return Duration.ofNanos(random.nextInt(4) == 0 ? random.nextInt(300_000) : 0);
  }

  // What the engine does.

  private List<PageKey> prompt() {
    int first = random.nextInt(PROMPTS) * PROMPT_PAGES;
    return universe.subList(first, first + PROMPT_PAGES);
  }

  private void lookup() {
    tally.lookups++;
    List<PageKey> pages = prompt();
    List<PoolQuery> queries =
        pools.pools.sources().stream()
            .map(
                source ->
                    source.equals(PoolName.KV)
                        ? PoolQuery.allPages(source)
                        : PoolQuery.trailingPages(source, WINDOW))
            .toList();
    lookedUp.clear();
    RestorablePrefixes found = linker.lookup(pages, queries).restorable();
    BitSet most = restorable(pages, page -> !suspects.contains(page));
    BitSet least = restorable(pages, trusted::contains);
    BitSet beyond = found.toBits();
    beyond.andNot(most);
    assertThat(beyond.isEmpty())
        .as("lookup of %s gave %s, but at most %s is there", pages, found, most)
        .isTrue();
    least.andNot(found.toBits());
    assertThat(least.isEmpty())
        .as(
            "lookup of %s gave %s, but lacks %s, which is there and no suspect",
            pages, found, least)
        .isTrue();
  }

  private interface Condition {
    boolean holds(PoolPage page);
  }

  /** Returns the restorable lengths less 1, by their definition. */
  private BitSet restorable(List<PageKey> pages, Condition condition) {
    BitSet lengths = new BitSet();
    for (int length = 1; length <= pages.size(); length++) {
      boolean all = true;
      for (int i = 0; i < length; i++) {
        all &= has(PoolName.KV, pages.get(i), condition);
        if (swa && i >= length - WINDOW) {
          all &= has(GuardedPools.SWA, pages.get(i), condition);
        }
      }
      lengths.set(length - 1, all);
    }
    return lengths;
  }

  private boolean has(PoolName pool, PageKey page, Condition condition) {
    PoolPage poolPage = new PoolPage(pool, page);
    return condition.holds(poolPage)
        && objects.entrySet().stream()
            .allMatch(
                each -> !each.getValue().equals(poolPage) || lookedUp.contains(each.getKey()));
  }

  private @Nullable Request request(String id) {
    int count = 1 + random.nextInt(4);
    if (free.size() < count) {
      return null;
    }
    List<PageKey> prompt = prompt();
    int from = random.nextInt(3) == 0 ? random.nextInt(PROMPT_PAGES - count + 1) : 0;
    Map<PoolName, List<PageKey>> pages = new LinkedHashMap<>();
    for (PoolName source : pools.pools.sources()) {
      pages.put(source, prompt.subList(from, from + count));
    }
    if (swa && random.nextInt(4) == 0) {
      pages.remove(random.nextBoolean() ? PoolName.KV : GuardedPools.SWA);
    }
    List<Long> slots = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      slots.add(free.remove(random.nextInt(free.size())));
    }
    CompletableFuture<String> ready = new CompletableFuture<>();
    Request request = new Request(id, pages, slots, ready, step);
    slots.forEach(slot -> owners.put(slot, request));
    open.add(request);
    return request;
  }

  private void load() {
    String id = "load-" + random.nextInt(12);
    boolean taken = queued.containsKey(id) || started.stream().anyMatch(each -> each.id.equals(id));
    Request load = request(id);
    if (load == null) {
      return;
    }
    if (random.nextInt(4) > 0) {
      load.ready.complete("free");
    }
    load.slots.forEach(slot -> poison(slot));
    try {
      linker.load(load.request());
      assertThat(taken).as("id %s was taken", id).isFalse();
      queued.put(id, load);
    } catch (IllegalArgumentException e) {
      assertThat(taken).as("load %s was refused: %s", id, e).isTrue();
      answer(load);
    }
  }

  private void start() {
    List<Request> ready = queued.values().stream().filter(each -> each.ready.isDone()).toList();
    ready.forEach(
        load -> {
          load.mates = ready;
          touch(loadedAt, load);
          trusted.removeIf(page -> load.has(page.page()));
        });
    LoadBatch batch = linker.startLayerWiseLoading();
    assertThat(batch.requests()).isEqualTo(ready.stream().map(each -> each.id).toList());
    ready.forEach(
        load -> {
          queued.remove(load.id);
          started.add(load);
        });
    loadsStarted += ready.size();
    batches.add(new Started(batch, ready));
  }

  private void awaitLayer() {
    if (batches.isEmpty()) {
      return;
    }
    Started of = batches.get(random.nextInt(batches.size()));
    int layer = random.nextInt(LAYERS);
    boolean patient = random.nextInt(3) > 0;
    if (patient) {
      store.openGates();
    }
    try {
      LayerProgress progress = of.batch().awaitLayer(layer, patient ? LONG : pause().plusNanos(1));
      for (Request load : of.loads()) {
        if (progress.failed().containsKey(load.id)) {
          mustFail(load);
        } else if (!load.answered) {
          requireBytes(load, layer);
        }
      }
    } catch (CacheException e) {
      of.loads().forEach(this::mustFail);
    } finally {
      store.closeGates();
    }
  }

  private void mustFail(Request load) {
    assertThat(load.answered && load.ok).as("%s completed ok, and failed", load.id).isFalse();
    load.mustFail = true;
  }

  private void requireBytes(Request load, int layer) {
    load.pages.forEach(
        (source, pages) -> {
          for (int i = 0; i < pages.size(); i++) {
            assertThat(pools.holds(source, pages.get(i), load.slots.get(i), layer))
                .as("layer %d of %s of %s", layer, pages.get(i), load.id)
                .isTrue();
          }
        });
  }

  private void pollLoads(Duration atMost) {
    for (Completion completion : linker.pollLoads(atMost)) {
      Request load = started.removeFirst();
      assertThat(completion.id()).as("order of completions").isEqualTo(load.id);
      loadEnded(load, completion);
    }
  }

  private void loadEnded(Request load, Completion completion) {
    load.ok = completion.ok();
    if (load.ok) {
      loadsOk++;
      assertThat(load.mustFail).as("%s completed ok, but had failed", load.id).isFalse();
      requireBytes(load, LAYERS - 1);
    } else {
      assertThat(load.mustFail || load.mayFail)
          .as("%s failed for no reason: %s", load.id, completion)
          .isTrue();
    }
    requireFailuresOf(load, completion);
    for (PageFailure failure : completion.failures()) {
      boolean suspect =
          !EnumSet.of(FailureCode.CLOSED, FailureCode.CANCELLED, FailureCode.REFUSED)
              .contains(failure.cause().code());
      if (suspect && !offloadedSince(failure.page(), load.submitted)) {
        suspects.add(new PoolPage(failure.pool(), failure.page()));
      }
    }
    touch(loadedAt, load);
    answer(load);
  }

  /** Notes that a request is at work on its pages at this step. */
  private void touch(Map<PageKey, Integer> at, Request request) {
    for (PageKey page : universe) {
      if (request.has(page)) {
        at.merge(page, step, Math::max);
      }
    }
  }

  private boolean offloadedSince(PageKey page, int since) {
    return offloadedAt.getOrDefault(page, -1) >= since
        || offloading.stream().anyMatch(each -> each.has(page));
  }

  private static void requireFailuresOf(Request request, Completion completion) {
    for (PageFailure failure : completion.failures()) {
      assertThat(request.pages.get(failure.pool()))
          .as("pages of %s in pool %s", request.id, failure.pool())
          .contains(failure.page());
      assertThat(failure.cause().code()).isNotEqualTo(FailureCode.OTHER_RANK);
    }
  }

  /** Gives the slots back, which nothing may touch any more. */
  private void answer(Request request) {
    requireAnsweredOnce(request);
    for (Memory memory : store.inUse()) {
      if (!pools.have(memory)) {
        continue;
      }
      assertThat(request.slots)
          .as("slots of %s, which are still in use", request.id)
          .doesNotContain(pools.place(memory).slot());
    }
    request.slots.forEach(this::giveBack);
  }

  private void requireAnsweredOnce(Request request) {
    assertThat(request.answered).as("%s was answered twice", request.id).isFalse();
    request.answered = true;
    open.remove(request);
  }

  private void giveBack(long slot) {
    owners.remove(slot);
    poison(slot);
    free.add(slot);
  }

  private void poison(long slot) {
    pools.pools.sources().forEach(source -> pools.poison(source, slot));
  }

  private void offload() {
    String id = "offload-" + random.nextInt(12);
    boolean taken = offloading.stream().anyMatch(each -> each.id.equals(id));
    Request offload = request(id);
    if (offload == null) {
      return;
    }
    boolean now = random.nextInt(4) > 0;
    if (now) {
      compute(offload);
      offload.ready.complete("computed");
    }
    touch(offloadedAt, offload);
    suspects.removeIf(each -> offload.has(each.page()));
    try {
      linker.offload(offload.request());
      assertThat(taken).as("id %s was taken", id).isFalse();
      offloading.add(offload);
      offloads++;
    } catch (IllegalArgumentException e) {
      assertThat(taken).as("offload %s was refused: %s", id, e).isTrue();
      answer(offload);
    }
  }

  private void compute(Request offload) {
    offload.pages.forEach(
        (source, pages) -> {
          for (int i = 0; i < pages.size(); i++) {
            pools.fill(source, pages.get(i), offload.slots.get(i));
          }
        });
  }

  private void pollOffloads(Duration atMost) {
    for (Completion completion : linker.pollOffloads(atMost)) {
      Request offload = offloading.removeFirst();
      assertThat(completion.id()).as("order of completions").isEqualTo(offload.id);
      offloadEnded(offload, completion);
    }
  }

  private void offloadEnded(Request offload, Completion completion) {
    offload.ok = completion.ok();
    assertThat(offload.ok || offload.mayFail)
        .as("%s failed for no reason: %s", offload.id, completion)
        .isTrue();
    requireFailuresOf(offload, completion);
    Set<PoolPage> failed =
        completion.failures().stream()
            .map(failure -> new PoolPage(failure.pool(), failure.page()))
            .collect(Collectors.toSet());
    offload.pages.forEach(
        (source, pages) -> {
          for (PageKey page : pages) {
            PoolPage stored = new PoolPage(source, page);
            if (failed.contains(stored)) {
              continue;
            }
            requireStored(offload, stored);
            boolean loading =
                loadedAt.getOrDefault(page, -1) >= offload.submitted
                    || started.stream().anyMatch(each -> each.has(page));
            if (!loading) {
              trusted.add(stored);
            }
          }
        });
    touch(offloadedAt, offload);
    touch(offloadEndedAt, offload);
    answer(offload);
  }

  private void requireStored(Request offload, PoolPage stored) {
    if (evicts
        || offloading.stream().anyMatch(each -> each.has(stored.page()))
        || offloadEndedAt.getOrDefault(stored.page(), -1) >= offload.submitted) {
      return;
    }
    objects.forEach(
        (key, poolPage) -> {
          if (poolPage.equals(stored) && lostAt.getOrDefault(key, -1) < offload.submitted) {
            assertThat(below.exists(List.of(key), Deadline.never()).isOk(0))
                .as("%s of %s, which completed", key, offload.id)
                .isTrue();
          }
        });
  }

  private void cancel() {
    String id = "load-" + random.nextInt(14);
    CancelOutcome outcome = linker.cancel(id);
    Request waiting = queued.remove(id);
    if (waiting != null) {
      assertThat(outcome).isEqualTo(CancelOutcome.CANCELLED_QUEUED);
      tally.cancels++;
      answer(waiting);
    } else if (started.stream().anyMatch(each -> each.id.equals(id))) {
      assertThat(outcome).isIn(CancelOutcome.RUNNING, CancelOutcome.FINISHED);
    } else {
      assertThat(outcome).isEqualTo(CancelOutcome.UNKNOWN);
    }
  }

  private void lose() {
    List<ObjectKey> keys = List.copyOf(objects.keySet());
    ObjectKey key = keys.get(random.nextInt(keys.size()));
    lostAt.put(key, step);
    var unused = below.remove(List.of(key), /* evenIfLeased= */ true, Deadline.never());
  }

  private void becomeReady() {
    for (Request request : Stream.concat(queued.values().stream(), offloading.stream()).toList()) {
      if (!request.ready.isDone()) {
        if (random.nextInt(5) == 0) {
          request.mayFail = true;
          request.mustFail = true;
          request.ready.completeExceptionally(new IllegalStateException("never ready"));
        } else {
          if (!queued.containsValue(request)) {
            compute(request);
          }
          request.ready.complete("ready");
        }
        return;
      }
    }
  }

  private void reset() {
    tally.resets++;
    List<Request> loading = Stream.concat(started.stream(), queued.values().stream()).toList();
    List<Request> saving = List.copyOf(offloading);
    Set<Request> never = Set.copyOf(queued.values());
    Stream.concat(loading.stream(), saving.stream()).forEach(each -> each.mayFail = true);
    // All of them have been at work side by side.
    started.forEach(each -> touch(loadedAt, each));
    saving.forEach(each -> touch(offloadedAt, each));
    saving.forEach(each -> touch(offloadEndedAt, each));
    Drained drained = hasty ? linker.reset() : resetPatiently();
    assertThat(drained.loads().stream().map(Completion::id))
        .isEqualTo(loading.stream().map(each -> each.id).toList());
    assertThat(drained.offloads().stream().map(Completion::id))
        .isEqualTo(saving.stream().map(each -> each.id).toList());
    assertThat(linker.pollLoads(Duration.ZERO)).isEmpty();
    assertThat(linker.pollOffloads(Duration.ZERO)).isEmpty();
    started.clear();
    queued.clear();
    offloading.clear();
    Set<Long> untouchable =
        drained.quarantined().stream()
            .map(memory -> pools.place(memory).slot())
            .collect(Collectors.toSet());
    if (!untouchable.isEmpty()) {
      tally.quarantines++;
    }
    assertThat(hasty || untouchable.isEmpty()).isTrue();
    List<Completion> ends =
        Stream.concat(drained.loads().stream(), drained.offloads().stream()).toList();
    List<Request> ended = Stream.concat(loading.stream(), saving.stream()).toList();
    for (int i = 0; i < ended.size(); i++) {
      Request request = ended.get(i);
      if (request.slots.stream().noneMatch(untouchable::contains)) {
        if (i < loading.size()) {
          loadEnded(request, ends.get(i));
        } else {
          offloadEnded(request, ends.get(i));
        }
      } else {
        assertThat(never).doesNotContain(request);
        assertThat(untouchable).containsAll(request.slots);
        assertThat(ends.get(i).ok()).as("%s, whose memory is in use", request.id).isFalse();
        for (PageKey page : universe) {
          if (request.has(page)) {
            // What it comes to in the end is not told.
            forget(page);
          }
        }
        requireAnsweredOnce(request);
        quarantines.add(new Quarantine(request.slots, drained.released()));
      }
    }
  }

  private void forget(PageKey page) {
    suspects.removeIf(each -> each.page().equals(page));
    trusted.removeIf(each -> each.page().equals(page));
    offloadedAt.put(page, Integer.MAX_VALUE);
    offloadEndedAt.put(page, Integer.MAX_VALUE);
    loadedAt.put(page, Integer.MAX_VALUE);
  }

  private Drained resetPatiently() {
    try (Releasing _ = new Releasing()) {
      return linker.reset();
    }
  }

  /** Lets everything go for as long as it is open. */
  private final class Releasing implements AutoCloseable {
    private volatile boolean ended;
    private final Thread thread;

    Releasing() {
      store.openGates();
      thread =
          Thread.ofVirtual()
              .start(
                  () -> {
                    while (!ended) {
                      store.releaseAll();
                      Thread.onSpinWait();
                    }
                  });
    }

    @Override
    public void close() {
      ended = true;
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      store.closeGates();
    }
  }

  private void recoverQuarantined() {
    quarantines.removeIf(
        quarantine -> {
          boolean released = quarantine.released().toCompletableFuture().isDone();
          if (released) {
            quarantine.slots().forEach(this::giveBack);
          }
          return released;
        });
  }

  /** Waits for everything, and requires that it ends. */
  private void quiesce() {
    Deadline by = Deadline.after(LONG);
    try (Releasing _ = new Releasing()) {
      while (!open.isEmpty() || !quarantines.isEmpty()) {
        becomeReady();
        start();
        pollLoads(Duration.ofMillis(2));
        pollOffloads(Duration.ofMillis(2));
        recoverQuarantined();
        if (by.hasPassed()) {
          throw new AssertionError("still open: " + open.stream().map(each -> each.id).toList());
        }
      }
    }
    assertThat(free).hasSize(SLOTS);
    LinkerStats stats = linker.stats();
    assertThat(stats.loads() + stats.failedLoads()).as("loads counted").isEqualTo(loadsStarted);
    assertThat(stats.offloads() + stats.failedOffloads()).as("offloads").isEqualTo(offloads);
    assertThat(stats.loads()).isGreaterThanOrEqualTo(loadsOk);
  }

  private void close() throws InterruptedException {
    if (hasty) {
      linker.close();
      store.openGates();
    } else {
      try (Releasing _ = new Releasing()) {
        linker.close();
      }
      assertThat(store.registrations).hasValue(0);
    }
    store.openGates();
    for (Thread thread : threads(name)) {
      thread.join(LONG);
      assertThat(thread.isAlive()).as("%s", thread).isFalse();
    }
    store.releaseAll();
    assertThat(store.openSessions).hasValue(0);
    for (Started each : batches) {
      // No wait outlives the linker: it returns or throws at once.
      try {
        var unused = each.batch().awaitLayer(LAYERS - 1, LONG);
      } catch (CacheException e) {
        assertThat(e).hasMessageNotContaining(LONG.toString());
      }
    }
    requireNoWrong();
    requireGuards();
    pools.close();
  }

  /** Returns the living threads of a linker. */
  static Collection<Thread> threads(String instance) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith(instance + "-"))
        .toList();
  }

  // What the store's calls say, on their threads.

  private void each(Step step, Collection<ObjectKey> keys, Consumer<Request> action) {
    boolean load = step == Step.OPEN || step == Step.READ || step == Step.GET;
    Set<PageKey> pages = new HashSet<>();
    keys.forEach(key -> pages.add(pageOf(key)));
    for (Request request : open) {
      boolean isLoad = request.id.startsWith("load");
      if (isLoad == load && (!isLoad || !request.mates.isEmpty())) {
        if (pages.stream().anyMatch(request::has)) {
          action.accept(request);
        }
      }
    }
  }

  /** Returns whether the calling thread is one that offloads. */
  private static boolean isOfOffload() {
    return Thread.currentThread().getName().contains("-offload-");
  }

  private PageKey pageOf(ObjectKey key) {
    PoolPage page = objects.get(key);
    if (page == null) {
      throw new AssertionError("unknown object " + key);
    }
    return page.page();
  }

  @Override
  public void begins(Step step, List<Memory> memory) {
    boolean read = step == Step.READ || step == Step.GET;
    if (read && isOfOffload() && memory.stream().noneMatch(pools::have)) {
      // An offload looks whether an object is still bad.
      return;
    }
    for (Memory each : memory) {
      Request owner = owners.get(pools.place(each).slot());
      if (owner == null
          || owner.id.startsWith("load") != read
          || !owner.ready.isDone()
          || (read && owner.mates.isEmpty())) {
        wronged(step + " touches slot " + pools.place(each).slot() + ", which is not its own");
      }
    }
  }

  @Override
  public void lookedUp(List<ObjectKey> keys, BatchResult result) {
    if (result.size() == keys.size()) {
      for (int i = 0; i < keys.size(); i++) {
        if (result.isOk(i)) {
          lookedUp.add(keys.get(i));
        }
      }
    }
  }

  @Override
  public void failed(Step step, ObjectKey key, List<Memory> memory) {
    if (isOfOffload()) {
      each(Step.PUT, List.of(key), request -> request.mayFail = true);
    } else if (step == Step.READ || step == Step.GET) {
      for (Memory each : memory) {
        Request owner = owners.get(pools.place(each).slot());
        if (owner != null) {
          owner.mustFail = true;
        }
      }
    } else {
      each(step, List.of(key), request -> request.mayFail = true);
    }
  }

  @Override
  public void broke(Step step, List<ObjectKey> keys, List<Memory> memory) {
    if (isOfOffload()) {
      each(Step.PUT, keys, request -> request.mayFail = true);
    } else if (step == Step.READ || step == Step.GET) {
      for (Memory each : memory) {
        Request owner = owners.get(pools.place(each).slot());
        if (owner != null) {
          owner.mates.forEach(mate -> mate.mustFail = true);
        }
      }
    } else {
      each(
          step,
          keys,
          request -> {
            request.mayFail = true;
            request.mates.forEach(mate -> mate.mayFail = true);
          });
    }
  }

  @Override
  public void wronged(String what) {
    wrongs.add(what);
  }
}
