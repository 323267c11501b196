package io.unifiedcache.conformance.linker;

import static io.unifiedcache.conformance.linker.Edits.linker;
import static io.unifiedcache.conformance.linker.Edits.mutant;
import static io.unifiedcache.conformance.linker.Edits.setting;
import static io.unifiedcache.conformance.linker.Edits.spec;
import static io.unifiedcache.conformance.linker.Edits.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Small edits of a linker, each of which breaks a rule of how linkers start or come to rest. */
public final class LifecycleMutants {
  private LifecycleMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(quiesce(), startPolicy(), deviceMemory()).flatMap(Collection::stream).toList();
  }

  private static List<Mutant> quiesce() {
    return List.of(
        mutant(
            "linker.quiesce",
            "reset does not wait for a transfer",
            "it returned while the store had the memory",
            whileRunning(
                (linker, running) ->
                    new EditedLinker(linker) {
                      @Override
                      public Drained reset() {
                        if (running.get() == 0) {
                          return super.reset();
                        }
                        CompletableFuture<Drained> real =
                            CompletableFuture.supplyAsync(linker::reset);
                        return new Drained(List.of(), List.of(), List.of(), real);
                      }
                    })),
        mutant(
            "linker.quiesce",
            "close does not wait for a transfer",
            "it returned while the store had the memory",
            whileRunning(
                (linker, running) ->
                    new EditedLinker(linker) {
                      @Override
                      public void close() {
                        if (running.get() == 0) {
                          super.close();
                        } else {
                          var unused = CompletableFuture.runAsync(linker::close);
                        }
                      }
                    })),
        mutant(
            "linker.quiesce",
            "reset does not name the memory that is still in use",
            "to name the memory it may still touch",
            drained(
                real -> new Drained(real.loads(), real.offloads(), List.of(), real.released()))),
        mutant(
            "linker.quiesce",
            "memory in use is said to be released at once",
            "not to be released before the transfer has let go",
            drained(
                real ->
                    new Drained(
                        real.loads(),
                        real.offloads(),
                        real.quarantined(),
                        CompletableFuture.completedFuture("released")))),
        mutant(
            "linker.quiesce",
            "memory in use is never released",
            "to be released once the transfer has let go",
            drained(
                real ->
                    new Drained(
                        real.loads(),
                        real.offloads(),
                        real.quarantined(),
                        new CompletableFuture<>()))),
        mutant(
            "linker.quiesce",
            "memory that one reset left in use is forgotten by the next",
            "each reset that gives up on a transfer",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private List<Memory> named = List.of();

                      @Override
                      public Drained reset() {
                        Drained real = super.reset();
                        List<Memory> left = new ArrayList<>(real.quarantined());
                        left.removeAll(named);
                        named = real.quarantined();
                        return new Drained(real.loads(), real.offloads(), left, real.released());
                      }
                    })),
        mutant(
            "linker.quiesce",
            "slots that are quarantined are taken for a load",
            "a load into slots that are quarantined",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public void load(TransferRequest request) {
                        try {
                          super.load(request);
                        } catch (IllegalArgumentException e) {
                          if (!String.valueOf(e.getMessage()).contains("quarantine")) {
                            throw e;
                          }
                        }
                      }
                    })),
        mutant(
            "linker.quiesce",
            "the completion of an offload that a reset ended is polled after it",
            "the completions from before a reset, after it",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final List<Completion> late = new ArrayList<>();

                      @Override
                      public Drained reset() {
                        Drained real = super.reset();
                        late.addAll(real.offloads());
                        return real;
                      }

                      @Override
                      public List<Completion> pollOffloads(Duration atMost) {
                        List<Completion> all = new ArrayList<>(late);
                        late.clear();
                        all.addAll(super.pollOffloads(atMost));
                        return all;
                      }
                    })),
        mutant(
            "linker.quiesce",
            "a load that waits behind another goes on after a reset",
            "a load that had not begun when the linker was reset",
            spec ->
                new EditedLinker(LinkerFactory.unifiedCache().open(spec)) {
                  private final Map<String, TransferRequest> requests = new HashMap<>();
                  private final List<TransferRequest> ended = new ArrayList<>();

                  @Override
                  public void load(TransferRequest request) {
                    super.load(request);
                    requests.put(request.id(), request);
                  }

                  @Override
                  public Drained reset() {
                    Drained real = super.reset();
                    for (Completion each : real.loads()) {
                      TransferRequest request = requests.get(each.id());
                      if (!each.ok() && request != null) {
                        ended.add(request);
                      }
                    }
                    return real;
                  }

                  @Override
                  public LoadBatch startLayerWiseLoading() {
                    ended.forEach(request -> Edits.clear(spec, request, source -> true));
                    ended.clear();
                    return super.startLayerWiseLoading();
                  }
                }),
        mutant(
            "linker.quiesce",
            "an offload that was not computed yet goes on after a reset",
            "the puts after a reset of an offload",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      private final List<TransferRequest> waiting = new ArrayList<>();

                      @Override
                      public void offload(TransferRequest request) {
                        super.offload(request);
                        if (!request.ready().toCompletableFuture().isDone()) {
                          waiting.add(request);
                        }
                      }

                      @Override
                      public Drained reset() {
                        Drained real = super.reset();
                        for (TransferRequest request : waiting) {
                          var unused =
                              request
                                  .ready()
                                  .thenRun(
                                      () -> {
                                        linker.offload(request);
                                        // So that it is seen on a slow machine, too.
                                        assertThat(linker.pollOffloads(Duration.ofSeconds(10)))
                                            .hasSize(1);
                                      });
                        }
                        return real;
                      }
                    })),
        mutant(
            "linker.quiesce",
            "memory is unregistered at close though a transfer uses it",
            "the registrations while a transfer may still touch the memory",
            store(
                store ->
                    new EditedStore(store) {
                      private final List<Registration> all = new CopyOnWriteArrayList<>();

                      @Override
                      public Registration register(Memory memory) {
                        Registration registration = super.register(memory);
                        all.add(registration);
                        return registration;
                      }

                      @Override
                      public void close() {
                        all.forEach(Registration::close);
                        super.close();
                      }
                    })),
        mutant(
            "linker.quiesce",
            "a linker that is closed has no completions, and does not say that it is closed",
            "pollLoads of a linker that is closed",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        try {
                          return super.pollLoads(atMost);
                        } catch (CacheException e) {
                          if (e.code() != FailureCode.CLOSED) {
                            throw e;
                          }
                          return List.of();
                        }
                      }
                    })),
        mutant(
            "linker.quiesce",
            "memory stays registered after close",
            "the registrations of memory after close",
            store(
                store ->
                    new EditedStore(store) {
                      @Override
                      public Registration register(Memory memory) {
                        var unused = super.register(memory);
                        return () -> {};
                      }
                    })));
  }

  /** Returns linkers that know how many calls of their store have memory. */
  private static LinkerFactory whileRunning(
      BiFunction<CacheLinker, AtomicInteger, CacheLinker> edit) {
    return spec -> {
      AtomicInteger running = new AtomicInteger();
      UnaryOperator<CacheStore> counting =
          store ->
              new EditedStore(store) {
                @Override
                BatchResult call(int entries, Supplier<BatchResult> call) {
                  running.incrementAndGet();
                  try {
                    return super.call(entries, call);
                  } finally {
                    running.decrementAndGet();
                  }
                }

                @Override
                public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                  return store.exists(keys, by);
                }
              };
      return edit.apply(
          LinkerFactory.unifiedCache().open(Edits.withStore(spec, counting)), running);
    };
  }

  private static LinkerFactory drained(UnaryOperator<Drained> change) {
    return linker(
        linker ->
            new EditedLinker(linker) {
              @Override
              public Drained reset() {
                return change.apply(super.reset());
              }
            });
  }

  private static List<Mutant> startPolicy() {
    return List.of(
        mutant(
            "linker.start-policy",
            "a linker that is to fail fast waits for a store that hangs",
            "within linker.start-timeout",
            setting("linker.start-timeout", old -> "6s", "")),
        mutant(
            "linker.start-policy",
            "a linker that is to fail fast begins without its store",
            "open with fail-fast and a store that is absent",
            setting("linker.start-policy", old -> "degraded", "")),
        mutant(
            "linker.start-policy",
            "a linker that may begin without its store does not",
            "open with degraded and a store that is absent",
            setting("linker.start-policy", old -> "fail-fast", "")),
        mutant(
                "linker.start-policy",
                "the store is not tried again",
                "hits to resume",
                setting("linker.retry-interval", old -> "1h", ""))
            .alsoBreaking("linker.outage"),
        mutant(
            "linker.start-policy",
            "a lookup throws while the store is absent",
            "observed",
            spec -> {
              AtomicBoolean opened = new AtomicBoolean();
              UnaryOperator<CacheStore> noticing =
                  store -> {
                    opened.set(true);
                    return store;
                  };
              return new EditedLinker(
                  LinkerFactory.unifiedCache().open(Edits.withStore(spec, noticing))) {
                @Override
                public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
                  if (!opened.get()) {
                    throw new CacheException(FailureCode.UNREACHABLE, "there is no store");
                  }
                  return super.lookup(pages, pools);
                }
              };
            }),
        mutant(
            "linker.start-policy",
            "the cause is not told",
            "to tell the cause",
            spec -> {
              try {
                return LinkerFactory.unifiedCache().open(spec);
              } catch (CacheException e) {
                if (spec.ranks().size() > 1) {
                  // What ranks are told is another rule's business.
                  throw e;
                }
                throw new CacheException(e.code(), "the linker could not be opened");
              }
            }));
  }

  private static List<Mutant> deviceMemory() {
    return List.of(
        mutant(
            "linker.device-memory",
            "pools of device memory are taken",
            "open of pools of device memory",
            spec(spec -> Edits.withPools(spec, onHost(spec.pools(), buffer -> true)))),
        mutant(
            "linker.device-memory",
            "the first buffer of each object alone is looked at",
            "open of pools of device memory",
            spec(
                spec ->
                    Edits.withPools(spec, onHost(spec.pools(), buffer -> buffer.layer() > 0)))));
  }

  /** Returns pools with memory of the host in place of that of devices, in some buffers. */
  private static DevicePools onHost(DevicePools pools, Predicate<LayerBuffer> moved) {
    return new DevicePools(
        pools.pools().stream()
            .map(
                pool ->
                    new DevicePool(
                        pool.name(),
                        pool.source(),
                        pool.components().stream()
                            .map(
                                component ->
                                    new Component(
                                        component.name(),
                                        component.buffers().stream()
                                            .map(each -> moved.test(each) ? onHost(each) : each)
                                            .toList()))
                            .toList()))
            .toList(),
        pools.rankReplicated());
  }

  private static LayerBuffer onHost(LayerBuffer buffer) {
    return buffer.memory() instanceof DeviceMemory device
        ? new LayerBuffer(
            buffer.layer(),
            HostMemory.of(Arena.ofAuto().allocate(device.byteSize(), 4096)),
            buffer.slotStride(),
            buffer.pieceBytes())
        : buffer;
  }
}
