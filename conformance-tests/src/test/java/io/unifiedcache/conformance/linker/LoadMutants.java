package io.unifiedcache.conformance.linker;

import static io.unifiedcache.conformance.linker.Edits.linker;
import static io.unifiedcache.conformance.linker.Edits.mutant;
import static io.unifiedcache.conformance.linker.Edits.setting;
import static io.unifiedcache.conformance.linker.Edits.spec;
import static io.unifiedcache.conformance.linker.Edits.store;
import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.LinkerSpec;
import io.unifiedcache.linker.key.StrictKey;
import java.lang.foreign.Arena;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Small edits of a linker, each of which breaks a rule of loads. */
public final class LoadMutants {
  private LoadMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(
            deferred(),
            layerOrder(),
            layerFailure(),
            failedNeverLoaded(),
            noLivelock(),
            partialPools(),
            evictedBetween(),
            timeout(),
            cancel(),
            earlyStop(),
            exactlyOnce(),
            ranksAgree())
        .flatMap(Collection::stream)
        .toList();
  }

  private static List<Mutant> deferred() {
    return List.of(
        mutant(
            "load.deferred",
            "the store is asked for a load that is queued",
            "calls of the store before the start",
            spec -> {
              AtomicReference<CacheStore> store = new AtomicReference<>();
              return new EditedLinker(real(Edits.withStore(spec, opened -> keep(store, opened)))) {
                @Override
                public void load(TransferRequest request) {
                  super.load(request);
                  CacheStore opened = store.get();
                  if (opened != null && hasStrictKeys(spec)) {
                    var unused = opened.exists(List.of(anObject(spec, request)), Deadline.never());
                  }
                }
              };
            }),
        mutant(
            "load.deferred",
            "the slots of a load are cleared when it is queued",
            "before the start",
            spec ->
                new EditedLinker(real(spec)) {
                  @Override
                  public void load(TransferRequest request) {
                    super.load(request);
                    Edits.clear(
                        spec, request, source -> request.transfers().size() == sources(spec));
                  }
                }),
        mutant(
                "load.deferred",
                "a load is started whose slots are not free yet",
                "when the slots of one of two loads are not free",
                heedless(ready -> !ready.isDone()))
            .alsoBreaking("linker.slots"),
        mutant(
                "load.deferred",
                "a load is served whose slots never become free",
                "never",
                heedless(CompletableFuture::isCompletedExceptionally))
            .alsoBreaking("load.ready-fails"));
  }

  /** Returns linkers that do not wait for some of what loads wait for. */
  private static LinkerFactory heedless(Predicate<CompletableFuture<?>> of) {
    return linker(
        linker ->
            new EditedLinker(linker) {
              @Override
              public void load(TransferRequest request) {
                super.load(
                    of.test(request.ready().toCompletableFuture())
                        ? new TransferRequest(request.id(), request.transfers())
                        : request);
              }
            });
  }

  private static boolean hasStrictKeys(LinkerSpec spec) {
    return !spec.pools().rankReplicated() && !spec.settings().containsKey("keys");
  }

  private static ObjectKey anObject(LinkerSpec spec, TransferRequest request) {
    DevicePool pool = spec.pools().pools().getFirst();
    PageKey page = request.transfers().getFirst().keys().getFirst();
    String component = pool.components().getFirst().name();
    return new StrictKey(
            spec.identity(),
            /* rankReplicated= */ false,
            page,
            pool.name(),
            StrictKey.layoutOf(pool),
            component)
        .key();
  }

  private static CacheStore keep(AtomicReference<CacheStore> place, CacheStore store) {
    place.set(store);
    return store;
  }

  private static CacheLinker real(LinkerSpec spec) {
    return LinkerFactory.unifiedCache().open(spec);
  }

  private static int sources(LinkerSpec spec) {
    return spec.pools().sources().size();
  }

  private static List<Mutant> layerOrder() {
    return List.of(
        mutant(
            "load.layer-order",
            "a layer is announced when the one below it is in place",
            "the bytes of layers 0 to",
            batch(
                (batch, layer, atMost) ->
                    batch.requests().size() == 2 && layer > 0
                        ? batch.awaitLayer(layer - 1, atMost)
                        : batch.awaitLayer(layer, atMost))),
        mutant(
            "load.layer-order",
            "the first layer is announced at the start",
            "the bytes of layers 0 to 0",
            batch(
                (batch, layer, atMost) ->
                    layer == 0
                            && batch.requests().size() == 2
                            && !atMost.minusSeconds(1).isNegative()
                        ? new LayerProgress(layer, Map.of())
                        : batch.awaitLayer(layer, atMost))),
        mutant(
            "load.layer-order",
            "the bytes of some objects are put in their places at the end",
            "the bytes of layers 0 to",
            store(LateBytes::new)),
        mutant(
            "load.layer-order",
            "a layer below the last is no longer in place once that is",
            "after the last was announced",
            batch(
                (batch, layer, atMost) -> {
                  LayerProgress progress = batch.awaitLayer(layer, atMost);
                  if (atMost.isZero() && layer == 1 && progress.failed().isEmpty()) {
                    throw new CacheException(FailureCode.TIMEOUT, "not in place");
                  }
                  return progress;
                })));
  }

  /** Reads large batches into memory of its own, which is copied when the session is closed. */
  private static final class LateBytes extends EditedStore {
    private LateBytes(CacheStore store) {
      super(store);
    }

    @Override
    public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
      Map<HostMemory, HostMemory> late = new LinkedHashMap<>();
      return new EditedSession(store.openSession(keys, by), keys.size()) {
        @Override
        public BatchResult read(List<ReadOp> ops, Deadline by) {
          return super.read(ops.size() < 6 ? ops : ops.stream().map(this::detour).toList(), by);
        }

        private ReadOp detour(ReadOp op) {
          return new ReadOp(
              op.entry(),
              op.ranges().stream()
                  .map(range -> new Range(range.objectOffset(), detour(range.target())))
                  .toList());
        }

        private HostMemory detour(Memory target) {
          HostMemory own =
              HostMemory.of(Arena.ofAuto().allocate(target.byteSize(), limits().alignment()));
          late.put(own, (HostMemory) target);
          return own;
        }

        @Override
        public void close() {
          late.forEach((own, target) -> target.segment().copyFrom(own.segment()));
          super.close();
        }
      };
    }
  }

  private interface Waiting {
    LayerProgress await(LoadBatch batch, int layer, Duration atMost);
  }

  /** Returns linkers whose batches wait in another way. */
  private static LinkerFactory batch(Waiting waiting) {
    return linker(
        linker ->
            new EditedLinker(linker) {
              @Override
              LoadBatch started(LoadBatch batch) {
                return new EditedBatch(batch) {
                  @Override
                  public LayerProgress awaitLayer(int layer, Duration atMost) {
                    return waiting.await(batch, layer, atMost);
                  }
                };
              }
            });
  }

  private static List<Mutant> layerFailure() {
    return List.of(
        mutant(
            "load.layer-failure",
            "a wait does not name who has failed",
            "to name",
            batch(
                (batch, layer, atMost) -> {
                  var unused = batch.awaitLayer(layer, atMost);
                  return new LayerProgress(layer, Map.of());
                })),
        mutant(
            "load.layer-failure",
            "a wait names everybody once one has failed",
            "to name the one request that failed",
            batch(
                (batch, layer, atMost) -> {
                  LayerProgress progress = batch.awaitLayer(layer, atMost);
                  Map<String, StoreFailure> failed = new HashMap<>(progress.failed());
                  progress
                      .failed()
                      .values()
                      .forEach(cause -> batch.requests().forEach(id -> failed.put(id, cause)));
                  return new LayerProgress(layer, failed);
                })),
        mutant(
            "load.layer-failure",
            "a wait says that its time is over when everybody has failed",
            "to throw a CacheException with the cause",
            batch(
                (batch, layer, atMost) -> {
                  try {
                    return batch.awaitLayer(layer, atMost);
                  } catch (CacheException e) {
                    if (e.code() == FailureCode.IO) {
                      throw new CacheException(FailureCode.TIMEOUT, "not in place");
                    }
                    throw e;
                  }
                })),
        mutant(
            "load.layer-failure",
            "a wait that had begun does not end when everybody fails",
            "observed",
            batch(LoadMutants::notWoken)),
        mutant(
            "load.layer-failure",
            "a wait returns as if all was well when the store is lost",
            "a wait on a store that is lost",
            batch(
                (batch, layer, atMost) -> {
                  try {
                    return batch.awaitLayer(layer, atMost);
                  } catch (CacheException e) {
                    if (e.code() == FailureCode.UNREACHABLE) {
                      return new LayerProgress(layer, Map.of());
                    }
                    throw e;
                  }
                })),
        mutant(
            "load.layer-failure",
            "a layer that was announced is withdrawn when a later one fails",
            "wait for layer 0",
            batch(
                (batch, layer, atMost) -> {
                  LayerProgress progress = batch.awaitLayer(layer, atMost);
                  if (atMost.isZero() && !progress.failed().isEmpty()) {
                    throw new CacheException(FailureCode.IO, "withdrawn");
                  }
                  return progress;
                })));
  }

  /** Waits out its time if everybody fails while it waits for the last of several layers. */
  private static LayerProgress notWoken(LoadBatch batch, int layer, Duration atMost) {
    Deadline by = Deadline.after(atMost);
    try {
      return batch.awaitLayer(layer, atMost);
    } catch (CacheException e) {
      boolean waited = Deadline.after(atMost).remainingNanos() - by.remainingNanos() > 3_000_000;
      if (e.code() != FailureCode.IO || !waited || batch.requests().size() > 1) {
        throw e;
      }
      while (!by.hasPassed()) {
        java.util.concurrent.locks.LockSupport.parkNanos(by.remainingNanos());
      }
      throw new CacheException(FailureCode.TIMEOUT, "not in place", e);
    }
  }

  private static List<Mutant> failedNeverLoaded() {
    return List.of(
        mutant(
            "load.failed-never-loaded",
            "a load with a page whose bytes are bad completes as loaded",
            "to complete as failed",
            completions(each -> failedWith(each, FailureCode.CORRUPT) ? ok(each) : each)),
        mutant(
            "load.failed-never-loaded",
            "a page beside the one that failed is named",
            "to name page",
            spec ->
                new EditedLinker(real(spec)) {
                  private final Map<String, PageKey> first = new ConcurrentHashMap<>();

                  @Override
                  public void load(TransferRequest request) {
                    first.put(request.id(), request.transfers().getFirst().keys().getFirst());
                    super.load(request);
                  }

                  @Override
                  public List<Completion> pollLoads(Duration atMost) {
                    return super.pollLoads(atMost).stream().map(this::renamed).toList();
                  }

                  private Completion renamed(Completion completion) {
                    if (!failedWith(completion, FailureCode.CORRUPT)) {
                      return completion;
                    }
                    return new Completion(
                        completion.id(),
                        completion.failures().stream()
                            .map(
                                each ->
                                    new PageFailure(
                                        each.pool(),
                                        requireNonNull(first.get(completion.id())),
                                        each.cause()))
                            .toList());
                  }
                }),
        mutant(
            "load.failed-never-loaded",
            "a load with a page whose bytes are bad completes twice",
            "the number of completions of a request that failed",
            linker(linker -> new AnsweredAgain(linker, FailureCode.CORRUPT))),
        mutant(
            "load.failed-never-loaded",
            "a request fails whose neighbour has a page whose bytes are bad",
            "request good to complete as moved",
            neighbours(FailureCode.CORRUPT)),
        mutant(
            "load.failed-never-loaded",
            "an answer of another size is taken for one that all is well",
            "to complete as failed",
            store(
                store ->
                    new EditedStore(store) {
                      @Override
                      BatchResult call(int entries, Supplier<BatchResult> call) {
                        BatchResult result = super.call(entries, call);
                        return result.size() == entries
                            ? result
                            : BatchResult.all(entries, ObjectStatus.OK);
                      }
                    })),
        mutant(
            "load.failed-never-loaded",
            "a load that failed counts as one",
            "the count of loads",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public LinkerStats stats() {
                        LinkerStats s = super.stats();
                        return new LinkerStats(
                            s.lookups(),
                            s.lookupFailures(),
                            s.outages(),
                            s.loads() + s.failedLoads(),
                            s.failedLoads(),
                            s.offloads(),
                            s.failedOffloads(),
                            s.objectsLoaded(),
                            s.bytesLoaded(),
                            s.objectsStored(),
                            s.bytesStored(),
                            s.objectsPresent(),
                            s.suspects(),
                            s.failures());
                      }
                    })));
  }

  private static boolean failedWith(Completion completion, FailureCode code) {
    return completion.failures().stream().anyMatch(each -> each.cause().code() == code);
  }

  private static Completion ok(Completion completion) {
    return new Completion(completion.id(), List.of());
  }

  /** Returns linkers whose completions of loads are changed. */
  private static LinkerFactory completions(UnaryOperator<Completion> change) {
    return linker(
        linker ->
            new EditedLinker(linker) {
              @Override
              public List<Completion> pollLoads(Duration atMost) {
                return super.pollLoads(atMost).stream().map(change).toList();
              }
            });
  }

  /** Repeats the completions of loads that failed with a code. */
  private static final class AnsweredAgain extends EditedLinker {
    private final FailureCode code;
    private List<Completion> again = List.of();

    private AnsweredAgain(CacheLinker linker, FailureCode code) {
      super(linker);
      this.code = code;
    }

    @Override
    public List<Completion> pollLoads(Duration atMost) {
      List<Completion> all = new ArrayList<>(again);
      List<Completion> polled = super.pollLoads(atMost);
      again = polled.stream().filter(each -> failedWith(each, code)).toList();
      all.addAll(polled);
      return all;
    }
  }

  /** Returns linkers that fail whoever comes behind a request that failed with a code. */
  private static LinkerFactory neighbours(FailureCode code) {
    return linker(
        linker ->
            new EditedLinker(linker) {
              private final Map<String, List<String>> batches = new HashMap<>();
              private final Map<List<String>, List<PageFailure>> failed = new HashMap<>();

              @Override
              LoadBatch started(LoadBatch batch) {
                batch.requests().forEach(id -> batches.put(id, batch.requests()));
                failed.remove(batch.requests());
                return batch;
              }

              @Override
              public List<Completion> pollLoads(Duration atMost) {
                List<Completion> edited = new ArrayList<>();
                for (Completion each : super.pollLoads(atMost)) {
                  List<String> batch = batches.get(each.id());
                  if (failedWith(each, code)) {
                    failed.put(batch, each.failures());
                  }
                  edited.add(
                      new Completion(each.id(), failed.getOrDefault(batch, each.failures())));
                }
                return edited;
              }
            });
  }

  private static List<Mutant> noLivelock() {
    return List.of(
        mutant(
            "load.no-livelock",
            "an object that failed to load is offered at once",
            "after page 1 of 0 to 2 has failed to load",
            setting("linker.suspect-expiry", old -> "0s", "")),
        mutant(
            "load.no-livelock",
            "a suspicion does not expire",
            "to be offered again once linker.suspect-expiry",
            setting("linker.suspect-expiry", old -> "1h", "")),
        mutant(
            "load.no-livelock",
            "a suspect object counts as removed whatever the store says",
            "and cannot be removed to say that it failed",
            store(
                store ->
                    new EditedStore(store) {
                      @Override
                      public BatchResult remove(
                          List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
                        return BatchResult.all(
                            super.remove(keys, evenIfLeased, by).size(), ObjectStatus.OK);
                      }
                    })),
        mutant(
            "load.no-livelock",
            "a suspect object of a store that removes nothing counts as stored",
            "and cannot be removed to say that it failed",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public List<Completion> pollOffloads(Duration atMost) {
                        return super.pollOffloads(atMost).stream()
                            .map(
                                each ->
                                    failedWith(each, FailureCode.REFUSED)
                                        ? new Completion(each.id(), List.of())
                                        : each)
                            .toList();
                      }
                    })),
        mutant(
            "load.no-livelock",
            "what a store could not load that was lost is offered again at once",
            "after a load of all pages has thrown",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final Map<List<PageKey>, PoolTransferResult> offered =
                          new HashMap<>();
                      private boolean again;

                      @Override
                      public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
                        PoolTransferResult real = super.lookup(pages, pools);
                        if (real.usablePages() > 0) {
                          offered.put(pages, real);
                        }
                        return again ? offered.getOrDefault(pages, real) : real;
                      }

                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        List<Completion> all = super.pollLoads(atMost);
                        again |=
                            all.stream()
                                .anyMatch(each -> failedWith(each, FailureCode.UNREACHABLE));
                        return all;
                      }
                    })),
        mutant(
            "load.no-livelock",
            "a page stays suspect when it is stored anew",
            "once the object was stored anew",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final Set<PageKey> suspects = new HashSet<>();

                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        List<Completion> all = super.pollLoads(atMost);
                        for (Completion each : all) {
                          if (failedWith(each, FailureCode.CORRUPT)) {
                            each.failures().forEach(failure -> suspects.add(failure.page()));
                          }
                        }
                        return all;
                      }

                      @Override
                      public PoolTransferResult lookup(
                          List<PageKey> pages, List<PoolQuery> queries) {
                        PoolTransferResult real = super.lookup(pages, queries);
                        int good = 0;
                        while (good < pages.size() && !suspects.contains(pages.get(good))) {
                          good++;
                        }
                        boolean expires = real.usablePages() > good;
                        return expires && super.stats().objectsStored() > 6
                            ? new PoolTransferResult(
                                real.restorable().intersect(RestorablePrefixes.upTo(good)),
                                real.hits())
                            : real;
                      }
                    })),
        mutant(
            "load.no-livelock",
            "a suspect object is not removed to be stored anew",
            "to store it anew",
            store(
                store ->
                    new EditedStore(store) {
                      @Override
                      public Set<Capability> capabilities() {
                        Set<Capability> left = EnumSet.copyOf(super.capabilities());
                        left.remove(Capability.REMOVE);
                        return left;
                      }
                    })),
        mutant(
            "load.no-livelock",
            "the other objects of a page are removed, too",
            "the objects that the offload has removed",
            store(
                store ->
                    new EditedStore(store) {
                      private final Set<ObjectKey> stored = ConcurrentHashMap.newKeySet();

                      @Override
                      public BatchResult put(List<PutOp> ops, Deadline by) {
                        ops.forEach(op -> stored.add(op.key()));
                        return super.put(ops, by);
                      }

                      @Override
                      public BatchResult remove(
                          List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
                        List<ObjectKey> others =
                            stored.stream()
                                .filter(
                                    each ->
                                        keys.stream().anyMatch(key -> page(key).equals(page(each))))
                                .filter(each -> !keys.contains(each))
                                .toList();
                        var unused = super.remove(others, evenIfLeased, by);
                        return super.remove(keys, evenIfLeased, by);
                      }

                      private String page(ObjectKey key) {
                        return key.value().substring(0, key.value().lastIndexOf('_'));
                      }
                    })));
  }

  private static List<Mutant> partialPools() {
    return List.of(
        mutant(
                "load.partial-pools",
                "a load without KV is refused",
                "load to be served",
                spec ->
                    new EditedLinker(real(spec)) {
                      @Override
                      public void load(TransferRequest request) {
                        if (spec.pools().sources().contains(PoolName.KV)
                            && request.transfers().stream()
                                .noneMatch(each -> each.source().equals(PoolName.KV))) {
                          throw new IllegalArgumentException("no KV");
                        }
                        super.load(request);
                      }
                    })
            .alsoBreaking("linker.sources"),
        mutant(
            "load.partial-pools",
            "a load of one pool completes without its bytes",
            "to put every byte in its place",
            spec ->
                new EditedLinker(real(spec)) {
                  private final Map<String, TransferRequest> alone = new HashMap<>();

                  @Override
                  public void load(TransferRequest request) {
                    super.load(request);
                    if (request.transfers().size() < sources(spec)) {
                      alone.put(request.id(), request);
                    }
                  }

                  @Override
                  public List<Completion> pollLoads(Duration atMost) {
                    List<Completion> all = super.pollLoads(atMost);
                    for (Completion each : all) {
                      TransferRequest request = alone.remove(each.id());
                      if (request != null) {
                        Edits.clear(spec, request, request.transfers().getFirst().source()::equals);
                      }
                    }
                    return all;
                  }
                }),
        mutant(
            "load.partial-pools",
            "a load of KV alone touches the slots of others",
            "to leave the slots of others as they are",
            spec ->
                new EditedLinker(real(spec)) {
                  @Override
                  public void load(TransferRequest request) {
                    super.load(request);
                    if (request.transfers().size() == 1) {
                      Edits.clear(
                          spec,
                          request,
                          source -> !source.equals(request.transfers().getFirst().source()));
                    }
                  }
                }));
  }

  private static List<Mutant> evictedBetween() {
    return List.of(
        mutant(
            "load.evicted-between",
            "an object that is gone fails the requests behind its own",
            "request kept to complete as moved",
            neighbours(FailureCode.ABSENT)),
        mutant(
            "load.evicted-between",
            "a load of which an object is gone completes as loaded",
            "request gone to complete as failed",
            completions(each -> failedWith(each, FailureCode.ABSENT) ? ok(each) : each)));
  }

  private static List<Mutant> timeout() {
    return List.of(
        mutant(
            "load.timeout",
            "a late arrival turns a timeout into a load",
            "to complete as failed",
            completions(each -> failedWith(each, FailureCode.TIMEOUT) ? ok(each) : each)),
        mutant(
            "load.timeout",
            "a wait that times out fails the first request alone",
            "request b to complete as failed",
            completions(
                each ->
                    failedWith(each, FailureCode.TIMEOUT) && each.id().equals("b")
                        ? ok(each)
                        : each)),
        mutant(
            "load.timeout",
            "a wait that times out leaves the batch as it is",
            "to complete as failed",
            batch(
                (batch, layer, atMost) -> {
                  if (atMost.equals(Duration.ofMillis(1))) {
                    throw new CacheException(FailureCode.TIMEOUT, "not in place");
                  }
                  return batch.awaitLayer(layer, atMost);
                })),
        mutant(
                "load.timeout",
                "a completion is told while the transfer has the slots",
                "the completions while the transfer has the slots",
                linker(EarlyCompletions::new))
            .alsoBreaking("load.peek"),
        mutant(
            "load.timeout",
            "memory that a failed transfer still uses is taken for free",
            "the completions while a failed transfer has the slots",
            store(
                store ->
                    new EditedStore(store) {
                      @Override
                      BatchResult call(int entries, Supplier<BatchResult> call) {
                        BatchResult result = super.call(entries, call);
                        BatchResult.Builder edited = BatchResult.builder(result.size());
                        for (int i = 0; i < result.size(); i++) {
                          if (result.status(i) == ObjectStatus.FAILED) {
                            StoreFailure failure = result.failure(i);
                            edited.failed(i, StoreFailure.of(failure.code(), failure.message()));
                          } else {
                            edited.set(i, result.status(i));
                          }
                        }
                        return edited.build();
                      }

                      @Override
                      public BatchResult put(List<PutOp> ops, Deadline by) {
                        return store.put(ops, by);
                      }
                    })));
  }

  /** Completes the requests of a batch as soon as a wait for it has timed out. */
  private static final class EarlyCompletions extends EditedLinker {
    private final Deque<Completion> early = new ArrayDeque<>();
    private final Set<String> told = new HashSet<>();

    private EarlyCompletions(CacheLinker linker) {
      super(linker);
    }

    @Override
    LoadBatch started(LoadBatch batch) {
      return new EditedBatch(batch) {
        @Override
        public LayerProgress awaitLayer(int layer, Duration atMost) {
          try {
            return super.awaitLayer(layer, atMost);
          } catch (CacheException e) {
            if (e.code() == FailureCode.TIMEOUT && told.addAll(requests())) {
              PageFailure failure =
                  new PageFailure(
                      PoolName.KV, new PageKey("p"), StoreFailure.of(e.code(), "not in place"));
              requests().forEach(id -> early.add(new Completion(id, List.of(failure))));
            }
            throw e;
          }
        }
      };
    }

    @Override
    public List<Completion> pollLoads(Duration atMost) {
      if (!early.isEmpty()) {
        List<Completion> all = List.copyOf(early);
        early.clear();
        return all;
      }
      return super.pollLoads(atMost);
    }
  }

  private static List<Mutant> cancel() {
    return List.of(
        mutant(
            "load.cancel",
            "a load that runs is said to be cancelled",
            "a cancel of a load whose transfer runs",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public CancelOutcome cancel(String loadId) {
                        CancelOutcome outcome = super.cancel(loadId);
                        return outcome == CancelOutcome.RUNNING
                            ? CancelOutcome.CANCELLED_QUEUED
                            : outcome;
                      }
                    })),
        mutant(
            "load.cancel",
            "an id that was cancelled stays taken",
            "load to be served",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final Set<String> taken = new HashSet<>();

                      @Override
                      public CancelOutcome cancel(String loadId) {
                        CancelOutcome outcome = super.cancel(loadId);
                        if (outcome == CancelOutcome.CANCELLED_QUEUED) {
                          taken.add(loadId);
                        }
                        return outcome;
                      }

                      @Override
                      public void load(TransferRequest request) {
                        if (taken.contains(request.id())) {
                          throw new IllegalArgumentException("the id is taken");
                        }
                        super.load(request);
                      }
                    })),
        mutant(
            "load.cancel",
            "a load that is said to be cancelled starts all the same",
            "observed",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private boolean begun;

                      @Override
                      LoadBatch started(LoadBatch batch) {
                        begun = true;
                        return batch;
                      }

                      @Override
                      public CancelOutcome cancel(String loadId) {
                        return begun || super.stats().objectsStored() == 0
                            ? super.cancel(loadId)
                            : queuedOrUnknown(loadId);
                      }

                      private final Set<String> queued = new HashSet<>();

                      @Override
                      public void load(TransferRequest request) {
                        super.load(request);
                        queued.add(request.id());
                      }

                      private CancelOutcome queuedOrUnknown(String loadId) {
                        return queued.remove(loadId)
                            ? CancelOutcome.CANCELLED_QUEUED
                            : CancelOutcome.UNKNOWN;
                      }
                    })),
        mutant(
            "load.cancel",
            "the read session of a load that was cancelled while it ran stays open",
            "no read session to be open",
            spec -> {
              AtomicBoolean leaking = new AtomicBoolean();
              UnaryOperator<CacheStore> leaky =
                  store ->
                      new EditedStore(store) {
                        @Override
                        public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
                          return new EditedSession(store.openSession(keys, by), keys.size()) {
                            @Override
                            public void close() {
                              if (!leaking.getAndSet(false)) {
                                super.close();
                              }
                            }
                          };
                        }
                      };
              return new EditedLinker(real(Edits.withStore(spec, leaky))) {
                @Override
                public CancelOutcome cancel(String loadId) {
                  CancelOutcome outcome = super.cancel(loadId);
                  leaking.compareAndSet(false, outcome == CancelOutcome.RUNNING);
                  return outcome;
                }
              };
            }),
        mutant(
            "load.cancel",
            "a load that has ended is said to run",
            "FINISHED",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public CancelOutcome cancel(String loadId) {
                        CancelOutcome outcome = super.cancel(loadId);
                        return outcome == CancelOutcome.FINISHED ? CancelOutcome.RUNNING : outcome;
                      }
                    })));
  }

  private static List<Mutant> earlyStop() {
    return List.of(
        mutant(
                "load.early-stop",
                "a load completes only once its last layer was waited for",
                "the completion of a load",
                spec ->
                    new EditedLinker(real(spec)) {
                      private final Set<String> unseen = ConcurrentHashMap.newKeySet();
                      private final List<Completion> held = new ArrayList<>();

                      @Override
                      LoadBatch started(LoadBatch batch) {
                        unseen.addAll(batch.requests());
                        return new EditedBatch(batch) {
                          @Override
                          public LayerProgress awaitLayer(int layer, Duration atMost) {
                            if (layer == spec.pools().layers() - 1) {
                              unseen.removeAll(requests());
                            }
                            try {
                              return super.awaitLayer(layer, atMost);
                            } catch (CacheException e) {
                              unseen.removeAll(requests());
                              throw e;
                            }
                          }
                        };
                      }

                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        held.addAll(super.pollLoads(atMost));
                        List<Completion> seen =
                            held.stream().filter(each -> !unseen.contains(each.id())).toList();
                        held.removeAll(seen);
                        return seen;
                      }
                    })
            .alsoBreaking("offload.remove-proven", "linker.outage"),
        mutant(
            "load.early-stop",
            "a read session stays open unless the last layer was waited for",
            "no read session to be open",
            spec -> {
              ParkedSessions parked = new ParkedSessions();
              int last = spec.pools().layers() - 1;
              return new EditedLinker(real(Edits.withStore(spec, store -> parked.around(store)))) {
                @Override
                public LoadBatch startLayerWiseLoading() {
                  parked.begin();
                  return super.startLayerWiseLoading();
                }

                @Override
                LoadBatch started(LoadBatch batch) {
                  return new EditedBatch(batch) {
                    @Override
                    public LayerProgress awaitLayer(int layer, Duration atMost) {
                      try {
                        return super.awaitLayer(layer, atMost);
                      } finally {
                        if (layer == last) {
                          parked.closeAll();
                        }
                      }
                    }
                  };
                }

                @Override
                public void close() {
                  super.close();
                  parked.closeAll();
                }
              };
            }));
  }

  /** Sessions that are to be closed and are not. */
  private static final class ParkedSessions {
    private final List<ReadSession> parked = new ArrayList<>();
    private boolean mayClose;

    synchronized void begin() {
      mayClose = false;
    }

    synchronized void closeAll() {
      mayClose = true;
      parked.forEach(ReadSession::close);
      parked.clear();
    }

    synchronized void close(ReadSession session) {
      if (mayClose) {
        session.close();
      } else {
        parked.add(session);
      }
    }

    CacheStore around(CacheStore store) {
      return new EditedStore(store) {
        @Override
        public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
          return new EditedSession(store.openSession(keys, by), keys.size()) {
            @Override
            public void close() {
              ParkedSessions.this.close(session);
            }
          };
        }
      };
    }
  }

  private static List<Mutant> exactlyOnce() {
    return List.of(
        mutant(
            "load.exactly-once",
            "a load that failed is answered twice",
            "the order of the completions",
            linker(linker -> new AnsweredAgain(linker, FailureCode.ABSENT))),
        mutant(
            "load.exactly-once",
            "a batch that was started while another ran is not answered",
            "a completion of each of 4 loads",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final Set<String> open = new HashSet<>();
                      private final Set<String> forgotten = new HashSet<>();

                      @Override
                      LoadBatch started(LoadBatch batch) {
                        if (!open.isEmpty()) {
                          forgotten.addAll(batch.requests());
                        }
                        open.addAll(batch.requests());
                        return batch;
                      }

                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        List<Completion> all = super.pollLoads(atMost);
                        all.forEach(each -> open.remove(each.id()));
                        return all.stream().filter(each -> !forgotten.contains(each.id())).toList();
                      }

                      @Override
                      public Drained reset() {
                        open.clear();
                        return super.reset();
                      }
                    })),
        mutant(
            "load.exactly-once",
            "reset does not return loads that were not started",
            "the loads that reset returns",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final Set<String> started = new HashSet<>();

                      @Override
                      LoadBatch started(LoadBatch batch) {
                        started.addAll(batch.requests());
                        return batch;
                      }

                      @Override
                      public Drained reset() {
                        Drained real = super.reset();
                        return new Drained(
                            real.loads().stream()
                                .filter(each -> started.contains(each.id()))
                                .toList(),
                            real.offloads(),
                            real.quarantined(),
                            real.released());
                      }
                    })),
        mutant(
            "load.exactly-once",
            "the completions of a batch come in reverse",
            "the order of the completions",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final Set<String> awaited = new HashSet<>();
                      private final Deque<Completion> reversed = new ArrayDeque<>();

                      @Override
                      LoadBatch started(LoadBatch batch) {
                        if (batch.requests().size() > 2) {
                          awaited.addAll(batch.requests());
                        }
                        return batch;
                      }

                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        List<Completion> others = new ArrayList<>();
                        do {
                          for (Completion each : super.pollLoads(atMost)) {
                            if (awaited.remove(each.id())) {
                              reversed.addFirst(each);
                            } else {
                              others.add(each);
                            }
                          }
                        } while (!awaited.isEmpty() && !atMost.isZero());
                        List<Completion> all = new ArrayList<>(reversed);
                        reversed.clear();
                        all.addAll(others);
                        return all;
                      }
                    })));
  }

  private static List<Mutant> ranksAgree() {
    return List.of(
        mutant(
            "load.ranks-agree",
            "a rank completes as loaded what another has failed",
            "the completion of rank 0",
            completions(
                each ->
                    each.failures().stream()
                            .allMatch(failure -> failure.cause().code() == FailureCode.OTHER_RANK)
                        ? ok(each)
                        : each)),
        mutant(
            "load.ranks-agree",
            "a rank goes on by itself when another is dead",
            "whose other rank is dead",
            spec(
                spec ->
                    Edits.withRanks(
                        spec,
                        new EditedRanks(spec.ranks()) {
                          @Override
                          public BitSet and(BitSet bits, Deadline by) {
                            try {
                              return super.and(bits, by);
                            } catch (RankLostException e) {
                              return bits;
                            }
                          }
                        }))),
        mutant(
            "load.ranks-agree",
            "a rank waits for a dead one as long as it takes",
            "to complete",
            spec(
                spec ->
                    Edits.withRanks(
                        spec,
                        new EditedRanks(spec.ranks()) {
                          @Override
                          public BitSet and(BitSet bits, Deadline by) throws RankLostException {
                            return super.and(bits, Deadline.after(Duration.ofSeconds(6)));
                          }
                        }))));
  }
}
