package io.unifiedcache.conformance.linker;

import static io.unifiedcache.conformance.linker.Edits.linker;
import static io.unifiedcache.conformance.linker.Edits.mutant;
import static io.unifiedcache.conformance.linker.Edits.setting;
import static io.unifiedcache.conformance.linker.Edits.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** Small edits of a linker, each of which takes a fault for something else. */
public final class FaultMutants {
  private FaultMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(
            sizeExact(), readyFails(), peek(), removeProven(), mendOnce(), readyTimeout(), away())
        .flatMap(Collection::stream)
        .toList();
  }

  private static List<Mutant> sizeExact() {
    return List.of(
        mutant(
            "load.size-exact",
            "the size of an object is not compared where ranges are read",
            "request bad to complete as failed",
            spec ->
                LinkerFactory.unifiedCache()
                    .open(
                        Edits.withStore(
                            spec,
                            store ->
                                new EditedStore(store) {
                                  @Override
                                  public ReadSession openSession(
                                      List<ObjectKey> keys, Deadline by) {
                                    return new EditedSession(
                                        store.openSession(keys, by), keys.size()) {
                                      @Override
                                      public long size(int entry) {
                                        return spec.pools()
                                            .pools()
                                            .getFirst()
                                            .components()
                                            .getLast()
                                            .objectBytes();
                                      }
                                    };
                                  }
                                }))),
        mutant(
            "load.size-exact",
            "an object of another size is taken for one that could not be read",
            "SIZE_MISMATCH",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        return super.pollLoads(atMost).stream()
                            .map(
                                each ->
                                    new Completion(
                                        each.id(),
                                        each.failures().stream()
                                            .map(FaultMutants::couldNotBeRead)
                                            .toList()))
                            .toList();
                      }
                    })));
  }

  private static PageFailure couldNotBeRead(PageFailure failure) {
    return failure.cause().code() == FailureCode.SIZE_MISMATCH
        ? new PageFailure(
            failure.pool(),
            failure.page(),
            StoreFailure.of(FailureCode.IO, failure.cause().message()))
        : failure;
  }

  private static List<Mutant> readyFails() {
    return List.of(
        mutant(
            "load.ready-fails",
            "a stage that was cancelled fails with the code of a defect",
            "CANCELLED",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        return super.pollLoads(atMost).stream()
                            .map(
                                each ->
                                    each.id().equals("gone")
                                        ? new Completion(
                                            each.id(),
                                            List.of(
                                                new PageFailure(
                                                    PoolName.KV,
                                                    each.failures().getFirst().page(),
                                                    StoreFailure.of(
                                                        each.failures().getFirst().cause().code()
                                                                == FailureCode.CANCELLED
                                                            ? FailureCode.INTERNAL
                                                            : each.failures()
                                                                .getFirst()
                                                                .cause()
                                                                .code(),
                                                        "a defect"))))
                                        : each)
                            .toList();
                      }
                    })),
        mutant(
            "load.ready-fails",
            "a stage that was cancelled is taken for one that has ended",
            "request gone to complete as failed",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public void load(TransferRequest request) {
                        CompletableFuture<?> ready = request.ready().toCompletableFuture();
                        super.load(
                            ready.isCancelled()
                                    || (ready.isCompletedExceptionally()
                                        && ready.exceptionNow() instanceof CancellationException)
                                ? new TransferRequest(request.id(), request.transfers())
                                : request);
                      }
                    })));
  }

  private static List<Mutant> peek() {
    return List.of(
        mutant(
            "load.peek",
            "a wait of no time fails the batch",
            "after one of no time",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      LoadBatch started(LoadBatch batch) {
                        return new EditedBatch(batch) {
                          @Override
                          public LayerProgress awaitLayer(int layer, Duration atMost) {
                            return super.awaitLayer(
                                layer, atMost.isZero() ? Duration.ofNanos(1) : atMost);
                          }
                        };
                      }
                    })));
  }

  private static List<Mutant> removeProven() {
    return List.of(
        mutant(
            "offload.remove-proven",
            "an object that could not be read is taken for bad",
            "the removals by an offload of a sound object",
            store(store -> new TakenForBad(store, Set.of(FailureCode.IO)))),
        mutant(
            "offload.remove-proven",
            "the engine's own fault is taken for one of the object",
            "the removals by an offload of a sound object",
            store(store -> new TakenForBad(store, Set.of(FailureCode.REFUSED)))),
        mutant(
            "offload.remove-proven",
            "what was bad once is removed without another look",
            "the removals by an offload of a sound object",
            store(store -> new TakenForBad(store, Set.of(FailureCode.CORRUPT)))));
  }

  /** Removes what failed once with some code before it is asked whether it is there. */
  private static final class TakenForBad extends EditedStore {
    private final Set<FailureCode> codes;
    private final Set<ObjectKey> bad = ConcurrentHashMap.newKeySet();

    private TakenForBad(CacheStore store, Set<FailureCode> codes) {
      super(store);
      this.codes = codes;
    }

    @Override
    public BatchResult get(List<GetOp> ops, Deadline by) {
      return noted(ops.stream().map(GetOp::key).toList(), super.get(ops, by));
    }

    @Override
    public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
      return new EditedSession(store.openSession(keys, by), keys.size()) {
        @Override
        public BatchResult read(List<ReadOp> ops, Deadline by) {
          List<ObjectKey> asked = ops.stream().map(op -> keys.get(op.entry())).toList();
          return noted(asked, super.read(ops, by));
        }
      };
    }

    private BatchResult noted(List<ObjectKey> keys, BatchResult result) {
      for (int i = 0; i < keys.size() && result.size() == keys.size(); i++) {
        if (result.status(i) == ObjectStatus.FAILED
            && codes.contains(result.failure(i).code())
            && "injected: the object cannot be read".equals(result.failure(i).message())) {
          bad.add(keys.get(i));
        }
      }
      return result;
    }

    @Override
    public BatchResult exists(List<ObjectKey> keys, Deadline by) {
      for (ObjectKey key : keys) {
        if (bad.remove(key)) {
          var unused = store.remove(List.of(key), /* evenIfLeased= */ true, by);
        }
      }
      return super.exists(keys, by);
    }
  }

  private static List<Mutant> mendOnce() {
    return List.of(
        mutant(
            "offload.mend-once",
            "an offload removes a bad object that another has stored anew",
            "to remove its object once",
            store(
                store ->
                    new EditedStore(store) {
                      @Override
                      public BatchResult remove(
                          List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
                        BatchResult first = super.remove(keys, evenIfLeased, by);
                        return first.isOk(0) ? super.remove(keys, evenIfLeased, by) : first;
                      }
                    })));
  }

  private static List<Mutant> readyTimeout() {
    return List.of(
        mutant(
            "offload.ready-timeout",
            "an offload waits for its pages for ever",
            "the completion of an offload",
            setting("linker.ready-timeout", old -> "1h", "")));
  }

  private static List<Mutant> away() {
    return List.of(
        mutant(
                "restore.deadline",
                "a lookup asks the store on the thread of the engine",
                "a lookup",
                setting("linker.lookup-timeout", old -> "1h", ""))
            .alsoBreaking("load.ranks-agree"),
        mutant(
            "linker.outage",
            "a store that is away is asked by every lookup",
            "to ask a store that is away a few times",
            setting("linker.outage-failures", old -> "0", "")),
        mutant(
            "linker.outage",
            "a store that was away is taken to be away for ever",
            "hits to come back once the store answers",
            setting("linker.retry-interval", old -> "20ms".equals(old) ? "1h" : old, "1s")));
  }
}
