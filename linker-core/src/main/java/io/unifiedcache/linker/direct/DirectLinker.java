package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.observe.LookupEvent;
import io.unifiedcache.linker.restore.AskedPool;
import io.unifiedcache.linker.restore.PrefixLookup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The {@link CacheLinker} that moves pages straight between an engine's pools and a store.
 *
 * <p>One thread loads, batch after batch; others offload. See the package for how data flows.
 */
public final class DirectLinker implements CacheLinker {
  private static final Logger LOG = LoggerFactory.getLogger(DirectLinker.class);
  private static final StoreFailure NOTHING_TO_LOAD =
      StoreFailure.of(FailureCode.INTERNAL, "the batch is empty");

  /** How long close waits for the store to close at least. */
  private static final Duration STORE_CLOSE = Duration.ofSeconds(1);

  private final String instance;

  /**
   * Of the store, or of what stands in for it until it is open; each operation uses one of them.
   */
  private volatile StoreAccess access;

  private final StoreStart start;
  private final StoreProbe probe;
  private final boolean ownsStore;
  private final List<PageObjects> pools;
  private final Set<PoolName> sources;
  private final int layers;
  private final boolean rankReplicated;
  private final boolean owner;
  private final Agreement agreement;
  private final LayerLoadCounter counter;
  private final Ledger loads = new Ledger("loads", this::loadAgreed);
  private final Ledger offloads = new Ledger("offloads", new OffloadVerdicts());
  private final Threads threads;

  /**
   * Loads that have not started, by id in the order they came. Its monitor guards the passage of a
   * transfer from one place to the next, so that whoever ends everything misses none.
   */
  private final Map<String, Transfer> queued = new LinkedHashMap<>();

  private final SlotClaims claims = new SlotClaims();

  /** Why the last lookup failed, if it did; used by the engine's thread. */
  private @Nullable StoreFailure told;

  private final AtomicBoolean closed = new AtomicBoolean();
  private final CountDownLatch closeDone = new CountDownLatch(1);

  private DirectLinker(
      StoreAccess access,
      StoreStart start,
      boolean ownsStore,
      DevicePools pools,
      List<PageObjects> objects,
      RankMember member,
      Threads threads) {
    this.instance = access.instance();
    this.access = access;
    this.start = start;
    this.probe = new StoreProbe(access.instance());
    this.ownsStore = ownsStore;
    this.pools = objects;
    this.sources = member.sources();
    this.layers = pools.layers();
    this.rankReplicated = pools.rankReplicated();
    this.owner = member.owner();
    this.agreement = new Agreement(member.collective(), Agreement.patience(access.options()));
    this.counter = new LayerLoadCounter(layers);
    this.threads = threads;
  }

  /** The threads of a linker, which begin when it opens and end when it closes. */
  private record Threads(Workers load, Workers offload, Workers lookup) {
    static Threads start(String instance, LinkerOptions options) {
      List<Workers> started = new ArrayList<>();
      try {
        started.add(start(1, instance + "-load-"));
        started.add(start(options.offloadThreads(), instance + "-offload-"));
        started.add(start(Outage.THREADS, instance + "-lookup-"));
        return new Threads(started.get(0), started.get(1), started.get(2));
      } catch (CacheException e) {
        started.forEach(Workers::end);
        throw e;
      }
    }

    private static Workers start(int count, String name) {
      return Workers.start(count, Thread.ofPlatform().daemon().name(name, 0).factory());
    }

    void end() {
      load.end();
      offload.end();
      lookup.end();
    }
  }

  /**
   * Opens a linker.
   *
   * @param ownsStore whether close closes the store
   * @throws IllegalArgumentException if the key layout has no names for a pool's components, or the
   *     pools do not fit the limits of the store
   * @throws CacheException if the store lacks what the pools or options need (rule {@code
   *     linker.device-memory}), or does not register the pools' memory; the store is left open
   */
  public static CacheLinker open(
      CacheStore store,
      boolean ownsStore,
      KeyLayout layout,
      DevicePools pools,
      RankMember member,
      LinkerOptions options,
      MonotonicClock clock,
      String instance) {
    List<PageObjects> objects = objects(pools, layout);
    StoreStart start = StoreStart.none(options, instance);
    Threads threads = Threads.start(instance, options);
    try {
      StoreAccess none = access(start.unopened(), layout, options, clock, instance, threads);
      StoreAccess access = none.to(store, new StoreNeeds(pools, options.loadPath()));
      return new DirectLinker(access, start, ownsStore, pools, objects, member, threads);
    } catch (RuntimeException | Error e) {
      threads.end();
      throw e;
    }
  }

  /**
   * Opens a linker and its store, which it closes, as the start policy says (rule {@code
   * linker.start-policy}).
   *
   * @throws IllegalArgumentException if the key layout has no names for a pool's components, or the
   *     pools do not fit the limits of the store that the first try opened
   * @throws CacheException with code {@code REFUSED} if a store of that source lacks what the pools
   *     or options need (rule {@code linker.device-memory}), or the source refuses the settings;
   *     whatever the policy. If it is to fail fast, also as the store could not be opened, with
   *     code {@code TIMEOUT} if it was not by the start timeout
   */
  public static CacheLinker open(
      StoreSource source,
      KeyLayout layout,
      DevicePools pools,
      RankMember member,
      LinkerOptions options,
      MonotonicClock clock,
      String instance) {
    StoreStart start = new StoreStart(source.opening(), options, instance);
    return open(start, source, layout, pools, member, options, clock, instance);
  }

  /** Opens a linker whose store is opened by a start that a test brings. */
  static CacheLinker open(
      StoreStart start,
      StoreSource source,
      KeyLayout layout,
      DevicePools pools,
      RankMember member,
      LinkerOptions options,
      MonotonicClock clock,
      String instance) {
    StoreNeeds needs = new StoreNeeds(pools, options.loadPath());
    needs.requireOffered(source.capabilities());
    List<PageObjects> objects = objects(pools, layout);
    Threads threads = Threads.start(instance, options);
    StoreAccess none = access(start.unopened(), layout, options, clock, instance, threads);
    try {
      DirectLinker linker =
          new DirectLinker(none, start, /* ownsStore= */ true, pools, objects, member, threads);
      start.begin(store -> none.to(store, needs), opened -> linker.access = opened);
      return linker;
    } catch (RuntimeException | Error e) {
      threads.end();
      throw e;
    }
  }

  private static List<PageObjects> objects(DevicePools pools, KeyLayout layout) {
    List<PageObjects> objects = new ArrayList<>();
    for (DevicePool pool : pools.pools()) {
      objects.add(new PageObjects(pool, layout.templates(pool), pools.layers()));
    }
    return List.copyOf(objects);
  }

  private static StoreAccess access(
      UnopenedStore store,
      KeyLayout layout,
      LinkerOptions options,
      MonotonicClock clock,
      String instance,
      Threads threads) {
    Counters counters = new Counters();
    return new StoreAccess(
        instance,
        store,
        /* byLayers= */ false,
        /* registrations= */ List.of(),
        layout,
        options,
        new SuspectObjects(options.suspectExpiry(), clock),
        counters,
        new Outage(instance, store, threads.lookup(), options, counters, clock),
        clock);
  }

  @Override
  public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> queries) {
    requireOpen();
    List<AskedPool> asked = asked(queries);
    if (pages.isEmpty()) {
      return new PoolTransferResult(RestorablePrefixes.none(), Map.of());
    }
    LookupEvent event = LookupEvent.begin(instance);
    StoreAccess access = this.access;
    Deadline by = Deadline.after(access.options().lookupTimeout(), access.clock());
    AtomicLong failures = new AtomicLong();
    PrefixLookup lookup =
        new PrefixLookup(
            access.store().limits().batch(),
            access.suspects()::contains,
            keys -> access.outage().exists(keys, by),
            failure -> {
              access.failLookup(failure);
              if (failures.getAndIncrement() == 0) {
                tell(failure);
              }
            });
    PoolTransferResult here = here(lookup, pages, asked);
    requireOpen();
    access.counters().lookup(failures.get());
    if (failures.get() == 0) {
      told = null;
    }
    BitSet everywhere =
        agreement.and(
            () ->
                "lookup of "
                    + pages.size()
                    + " pages from "
                    + pages.getFirst()
                    + " to "
                    + pages.getLast()
                    + " with "
                    + queries,
            here.restorable().toBits(),
            Duration.ZERO);
    RestorablePrefixes restorable = RestorablePrefixes.ofBits(everywhere);
    if (event != null) {
      event.pages = pages.size();
      event.restorable = restorable.longest();
      event.failures = failures.get();
      event.commit();
    }
    return new PoolTransferResult(restorable, here.hits());
  }

  /** Tells of a failure of a lookup, unless it is that of the lookup before. */
  private void tell(StoreFailure failure) {
    if (!failure.equals(told)) {
      told = failure;
      LOG.warn("{}: a lookup is shortened: {}", instance, failure);
    }
  }

  /**
   * Asks for this rank. Whatever goes wrong is a miss, since the other ranks wait for an answer.
   */
  private PoolTransferResult here(PrefixLookup lookup, List<PageKey> pages, List<AskedPool> asked) {
    if (asked.isEmpty()) {
      return new PoolTransferResult(RestorablePrefixes.upTo(pages.size()), Map.of());
    }
    try {
      return lookup.lookup(pages, asked);
    } catch (RuntimeException | Error problem) {
      LOG.error("{}: a lookup failed", instance, problem);
      return new PoolTransferResult(RestorablePrefixes.none(), Map.of());
    }
  }

  private List<AskedPool> asked(List<PoolQuery> queries) {
    Map<PoolName, PoolQuery> bySource = new HashMap<>();
    for (PoolQuery query : queries) {
      requireSource(query.source());
      if (bySource.put(query.source(), query) != null) {
        throw new IllegalArgumentException("source " + query.source() + " has two queries");
      }
    }
    List<AskedPool> asked = new ArrayList<>();
    for (PageObjects objects : pools) {
      PoolQuery query = bySource.get(objects.source());
      if (query == null) {
        throw new IllegalArgumentException(
            "source " + objects.source() + " has no query; the sources are " + sources);
      }
      boolean all = objects.source().equals(PoolName.KV);
      asked.add(
          new AskedPool(
              objects.name(),
              objects.templates(),
              all ? HitPolicy.ALL_PAGES : query.policy(),
              query.window(),
              /* anchor= */ all && objects.name().equals(PoolName.KV)));
    }
    return asked;
  }

  @Override
  public void load(TransferRequest request) {
    requireOpen();
    Transfer transfer = transfer(request);
    synchronized (queued) {
      requireOpen();
      if (queued.containsKey(request.id()) || loads.hasEnded(request.id()).isPresent()) {
        throw new IllegalArgumentException(
            "load " + request.id() + " has no terminal answer yet, so its id is taken");
      }
      claimIfReady(transfer, /* writes= */ true);
      queued.put(request.id(), transfer);
    }
  }

  @Override
  public LoadBatch startLayerWiseLoading() {
    requireOpen();
    List<Transfer> candidates;
    synchronized (queued) {
      candidates = List.copyOf(queued.values());
    }
    BitSet ready = readyEverywhere(candidates);
    List<Transfer> started = ready.stream().mapToObj(candidates::get).toList();
    LayerLoadCounter.Batch batch;
    // In one step, so that what ends everything sees a load either queued or in a batch.
    synchronized (queued) {
      requireOpen();
      batch = counter.begin(started.stream().map(Transfer::id).toList());
      if (started.isEmpty()) {
        var unused = batch.finish(NOTHING_TO_LOAD);
        return batch;
      }
      for (Transfer transfer : started) {
        queued.remove(transfer.id());
        String taken = claims.claim(transfer, /* writes= */ true);
        if (taken != null) {
          transfer.refuse(taken);
        }
        loads.add(transfer);
      }
    }
    if (agreement.isLost()) {
      batch.failAll(agreement.elsewhere());
    }
    BatchLoad load = new BatchLoad(access, pools, layers, started, batch, loads);
    execute(threads.load(), load, load::giveUp);
    return batch;
  }

  /** Has a transfer run, which is given up if that cannot be. */
  private void execute(Workers workers, Runnable transfer, Consumer<StoreFailure> giveUp) {
    StoreFailure why = closedFailure();
    try {
      if (workers.execute(transfer)) {
        return;
      }
    } catch (RuntimeException | Error e) {
      why =
          StoreFailure.of(
              FailureCode.INTERNAL, transfer + " cannot be begun: " + StoreAccess.text(e));
    }
    giveUp.accept(why);
  }

  /** Returns which of the queued loads every rank can start; all of them once a rank is lost. */
  private BitSet readyEverywhere(List<Transfer> candidates) {
    BitSet ready = new BitSet();
    for (int i = 0; i < candidates.size(); i++) {
      ready.set(i, candidates.get(i).isReady());
    }
    if (candidates.isEmpty()) {
      return ready;
    }
    BitSet everywhere =
        agreement.and(
            () -> "start of " + candidates.stream().map(Transfer::subject).toList(),
            ready,
            Duration.ZERO);
    if (agreement.isLost()) {
      everywhere.set(0, candidates.size());
    }
    return everywhere;
  }

  @Override
  public List<Completion> pollLoads(Duration atMost) {
    requireOpen();
    return loads.poll(atMost, agreement);
  }

  @Override
  public void offload(TransferRequest request) {
    requireOpen();
    Transfer transfer = transfer(request);
    synchronized (queued) {
      requireOpen();
      if (offloads.hasEnded(request.id()).isPresent()) {
        throw new IllegalArgumentException(
            "offload " + request.id() + " has no completion yet, so its id is taken");
      }
      claimIfReady(transfer, /* writes= */ false);
      transfer.setReadyTimeout(access.options().readyTimeout());
      offloads.add(transfer);
    }
    transfer.whenReady(
        () -> {
          PageOffload offload =
              new PageOffload(
                  access, transfer, /* owner= */ !rankReplicated || owner, offloads, claims);
          execute(threads.offload(), offload, offload::giveUp);
        });
  }

  /**
   * Gives a request its slots that may touch them at once; one that may not comes back for them.
   */
  private void claimIfReady(Transfer transfer, boolean writes) {
    String taken = transfer.isReady() ? claims.claim(transfer, writes) : null;
    if (taken != null) {
      throw new IllegalArgumentException(taken);
    }
  }

  @Override
  public List<Completion> pollOffloads(Duration atMost) {
    requireOpen();
    return offloads.poll(atMost, agreement);
  }

  /** Makes what another rank found of replicated objects known to this one, which has the same. */
  private void loadAgreed(Transfer transfer, PageVerdicts everywhere) {
    claims.release(transfer);
    if (rankReplicated && !agreement.isLost()) {
      PageVerdicts here = transfer.verdicts();
      BitSet suspectElsewhere = here.unsuspected();
      suspectElsewhere.andNot(everywhere.unsuspected());
      transfer.eachKey(suspectElsewhere, key -> access.suspects().add(key, /* bad= */ false));
      BitSet badElsewhere = here.sound();
      badElsewhere.andNot(everywhere.sound());
      transfer.eachKey(badElsewhere, key -> access.suspects().add(key, /* bad= */ true));
    }
  }

  private final class OffloadVerdicts implements Ledger.Verdicts {
    @Override
    public void agreed(Transfer transfer, PageVerdicts everywhere) {
      claims.release(transfer);
      if (rankReplicated && !owner) {
        transfer.eachKey(everywhere.good(), access.suspects()::clear);
      }
    }

    @Override
    public void overdue(Transfer transfer) {
      if (transfer.giveUp()) {
        StoreFailure cause =
            StoreFailure.of(
                FailureCode.TIMEOUT,
                "what offload %s waits for has not ended within linker.ready-timeout = %s"
                    .formatted(transfer.id(), access.options().readyTimeout()));
        access.failOffload(transfer, cause);
        access.counters().offloaded(/* ok= */ false, 0, 0, 0);
        offloads.end(transfer);
      }
    }
  }

  @Override
  public CancelOutcome cancel(String loadId) {
    requireOpen();
    synchronized (queued) {
      Transfer cancelled = queued.remove(loadId);
      if (cancelled != null) {
        claims.release(cancelled);
        return CancelOutcome.CANCELLED_QUEUED;
      }
    }
    return loads
        .hasEnded(loadId)
        .map(ended -> ended ? CancelOutcome.FINISHED : CancelOutcome.RUNNING)
        .orElse(CancelOutcome.UNKNOWN);
  }

  @Override
  public Drained reset() {
    requireOpen();
    return drain(
        StoreFailure.of(FailureCode.CANCELLED, "the linker was reset"),
        Deadline.after(access.options().closeTimeout()));
  }

  @Override
  public LinkerStats stats() {
    return access.counters().snapshot(access.suspects().size());
  }

  @Override
  public LinkerHealth health(Deadline by) {
    StringBuilder held = new StringBuilder();
    List<Transfer> quarantined = quarantined();
    if (!quarantined.isEmpty()) {
      held.append("; in quarantine is memory that may still be touched by ")
          .append(quarantined.stream().map(Transfer::id).toList());
    }
    if (closed.get()) {
      return new LinkerHealth(LinkerHealth.State.DOWN, "the linker is closed" + held);
    }
    if (agreement.isLost()) {
      return new LinkerHealth(LinkerHealth.State.DOWN, agreement.elsewhere().message() + held);
    }
    StoreFailure away = access.outage().refusal();
    if (away != null) {
      return new LinkerHealth(LinkerHealth.State.DEGRADED, away.message() + held);
    }
    LinkerHealth store = probe.ask(access.store(), by);
    LinkerHealth.State state =
        store.state() == LinkerHealth.State.UP && !held.isEmpty()
            ? LinkerHealth.State.DEGRADED
            : store.state();
    return new LinkerHealth(state, store.detail() + held);
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      awaitOtherClose();
      return;
    }
    Deadline by = Deadline.after(access.options().closeTimeout());
    boolean unused = false;
    agreement.leave(this + " was closed");
    start.stop();
    try {
      loads.close();
      offloads.close();
      access.outage().close();
      Drained drained = drain(closedFailure(), by);
      threads.end();
      unused = drained.quarantined().isEmpty();
      if (!unused) {
        LOG.error(
            "{}: after {} transfers still use {} pieces of memory; they must never be freed: {}",
            instance,
            access.options().closeTimeout(),
            drained.quarantined().size(),
            drained.quarantined());
      }
      if (!start.awaitEnd(by)) {
        LOG.warn(
            "{}: the store is still being opened; it will be closed as soon as it is", instance);
      }
      if (!start.awaitUnlinked(by)) {
        LOG.error("{}: the store still registers the pools; they must never be freed", instance);
      }
    } finally {
      try {
        letGoOfStore(access, unused, by);
      } finally {
        closeDone.countDown();
      }
    }
  }

  /**
   * Takes the pools from the store and closes it, if it belongs to this linker, on a thread that is
   * waited for until the deadline, and for a second at least: a store may take any time.
   *
   * @param unused whether no transfer uses the pools any more
   */
  private void letGoOfStore(StoreAccess access, boolean unused, Deadline by) {
    FutureTask<Boolean> task =
        new FutureTask<>(
            () -> {
              if (unused) {
                for (Throwable problem : access.unregister()) {
                  LOG.warn("{}: unregistering memory failed", instance, problem);
                }
              }
              if (ownsStore) {
                access.store().close();
              }
              return true;
            });
    try {
      Thread.ofPlatform().daemon().name(instance + "-close").start(task);
    } catch (OutOfMemoryError e) {
      LOG.warn("{}: no thread can be started to close the store, which is closed here", instance);
      task.run();
    }
    Deadline leastWait = Deadline.after(STORE_CLOSE);
    boolean interrupted = false;
    while (!task.isDone() && !(by.hasPassed() && leastWait.hasPassed())) {
      try {
        long nanos = Math.max(by.remainingNanos(), leastWait.remainingNanos());
        var unusedResult = task.get(nanos, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      } catch (TimeoutException | ExecutionException e) {
        LOG.debug("{}: the store is closed, or takes too long for that", instance, e);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (!task.isDone()) {
      LOG.error(
          "{}: after {} the store has not let go of the pools, which must not be freed until"
              + " thread {}-close has ended",
          instance,
          access.options().closeTimeout(),
          instance);
    } else if (task.state() == Future.State.FAILED) {
      switch (task.exceptionNow()) {
        case RuntimeException problem -> throw problem;
        case Error problem -> throw problem;
        case Throwable problem -> throw new IllegalStateException("not thrown by a store", problem);
      }
    }
  }

  private void awaitOtherClose() {
    Deadline by = Deadline.after(access.options().closeTimeout().plus(STORE_CLOSE.multipliedBy(2)));
    boolean interrupted = false;
    boolean done = false;
    while (!done && !by.hasPassed()) {
      try {
        done = closeDone.await(by.remainingNanos(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends everything, waits until nothing touches a buffer, and answers what had no answer. */
  private Drained drain(StoreFailure cause, Deadline by) {
    List<Transfer> neverStarted;
    List<Transfer> loading;
    List<Transfer> offloading;
    synchronized (queued) {
      neverStarted = List.copyOf(queued.values());
      queued.clear();
      loading = loads.takeAll();
      offloading = offloads.takeAll();
    }
    counter.reset(cause);
    for (Transfer transfer : loading) {
      if (transfer.cancel()) {
        transfer.failAll(cause);
        access.counters().failed(cause.code());
        access.counters().loadFailed();
        loads.end(transfer);
      }
    }
    for (Transfer transfer : offloading) {
      if (transfer.cancel()) {
        access.failOffload(transfer, cause);
        access.counters().offloaded(/* ok= */ false, 0, 0, 0);
        offloads.end(transfer);
      }
    }
    List<Transfer> inUse = new ArrayList<>(loads.awaitEnds(by));
    inUse.addAll(offloads.awaitEnds(by));
    // What is still in use is in quarantine from now on.
    List.of(neverStarted, loading, offloading).forEach(all -> all.forEach(claims::release));
    List<Completion> ended = new ArrayList<>();
    loading.forEach(transfer -> ended.add(answer(transfer, inUse, cause)));
    neverStarted.forEach(transfer -> ended.add(transfer.abandoned(cause)));
    CompletableFuture<?> released =
        CompletableFuture.allOf(
            inUse.stream()
                .map(transfer -> transfer.released().toCompletableFuture())
                .toArray(CompletableFuture[]::new));
    return new Drained(
        ended,
        offloading.stream().map(transfer -> answer(transfer, inUse, cause)).toList(),
        inUse.stream().flatMap(transfer -> transfer.memory().stream()).toList(),
        released);
  }

  /**
   * Returns the completion of a transfer that drain took: what it came to, where this rank alone
   * can tell; else the given cause for every page.
   */
  private Completion answer(Transfer transfer, List<Transfer> inUse, StoreFailure cause) {
    if (inUse.contains(transfer) || !agreement.isAlone()) {
      return transfer.abandoned(cause);
    }
    return transfer.completion(transfer.goodPages(), agreement.elsewhere());
  }

  private Transfer transfer(TransferRequest request) {
    for (PoolTransfer transfer : request.transfers()) {
      requireSource(transfer.source());
      for (PageObjects objects : pools) {
        if (objects.source().equals(transfer.source())) {
          requireSlots(request, transfer, objects);
        }
      }
    }
    return new Transfer(request, pools);
  }

  /** Returns the transfers that a reset did not see the end of, and that have not ended since. */
  private List<Transfer> quarantined() {
    List<Transfer> quarantined = new ArrayList<>(loads.unended());
    quarantined.addAll(offloads.unended());
    return quarantined;
  }

  /** Refuses slots that do not exist, or that a transfer from before a reset may still touch. */
  private void requireSlots(TransferRequest request, PoolTransfer transfer, PageObjects objects) {
    List<Transfer> untouchable = quarantined();
    for (int i = 0; i < transfer.slots().size(); i++) {
      long slot = transfer.slots().slot(i);
      if (slot >= objects.slots()) {
        throw new IllegalArgumentException(
            "request %s: slot %d of page %s is outside pool %s, which has %d slots"
                .formatted(
                    request.id(), slot, transfer.keys().get(i), objects.name(), objects.slots()));
      }
      for (Transfer other : untouchable) {
        if (other.uses(objects, slot)) {
          throw new IllegalArgumentException(
              "request %s: slot %d of pool %s is in quarantine: %s may still touch it"
                  .formatted(request.id(), slot, objects.name(), other.id()));
        }
      }
    }
  }

  /** Refuses a source that has pools on no rank. */
  private void requireSource(PoolName source) {
    if (!sources.contains(source)) {
      throw new IllegalArgumentException(
          "no pool takes its slots from source " + source + "; the sources are " + sources);
    }
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new CacheException(FailureCode.CLOSED, "the linker is closed");
    }
  }

  private static StoreFailure closedFailure() {
    return StoreFailure.of(FailureCode.CLOSED, "the linker was closed");
  }

  @Override
  public String toString() {
    return "DirectLinker[%s, pools=%s]"
        .formatted(instance, pools.stream().map(PageObjects::name).toList());
  }
}
