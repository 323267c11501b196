package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.observe.LookupEvent;
import io.unifiedcache.linker.restore.AskedPool;
import io.unifiedcache.linker.restore.PrefixLookup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
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

  private final String instance;
  private final StoreAccess access;
  private final boolean ownsStore;
  private final List<PageObjects> pools;
  private final Set<PoolName> sources;
  private final int layers;
  private final boolean rankReplicated;
  private final boolean owner;
  private final Agreement agreement;
  private final List<Registration> registrations;
  private final LayerLoadCounter counter;
  private final Ledger loads = new Ledger("loads", this::loadAgreed);
  private final Ledger offloads = new Ledger("offloads", this::offloadAgreed);
  private final ExecutorService loadThread;
  private final ExecutorService offloadThreads;

  /**
   * Loads that have not started, by id in the order they came. Its monitor guards the passage of a
   * transfer from one place to the next, so that whoever ends everything misses none.
   */
  private final Map<String, Transfer> queued = new LinkedHashMap<>();

  /** Transfers that a reset did not see the end of; guarded by {@link #queued}. */
  private final List<Transfer> quarantined = new ArrayList<>();

  private final AtomicBoolean closed = new AtomicBoolean();
  private final CountDownLatch closeDone = new CountDownLatch(1);

  private DirectLinker(
      StoreAccess access,
      boolean ownsStore,
      DevicePools pools,
      List<PageObjects> objects,
      List<Registration> registrations,
      RankCollective ranks,
      boolean owner,
      String instance) {
    this.instance = instance;
    this.access = access;
    this.ownsStore = ownsStore;
    this.pools = objects;
    this.sources = pools.sources();
    this.layers = pools.layers();
    this.rankReplicated = pools.rankReplicated();
    this.owner = owner;
    this.agreement = new Agreement(ranks, patience(access.options()));
    this.registrations = registrations;
    this.counter = new LayerLoadCounter(layers);
    this.loadThread =
        Executors.newSingleThreadExecutor(
            Thread.ofPlatform().daemon().name(instance + "-load").factory());
    this.offloadThreads =
        Executors.newFixedThreadPool(
            access.options().offloadThreads(),
            Thread.ofPlatform().daemon().name(instance + "-offload-", 0).factory());
  }

  /**
   * Returns how much later than one rank another may come: it may still be waiting for a call to
   * its store.
   */
  private static Duration patience(LinkerOptions options) {
    Duration longest = options.lookupTimeout();
    for (Duration each : List.of(options.loadTimeout(), options.offloadTimeout())) {
      longest = longest.compareTo(each) < 0 ? each : longest;
    }
    return longest.plus(options.rankTimeout());
  }

  /**
   * Opens a linker.
   *
   * @param ownsStore whether close closes the store
   * @param owner whether this rank writes the pages that are equal on all tensor ranks (rule {@code
   *     offload.owner}); without meaning unless the pools are rank-replicated
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
      RankCollective ranks,
      boolean owner,
      LinkerOptions options,
      MonotonicClock clock,
      String instance) {
    requireFit(pools, store);
    List<PageObjects> objects = new ArrayList<>();
    for (DevicePool pool : pools.pools()) {
      List<String> names = pool.components().stream().map(Component::name).toList();
      objects.add(new PageObjects(pool, layout.templates(pool.name(), names), pools.layers()));
    }
    StoreAccess access =
        new StoreAccess(
            instance,
            store,
            byLayers(options.loadPath(), store),
            layout,
            options,
            new SuspectObjects(options.suspectExpiry(), clock),
            new Counters(),
            clock);
    return new DirectLinker(
        access,
        ownsStore,
        pools,
        List.copyOf(objects),
        register(pools, store),
        ranks,
        owner,
        instance);
  }

  private static boolean byLayers(LoadPath path, CacheStore store) {
    boolean ranges = store.capabilities().contains(Capability.RANGED_READ);
    if (path == LoadPath.LAYERS && !ranges) {
      throw new CacheException(
          FailureCode.REFUSED,
          "linker.load-path = layers needs a store that offers RANGED_READ; this one offers "
              + store.capabilities());
    }
    return ranges && path != LoadPath.PAGES;
  }

  /** Refuses pools whose objects the store cannot take. */
  private static void requireFit(DevicePools pools, CacheStore store) {
    StoreLimits limits = store.limits();
    boolean devices = store.capabilities().contains(Capability.DEVICE_MEMORY);
    for (DevicePool pool : pools.pools()) {
      for (Component component : pool.components()) {
        String what = "object " + component.name() + " of pool " + pool.name();
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
          if (buffer.memory() instanceof DeviceMemory && !devices) {
            throw new CacheException(
                FailureCode.REFUSED,
                what + " lies in device memory, which this store cannot address");
          }
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

  private static long address(Memory memory) {
    return switch (memory) {
      case HostMemory host -> host.segment().address();
      case DeviceMemory device -> device.address();
    };
  }

  /** Registers each buffer once, or none (rule {@code store.register}). */
  private static List<Registration> register(DevicePools pools, CacheStore store) {
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
    return registrations;
  }

  /** Undoes every registration, whatever another does, and returns what they threw. */
  private static List<Throwable> unregister(List<Registration> registrations) {
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

  @Override
  public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> queries) {
    requireOpen();
    List<AskedPool> asked = asked(queries);
    if (pages.isEmpty()) {
      return new PoolTransferResult(RestorablePrefixes.none(), Map.of());
    }
    LookupEvent event = LookupEvent.begin(instance);
    Deadline by = Deadline.after(access.options().lookupTimeout(), access.clock());
    AtomicLong failures = new AtomicLong();
    PrefixLookup lookup =
        new PrefixLookup(
            access.store().limits().batch(),
            access.suspects()::contains,
            keys -> exists(keys, by),
            failure -> {
              access.failLookup(failure);
              if (failures.getAndIncrement() == 0) {
                LOG.warn("{}: a lookup is shortened: {}", instance, failure);
              }
            });
    PoolTransferResult here = here(lookup, pages, asked);
    access.counters().lookup(failures.get());
    BitSet everywhere =
        agreement.and(
            () -> "lookup of " + pages.size() + " pages to " + pages.getLast(),
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

  /** Asks the store; whatever it throws is a failure of every key (rule restore.failed-lookup). */
  private BatchResult exists(List<ObjectKey> keys, Deadline by) {
    try {
      return access.store().exists(keys, by);
    } catch (RuntimeException | Error problem) {
      LOG.warn("{}: a lookup failed", instance, problem);
      return BatchResult.allFailed(keys.size(), StoreAccess.thrown(problem));
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
    // In one step, so that whoever ends everything sees a load either queued or in a batch.
    synchronized (queued) {
      requireOpen();
      List<Transfer> started = ready.stream().mapToObj(candidates::get).toList();
      LayerLoadCounter.Batch batch = counter.begin(started.stream().map(Transfer::id).toList());
      if (started.isEmpty()) {
        var unused = batch.finish(NOTHING_TO_LOAD);
        return batch;
      }
      for (Transfer transfer : started) {
        queued.remove(transfer.id());
        loads.add(transfer);
      }
      if (agreement.isLost()) {
        batch.failAll(agreement.elsewhere());
      }
      loadThread.execute(new BatchLoad(access, pools, layers, started, batch, loads));
      return batch;
    }
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
            () -> "start of " + candidates.stream().map(Transfer::id).toList(),
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
      offloads.add(transfer);
    }
    PageOffload offload =
        new PageOffload(access, transfer, /* owner= */ !rankReplicated || owner, offloads);
    transfer.whenReady(() -> execute(offload));
  }

  private void execute(PageOffload offload) {
    try {
      offloadThreads.execute(offload);
    } catch (RejectedExecutionException e) {
      // Closed: the offload has been answered and would do nothing.
      LOG.debug("{}: {} became ready after close", instance, offload);
    }
  }

  @Override
  public List<Completion> pollOffloads(Duration atMost) {
    requireOpen();
    return offloads.poll(atMost, agreement);
  }

  /** Makes what another rank found of replicated objects known to this one, which has the same. */
  private void loadAgreed(Transfer transfer, BitSet good, BitSet sound) {
    if (rankReplicated && !agreement.isLost()) {
      BitSet failedElsewhere = transfer.goodPages();
      failedElsewhere.andNot(good);
      transfer.eachKey(failedElsewhere, key -> access.suspects().add(key, /* bad= */ false));
      BitSet badElsewhere = transfer.soundPages();
      badElsewhere.andNot(sound);
      transfer.eachKey(badElsewhere, key -> access.suspects().add(key, /* bad= */ true));
    }
  }

  private void offloadAgreed(Transfer transfer, BitSet good, BitSet sound) {
    if (rankReplicated && !owner) {
      transfer.eachKey(good, access.suspects()::clear);
    }
  }

  @Override
  public CancelOutcome cancel(String loadId) {
    requireOpen();
    synchronized (queued) {
      if (queued.remove(loadId) != null) {
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
    return drain(StoreFailure.of(FailureCode.CANCELLED, "the linker was reset"));
  }

  @Override
  public LinkerStats stats() {
    return access.counters().snapshot(access.suspects().size());
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      awaitOtherClose();
      return;
    }
    try {
      loads.close();
      offloads.close();
      Drained drained = drain(closedFailure());
      loadThread.shutdown();
      offloadThreads.shutdown();
      if (drained.quarantined().isEmpty()) {
        for (Throwable problem : unregister(registrations)) {
          LOG.warn("{}: unregistering memory failed", instance, problem);
        }
      } else {
        LOG.error(
            "{}: after {} transfers still use {} pieces of memory; they must never be freed: {}",
            instance,
            access.options().closeTimeout(),
            drained.quarantined().size(),
            drained.quarantined());
      }
    } finally {
      try {
        if (ownsStore) {
          access.store().close();
        }
      } finally {
        closeDone.countDown();
      }
    }
  }

  private void awaitOtherClose() {
    // The other close is bounded by the close timeout, plus what the store takes.
    Deadline by = Deadline.after(access.options().closeTimeout().multipliedBy(2));
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
  private Drained drain(StoreFailure cause) {
    Deadline by = Deadline.after(access.options().closeTimeout());
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
    List<Transfer> inUse = new ArrayList<>(loads.awaitEnds(loading, by));
    inUse.addAll(offloads.awaitEnds(offloading, by));
    List<Completion> ended = new ArrayList<>();
    loading.forEach(transfer -> ended.add(answer(transfer, inUse, cause)));
    neverStarted.forEach(transfer -> ended.add(transfer.abandoned(cause)));
    synchronized (queued) {
      quarantined.addAll(inUse);
    }
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

  /** Refuses slots that do not exist, or that a transfer from before a reset may still touch. */
  private void requireSlots(TransferRequest request, PoolTransfer transfer, PageObjects objects) {
    List<Transfer> untouchable;
    synchronized (queued) {
      quarantined.removeIf(Transfer::isReleased);
      untouchable = List.copyOf(quarantined);
    }
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

  /** Refuses a source without pools, unless another rank may have them, as a stage has its own. */
  private void requireSource(PoolName source) {
    if (agreement.isAlone() && !sources.contains(source)) {
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
