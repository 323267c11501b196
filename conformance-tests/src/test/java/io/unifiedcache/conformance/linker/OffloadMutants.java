package io.unifiedcache.conformance.linker;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.LinkerSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Small edits of this project's linker, each of which breaks a rule of offloads. */
public final class OffloadMutants {
  private static final StoreFailure GIVEN_UP =
      StoreFailure.of(FailureCode.CANCELLED, "something else failed");

  private OffloadMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        Edits.mutant(
            "offload.owner",
            "ranks that do not write say that all is stored",
            "completion of every rank",
            OffloadMutants::content),
        Edits.mutant(
            "offload.owner",
            "ranks that do not write do not wait for the owner",
            "while the owner is still writing",
            OffloadMutants::hasty),
        Edits.mutant(
            "offload.missing-only",
            "if an object of a request is missing, all are written",
            "a put of",
            seeing((keys, real) -> new HashSet<>(keys))),
        Edits.mutant(
            "offload.missing-only",
            "if an object of a page is missing, the page is written",
            "a put of",
            seeing(
                (keys, real) -> {
                  Set<String> broken = new HashSet<>();
                  for (int i = 0; i < keys.size(); i++) {
                    if (real.status(i) == ObjectStatus.ABSENT) {
                      broken.add(page(keys.get(i)));
                    }
                  }
                  Set<ObjectKey> whole = new HashSet<>(keys);
                  whole.removeIf(key -> !broken.contains(page(key)));
                  return whole;
                })),
        Edits.mutant(
            "offload.missing-only",
            "an object that another has put first counts as failed",
            "that another has put since the store was asked",
            over(
                store ->
                    new EditedStore(store) {
                      @Override
                      public BatchResult put(List<PutOp> ops, Deadline by) {
                        BatchResult real = super.put(ops, by);
                        BatchResult.Builder told = BatchResult.builder(ops.size());
                        for (int i = 0; i < ops.size(); i++) {
                          if (real.status(i) == ObjectStatus.FAILED) {
                            told.failed(i, real.failure(i));
                          } else if (real.status(i) == ObjectStatus.PRESENT) {
                            told.failed(i, GIVEN_UP);
                          } else {
                            told.set(i, real.status(i));
                          }
                        }
                        return told.build();
                      }
                    })),
        Edits.mutant(
                "offload.partial",
                "an object of which the store does not say whether it has it counts as stored",
                "when the store did not say whether it has one of their objects",
                asking(
                    (keys, real) -> {
                      BatchResult.Builder told = BatchResult.builder(keys.size());
                      for (int i = 0; i < keys.size(); i++) {
                        boolean failed = real.status(i) == ObjectStatus.FAILED;
                        told.set(i, failed ? ObjectStatus.OK : real.status(i));
                      }
                      return told.build();
                    }))
            .alsoBreaking("linker.outage"),
        Edits.mutant(
            "offload.partial",
            "a page counts as stored if its first object is",
            "to list these two",
            over(
                store ->
                    new EditedStore(store) {
                      @Override
                      public BatchResult put(List<PutOp> ops, Deadline by) {
                        BatchResult real = super.put(ops, by);
                        BatchResult.Builder told = BatchResult.builder(ops.size());
                        for (int i = 0; i < ops.size(); i++) {
                          boolean first = !ops.get(i).key().value().endsWith("_v");
                          if (first && real.status(i) == ObjectStatus.FAILED) {
                            told.failed(i, real.failure(i));
                          } else {
                            told.set(i, first ? real.status(i) : ObjectStatus.OK);
                          }
                        }
                        return told.build();
                      }
                    })),
        Edits.mutant(
            "offload.partial",
            "what comes after a failure is not tried",
            "to list these two",
            over(
                store ->
                    new EditedStore(store) {
                      @Override
                      public BatchResult put(List<PutOp> ops, Deadline by) {
                        BatchResult.Builder told = BatchResult.builder(ops.size());
                        StoreFailure failed = null;
                        for (int i = 0; i < ops.size(); i++) {
                          if (failed != null) {
                            told.failed(i, GIVEN_UP);
                            continue;
                          }
                          BatchResult real = super.put(ops.subList(i, i + 1), by);
                          if (real.status(0) == ObjectStatus.FAILED) {
                            failed = real.failure(0);
                            told.failed(i, failed);
                          } else {
                            told.set(i, real.status(0));
                          }
                        }
                        return told.build();
                      }
                    })),
        Edits.mutant(
                "offload.partial",
                "one page that failed fails the others",
                "to list these two",
                OffloadMutants::allOrNothing)
            .alsoBreaking("offload.ready-timeout", "linker.outage"),
        Edits.mutant(
                "offload.poison",
                "pages are read before they have been computed",
                "before the pages have been computed",
                OffloadMutants::early)
            .alsoBreaking("offload.ready-timeout"),
        Edits.mutant(
            "offload.poison",
            "completion is told before the pages have been read",
            "while the store has not read its pages",
            OffloadMutants::late),
        Edits.mutant(
                "offload.poison",
                "pages are stored that could not be computed",
                "could not be computed",
                Edits.linker(
                    linker ->
                        new EditedLinker(linker) {
                          @Override
                          public void offload(TransferRequest request) {
                            super.offload(
                                request.ready().toCompletableFuture().isCompletedExceptionally()
                                    ? new TransferRequest(request.id(), request.transfers())
                                    : request);
                          }
                        }))
            .alsoBreaking("load.ready-fails"));
  }

  // Several ranks.

  private static boolean isReplicated(LinkerSpec spec) {
    return spec.pools().rankReplicated() && spec.ranks().size() > 1;
  }

  private static CacheLinker content(LinkerSpec spec) {
    CacheLinker linker = LinkerFactory.unifiedCache().open(spec);
    if (!isReplicated(spec) || spec.ranks().rank() == 0) {
      return linker;
    }
    return new EditedLinker(linker) {
      @Override
      public List<Completion> pollOffloads(Duration atMost) {
        return super.pollOffloads(atMost).stream()
            .map(each -> new Completion(each.id(), List.of()))
            .toList();
      }
    };
  }

  private static CacheLinker hasty(LinkerSpec spec) {
    CacheLinker linker = LinkerFactory.unifiedCache().open(spec);
    if (!isReplicated(spec) || spec.ranks().rank() == 0) {
      return linker;
    }
    Set<String> untold = new LinkedHashSet<>();
    return new EditedLinker(linker) {
      @Override
      public void offload(TransferRequest request) {
        super.offload(request);
        untold.add(request.id());
      }

      @Override
      public List<Completion> pollOffloads(Duration atMost) {
        List<Completion> told = new ArrayList<>();
        for (Completion each : super.pollOffloads(atMost)) {
          if (untold.remove(each.id())) {
            told.add(each);
          }
        }
        if (told.isEmpty()) {
          untold.forEach(id -> told.add(new Completion(id, List.of())));
          untold.clear();
        }
        return told;
      }
    };
  }

  // What a linker makes of the answers of its store.

  private static LinkerFactory over(UnaryOperator<CacheStore> edit) {
    return spec -> LinkerFactory.unifiedCache().open(Edits.withStore(spec, edit));
  }

  /** Returns the key without the name of the component. */
  private static String page(ObjectKey key) {
    return key.value().substring(0, key.value().lastIndexOf('_'));
  }

  private interface Seeing {
    /** Returns what looks absent, of a request of which something is. */
    Set<ObjectKey> absent(List<ObjectKey> keys, BatchResult real);
  }

  /** Returns linkers whose offloads, and nothing else, find less in the store than there is. */
  private static LinkerFactory seeing(Seeing edit) {
    return asking(
        (keys, real) ->
            real.count(ObjectStatus.OK) == keys.size()
                ? real
                : absentWhereOk(real, keys, edit.absent(keys, real)));
  }

  /** Returns linkers whose offloads, and nothing else, are told otherwise what the store has. */
  private static LinkerFactory asking(BiFunction<List<ObjectKey>, BatchResult, BatchResult> edit) {
    return spec -> {
      // Lookups may ask the store on any thread.
      AtomicInteger looking = new AtomicInteger();
      LinkerSpec edited =
          Edits.withStore(
              spec,
              store ->
                  new EditedStore(store) {
                    @Override
                    public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                      BatchResult real = super.exists(keys, by);
                      return looking.get() > 0 ? real : edit.apply(keys, real);
                    }
                  });
      return new EditedLinker(LinkerFactory.unifiedCache().open(edited)) {
        @Override
        public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
          looking.incrementAndGet();
          try {
            return super.lookup(pages, pools);
          } finally {
            looking.decrementAndGet();
          }
        }
      };
    };
  }

  /** Makes some objects that are there look absent. */
  private static BatchResult absentWhereOk(
      BatchResult real, List<ObjectKey> keys, Set<ObjectKey> some) {
    BatchResult.Builder told = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      if (real.status(i) == ObjectStatus.FAILED) {
        told.failed(i, real.failure(i));
      } else {
        told.set(i, some.contains(keys.get(i)) ? ObjectStatus.ABSENT : real.status(i));
      }
    }
    return told.build();
  }

  private static CacheLinker allOrNothing(LinkerSpec spec) {
    CacheLinker linker = LinkerFactory.unifiedCache().open(spec);
    if (spec.ranks().size() > 1) {
      return linker;
    }
    Map<String, List<PageKey>> pages = new HashMap<>();
    return new EditedLinker(linker) {
      @Override
      public void offload(TransferRequest request) {
        super.offload(request);
        pages.put(request.id(), request.transfers().getFirst().keys());
      }

      @Override
      public List<Completion> pollOffloads(Duration atMost) {
        return super.pollOffloads(atMost).stream()
            .map(
                each ->
                    each.ok()
                        ? each
                        : new Completion(
                            each.id(),
                            pages.getOrDefault(each.id(), List.of()).stream()
                                .map(page -> new PageFailure(PoolName.KV, page, GIVEN_UP))
                                .toList()))
            .toList();
      }
    };
  }

  /** Does not wait until a request is ready. */
  private static CacheLinker early(LinkerSpec spec) {
    Semaphore puts = new Semaphore(0);
    LinkerSpec edited =
        Edits.withStore(
            spec,
            store ->
                new EditedStore(store) {
                  @Override
                  public BatchResult put(List<PutOp> ops, Deadline by) {
                    puts.release();
                    return super.put(ops, by);
                  }
                });
    return new EditedLinker(LinkerFactory.unifiedCache().open(edited)) {
      @Override
      public void offload(TransferRequest request) {
        if (isReady(request)) {
          super.offload(request);
          return;
        }
        puts.drainPermits();
        super.offload(new TransferRequest(request.id(), request.transfers()));
        try {
          // So that it is seen on a slow machine, too.
          assertThat(puts.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    };
  }

  private static boolean isReady(TransferRequest request) {
    return request.ready().toCompletableFuture().isDone();
  }

  /** Does not wait for the put of what was not ready at first. */
  private static CacheLinker late(LinkerSpec spec) {
    AtomicBoolean late = new AtomicBoolean();
    AtomicReference<@Nullable CacheLinker> opened = new AtomicReference<>();
    LinkerSpec edited =
        Edits.withStore(
            spec,
            store ->
                new EditedStore(store) {
                  @Override
                  public BatchResult put(List<PutOp> ops, Deadline by) {
                    if (!late.getAndSet(false)) {
                      return super.put(ops, by);
                    }
                    long ended = offloads();
                    Thread.ofPlatform().daemon().start(() -> putLater(ended, ops, by));
                    BatchResult.Builder told = BatchResult.builder(ops.size());
                    for (int i = 0; i < ops.size(); i++) {
                      told.set(i, ObjectStatus.OK);
                    }
                    return told.build();
                  }

                  private long offloads() {
                    CacheLinker linker = opened.get();
                    return linker == null ? 0 : linker.stats().offloads();
                  }

                  private void putLater(long ended, List<PutOp> ops, Deadline by) {
                    while (offloads() == ended && !by.hasPassed()) {
                      LockSupport.parkNanos(100_000);
                    }
                    try {
                      var unused = super.put(ops, by);
                    } catch (CacheException e) {
                      // Closed in the meantime.
                      assertThat(e.code()).isEqualTo(FailureCode.CLOSED);
                    }
                  }
                });
    CacheLinker linker = LinkerFactory.unifiedCache().open(edited);
    opened.set(linker);
    return new EditedLinker(linker) {
      @Override
      public void offload(TransferRequest request) {
        late.set(!isReady(request));
        super.offload(request);
      }
    };
  }
}
