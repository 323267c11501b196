package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Script;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The rules of loads. */
public final class LoadRules {
  private static final StoreFailure BROKEN =
      StoreFailure.of(FailureCode.IO, "injected: the object could not be read");
  private static final StoreFailure CORRUPT =
      StoreFailure.of(FailureCode.CORRUPT, "injected: the bytes are not those that were put");

  /** How often to cancel at random points at least, on a store that is slow. */
  private static final int LEAST_CANCELS = 20;

  private LoadRules() {}

  @Rule(
      id = "load.deferred",
      scope = Scope.LINKER,
      text =
          "A load is only queued by the call; its bytes move after the start, which leaves out a"
              + " load whose slots are not free yet; one whose slots never will be fails.",
      hint =
          "Do not read, open or ask for an object of a load before it is started, and start no load"
              + " whose ready stage has not ended.")
  static void deferred(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          engine.store().forgetCalls();
          engine.linker().load(engine.request("a", pages, 4));
          engine.linker().load(engine.request("b", pages, 8));
          trial.expectEqual(
              "the completions of loads that were not started",
              List.of(),
              engine.linker().pollLoads(Duration.ZERO));
          rig.pause(rig.moment());
          trial.expectEqual(
              "the calls of the store before the start", List.of(), engine.store().calls());
          trial.expect(
              engine.isPoisoned(4) && engine.isPoisoned(9),
              "the slots of a load to be untouched before the start",
              () -> "they were written");
          LoadBatch batch = engine.linker().startLayerWiseLoading();
          trial.expectEqual(
              "the requests that the start has started", List.of("a", "b"), batch.requests());
          engine.awaitEnd(batch);
          Map<String, Completion> completions = engine.pollLoads("a", "b");
          engine.expectOk("a", completions);
          engine.expectOk("b", completions);
          engine.expectHeld("the load, once started,", pages, 4);
          engine.expectHeld("the load, once started,", pages, 8);
        });
    LinkerRig.attempt(trial, LoadRules::slotsNotFreeYet);
    LinkerRig.attempt(trial, LoadRules::slotsNeverFree);
  }

  private static void slotsNotFreeYet(LinkerRig rig) {
    Trial trial = rig.trial();
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    CompletableFuture<String> free = new CompletableFuture<>();
    engine.linker().load(engine.request("later", engine.pools().sources(), pages, 4, free));
    engine.linker().load(engine.request("now", pages, 8));
    LoadBatch batch = engine.linker().startLayerWiseLoading();
    trial.expectEqual(
        "the requests of a start when the slots of one of two loads are not free",
        List.of("now"),
        batch.requests());
    engine.awaitEnd(batch);
    engine.expectOk("now", engine.pollLoads("now"));
    trial.expect(
        engine.isPoisoned(4),
        "slots to be untouched before they are free",
        () -> "they were written");
    free.complete("free");
    LoadBatch next = engine.linker().startLayerWiseLoading();
    trial.expectEqual(
        "the requests of a start once the slots are free", List.of("later"), next.requests());
    engine.awaitEnd(next);
    engine.expectOk("later", engine.pollLoads("later"));
    engine.expectHeld("a load whose slots have become free", pages, 4);
  }

  private static void slotsNeverFree(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    CompletableFuture<String> never =
        CompletableFuture.failedFuture(new IllegalStateException("injected: no slot is free"));
    LoadBatch batch =
        engine.start(
            engine.request("never", engine.pools().sources(), pages, 4, never),
            engine.request("now", pages, 8));
    engine.awaitEnd(batch);
    Map<String, Completion> completions = engine.pollLoads("never", "now");
    Completion failed = engine.expectFailed("never", completions);
    rig.trial()
        .expect(
            failed.failures().stream().anyMatch(each -> each.page().equals(pages.getFirst())),
            "the completion of a load whose slots never become free to name its page",
            () -> Engine.describe(failed));
    rig.trial()
        .expect(
            engine.isPoisoned(4),
            "slots that never become free to be untouched",
            () -> "they were written");
    engine.expectOk("now", completions);
    engine.expectHeld("the neighbour of a load whose slots never become free", pages, 8);
  }

  @Rule(
      id = "load.layer-order",
      scope = Scope.LINKER,
      text =
          "A layer is announced only when its bytes are in place for every request still in the"
              + " batch; layer i implies the layers below it.",
      hint =
          "Announce a layer after the last read that fills a part of it has returned; where whole"
              + " objects are read, announce all layers after the last object.")
  static void layerOrder(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.withSide().open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          engine.store(pages);
          Gate gate = engine.store().gate(call -> call.step().fillsMemory());
          LoadBatch batch =
              engine.start(engine.request("a", pages, 4), engine.request("b", pages, 8));
          List<Future<Optional<String>>> waits = new ArrayList<>();
          for (int layer = 0; layer < engine.layers(); layer++) {
            int number = layer;
            waits.add(
                trial.start(
                    "layer-" + layer,
                    () -> {
                      var unused = batch.awaitLayer(number, rig.patience());
                      Optional<String> first = engine.difference(pages.getFirst(), 4, number);
                      return first.or(() -> engine.difference(pages.getFirst(), 8, number));
                    }));
          }
          while (!waits.getLast().isDone()) {
            // Before each transfer, so that a wait that ends too soon ends before it.
            if (gate.awaitArrival(rig.moment().toNanos()) != null) {
              rig.pause(rig.moment().dividedBy(2));
              gate.letOneGo();
            }
          }
          for (int layer = 0; layer < engine.layers(); layer++) {
            Optional<String> difference = trial.await("a wait for a layer", waits.get(layer));
            int number = layer;
            trial.expect(
                difference.isEmpty(),
                "the bytes of layers 0 to %d to be in place once layer %d is announced"
                    .formatted(layer, layer),
                () -> "when the wait for layer " + number + " returned, " + difference.orElse(""));
          }
          engine.store().release();
          for (int layer = 0; layer < engine.layers(); layer++) {
            int number = layer;
            served(
                "a wait for layer " + layer + " after the last was announced",
                () -> batch.awaitLayer(number, Duration.ZERO));
          }
          var unused = engine.pollLoads("a", "b");
        });
  }

  @Rule(
      id = "load.layer-failure",
      scope = Scope.LINKER,
      text =
          "A failure at layer i takes its request out of the batch: every wait for i and above"
              + " names it with its cause, at once, and layers that were announced stay so; when"
              + " nobody is left, or the store itself is lost, waits throw with the cause; nobody"
              + " hangs.",
      hint =
          "Keep the first failure of each request and wake all waits when one comes; announce no"
              + " layer and end no wait with TIMEOUT for a request that has failed.")
  static void layerFailure(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.open();
          List<PageKey> bad = LinkerRig.pages("bad", 1);
          List<PageKey> good = LinkerRig.pages("good", 1);
          engine.store(bad);
          engine.store(good);
          oneOfThreeFails(rig, engine, bad, good);
          everybodyFails(rig, engine, bad);
          storeIsLost(rig, engine, good);
        });
  }

  private static void oneOfThreeFails(
      LinkerRig rig, Engine engine, List<PageKey> bad, List<PageKey> good) {
    Trial trial = rig.trial();
    LaterLayersFail failing = new LaterLayersFail(engine, engine.objects(bad.getFirst()));
    engine.store().follow(failing);
    LoadBatch batch =
        engine.start(
            engine.request("good", good, 4),
            engine.request("bad", bad, 5),
            engine.request("also", good, 6));
    for (int i = engine.lastLayer(); i >= failing.firstLayer(); i--) {
      int layer = i;
      LayerProgress progress =
          served(
              "the wait for layer " + layer + ", which one of three requests failed,",
              () -> batch.awaitLayer(layer, rig.patience()));
      StoreFailure cause = progress.failed().get("bad");
      trial.expect(
          progress.failed().keySet().equals(Set.of("bad"))
              && cause != null
              && cause.code() == BROKEN.code()
              && cause.message().contains(BROKEN.message()),
          "the wait for layer " + layer + " to name the one request that failed, and its cause IO",
          () -> "it names " + progress.failed());
    }
    if (failing.firstLayer() > 0) {
      served("a wait for layer 0 afterwards", () -> batch.awaitLayer(0, Duration.ZERO));
    }
    engine.store().follow(Script.NONE);
    var unused = engine.pollLoads("good", "bad", "also");
  }

  private static void everybodyFails(LinkerRig rig, Engine engine, List<PageKey> bad) {
    Trial trial = rig.trial();
    LaterLayersFail failing = new LaterLayersFail(engine, engine.objects(bad.getFirst()));
    Gate gate = engine.store().gate(failing::isToFail, failing);
    LoadBatch batch = engine.start(engine.request("bad", bad, 5));
    int firstLayer = failing.firstLayer(gate.awaitArrival());
    // Waits that have begun before the failure come to their end by it.
    List<Future<LayerProgress>> waits = new ArrayList<>();
    for (int i = firstLayer; i < engine.layers(); i++) {
      int layer = i;
      waits.add(trial.start("layer-" + i, () -> batch.awaitLayer(layer, rig.patience())));
    }
    rig.pause(rig.moment().dividedBy(2));
    gate.open();
    for (Future<LayerProgress> wait : waits) {
      expectThrown(
          "a wait that has begun before everybody failed",
          () -> trial.await("a wait that everybody's failure ends", wait),
          BROKEN);
    }
    for (int i = firstLayer; i < engine.layers(); i++) {
      int layer = i;
      expectThrown(
          "a wait for layer " + i + ", which everybody failed,",
          () -> batch.awaitLayer(layer, rig.patience()),
          BROKEN);
    }
    if (firstLayer > 0) {
      LayerProgress progress =
          served("a wait for layer 0, which is in place", () -> batch.awaitLayer(0, Duration.ZERO));
      trial.expectEqual(
          "the requests that a wait for layer 0 names", Set.of("bad"), progress.failed().keySet());
    }
    engine.store().follow(Script.NONE);
    var unused = engine.pollLoads("bad");
  }

  private static void storeIsLost(LinkerRig rig, Engine engine, List<PageKey> good) {
    StoreFailure lost = StoreFailure.of(FailureCode.UNREACHABLE, "injected: the server is gone");
    engine
        .store()
        .follow(
            Script.throwing(
                new CacheException(lost.code(), lost.message()), Step.OPEN, Step.READ, Step.GET));
    LoadBatch batch = engine.start(engine.request("good", good, 4));
    expectThrown("a wait on a store that is lost", () -> batch.awaitLayer(0, rig.patience()), lost);
    engine.store().follow(Script.NONE);
    var unused = engine.pollLoads("good");
    LoadBatch next = engine.start(engine.request("next", good, 4));
    served(
        "a wait once the store is back", () -> next.awaitLayer(engine.lastLayer(), rig.patience()));
    var unusedNext = engine.pollLoads("next");
  }

  /**
   * Fails some objects in each read that does not serve the first layer alone, and in all of
   * whoever reads whole objects.
   */
  private static final class LaterLayersFail implements Script {
    private final Engine engine;
    private final Set<ObjectKey> objects;
    private volatile int first;

    private LaterLayersFail(Engine engine, List<ObjectKey> objects) {
      this.engine = engine;
      this.objects = Set.copyOf(objects);
    }

    boolean isToFail(Call call) {
      return call.step() == Step.GET
          || (call.step() == Step.READ && !engine.layersOf(call).equals(Set.of(0)));
    }

    @Override
    public @Nullable StoreFailure failure(Call call, int i) {
      if (isToFail(call) && objects.contains(call.keys().get(i))) {
        first = firstLayer(call);
        return BROKEN;
      }
      return null;
    }

    /** Returns the first layer that a call failed. */
    int firstLayer(Call call) {
      SortedSet<Integer> layers = engine.layersOf(call);
      return call.step() == Step.GET || layers.isEmpty() ? 0 : layers.first();
    }

    /** Returns the first layer that has failed, once a later one was waited for. */
    int firstLayer() {
      return first;
    }
  }

  @Rule(
      id = "load.failed-never-loaded",
      scope = Scope.LINKER,
      text =
          "A request with any failed page completes as failed, exactly once; the pages are named;"
              + " their memory is not called valid; its neighbours in the batch complete as loaded"
              + " if theirs is.",
      hint =
          "Take every status of a store that is not OK, and every answer of another size, for a"
              + " failure of the objects it is about, and derive the completion from these alone.")
  static void failedNeverLoaded(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.open();
          // What has failed is suspect, and so every fault has pages of its own.
          int number = 0;
          for (Step step : List.of(Step.OPEN, Step.READ, Step.GET)) {
            for (StoreFailure failure : List.of(CORRUPT, BROKEN.withMemory(MemoryState.DIRTY))) {
              onePageFails(rig, engine, step, failure, number++);
            }
            for (int extra : List.of(1, -1)) {
              answersOfAnotherSize(rig, engine, step, extra, number++);
            }
          }
        });
  }

  private static void onePageFails(
      LinkerRig rig, Engine engine, Step step, StoreFailure failure, int number) {
    if (!isUsed(engine, step)) {
      return;
    }
    Trial trial = rig.trial();
    List<PageKey> bad = LinkerRig.pages("b" + number + "-", 2);
    List<PageKey> good = LinkerRig.pages("g" + number + "-", 1);
    engine.store(bad);
    engine.store(good);
    long loads = engine.linker().stats().loads();
    ObjectKey broken = engine.objects(bad.get(1)).getFirst();
    engine.store().follow(Script.failing(failure, Set.of(broken), step));
    String failing = "bad" + number;
    LoadBatch batch =
        engine.start(engine.request(failing, bad, 4), engine.request("good", good, 8));
    engine.awaitEnd(batch);
    Map<String, Completion> completions = engine.pollLoads(failing, "good");
    long answers = engine.answers(failing);
    engine.store().follow(Script.NONE);
    if (engine.store().calls(step).stream().noneMatch(call -> call.keys().contains(broken))) {
      // This linker reads in another way.
      return;
    }
    Completion failed = engine.expectFailed(failing, completions);
    expectNamed(trial, failed, bad.get(1), failure.code());
    trial.expectEqual("the number of completions of a request that failed", 1L, answers);
    engine.expectOk("good", completions);
    engine.expectHeld("the neighbour of a request that failed", good, 8);
    trial.expectEqual(
        "the count of loads in stats, after one of two has failed",
        loads + 1,
        engine.linker().stats().loads());
  }

  private static void answersOfAnotherSize(
      LinkerRig rig, Engine engine, Step step, int extra, int number) {
    if (!isUsed(engine, step)) {
      return;
    }
    List<PageKey> pages = LinkerRig.pages("s" + number + "-", 1);
    engine.store(pages);
    engine
        .store()
        .follow(
            new Script() {
              @Override
              public BatchResult answer(Call call, BatchResult result) {
                return call.step() == step
                    ? BatchResult.all(result.size() + extra, ObjectStatus.OK)
                    : result;
              }
            });
    LoadBatch batch = engine.start(engine.request("bad" + number, pages, 4));
    engine.awaitEnd(batch);
    Map<String, Completion> completions = engine.pollLoads("bad" + number);
    engine.store().follow(Script.NONE);
    if (!engine.store().calls(step).isEmpty()) {
      Completion failed = engine.expectFailed("bad" + number, completions);
      rig.trial()
          .expect(
              failed.failures().stream().anyMatch(each -> each.page().equals(pages.getFirst())),
              "the completion of a load that got an answer of another size to name its page",
              () -> Engine.describe(failed));
    }
  }

  private static boolean isUsed(Engine engine, Step step) {
    boolean ranges = engine.store().capabilities().contains(Capability.RANGED_READ);
    return ranges == (step != Step.GET);
  }

  static void expectNamed(Trial trial, Completion failed, PageKey page, FailureCode... codes) {
    List<FailureCode> legal = List.of(codes);
    trial.expect(
        failed.failures().stream()
            .anyMatch(each -> each.page().equals(page) && legal.contains(each.cause().code())),
        "the completion of %s to name page %s and its cause %s".formatted(failed.id(), page, legal),
        () -> Engine.describe(failed));
  }

  @Rule(
      id = "load.no-livelock",
      scope = Scope.LINKER,
      text =
          "An object that failed to load is suspect: it is not offered by the next lookup until it"
              + " is stored anew or the suspicion expires; others of its page stay good; an offload"
              + " of an object that is still bad removes it and stores it anew.",
      hint =
          "Remember the objects that failed to load, leave them out of lookups, and clear one when"
              + " it is put again or linker.suspect-expiry has passed.")
  static void noLivelock(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 3);
          engine.store(pages);
          ObjectKey broken = failToLoad(rig, engine, pages);
          trial.expectEqual(
              "the longest restorable length after page 1 of 0 to 2 has failed to load",
              1,
              engine.restorable(pages));
          if (trial.has(Capability.REMOVE)) {
            engine.store().follow(new Damaged(broken, /* canBeRemoved= */ false));
            isNotStoredAnew(rig, engine, pages);
            engine.store().follow(new Damaged(broken, /* canBeRemoved= */ true));
            isStoredAnew(rig, engine, pages, broken);
          }
        });
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().without(Capability.REMOVE).open();
          List<PageKey> pages = LinkerRig.pages("p", 3);
          engine.store(pages);
          ObjectKey broken = failToLoad(rig, engine, pages);
          engine.store().follow(new Damaged(broken, /* canBeRemoved= */ false));
          isNotStoredAnew(rig, engine, pages);
        });
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          trial.expectEqual(
              "the longest restorable length of pages that were stored",
              2,
              engine.restorable(pages));
          CacheException lost = new CacheException(FailureCode.UNREACHABLE, "injected: lost");
          engine.store().follow(Script.throwing(lost, Step.OPEN, Step.READ, Step.GET));
          Completion unused = engine.load("a", pages, 4);
          engine.store().follow(Script.NONE);
          trial.expectEqual(
              "the longest restorable length after a load of all pages has thrown",
              0,
              engine.restorable(pages));
        });
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().set("linker.suspect-expiry", rig.moment()).open();
          List<PageKey> pages = LinkerRig.pages("p", 3);
          engine.store(pages);
          var unused = failToLoad(rig, engine, pages);
          rig.await(
              "an object that failed to load to be offered again once linker.suspect-expiry, %d ms,"
                      .formatted(rig.moment().toMillis())
                  + " has passed, and so 3 pages to be restorable",
              () -> engine.restorable(pages) == 3,
              () -> engine.restorable(pages) + " are");
        });
  }

  /** An object whose bytes are bad until it is removed: each read of it proves that. */
  static final class Damaged implements Script {
    private final ObjectKey object;
    private final boolean canBeRemoved;
    private volatile boolean removed;

    Damaged(ObjectKey object, boolean canBeRemoved) {
      this.object = object;
      this.canBeRemoved = canBeRemoved;
    }

    @Override
    public @Nullable StoreFailure failure(Call call, int i) {
      if (removed || !call.keys().get(i).equals(object)) {
        return null;
      }
      if (call.step() == Step.REMOVE) {
        removed = canBeRemoved;
        return canBeRemoved ? null : BROKEN;
      }
      return call.step().fillsMemory() ? CORRUPT : null;
    }
  }

  /** Has an object of page 1 fail to load as one whose bytes are bad. */
  private static ObjectKey failToLoad(LinkerRig rig, Engine engine, List<PageKey> pages) {
    rig.trial()
        .expectEqual(
            "the longest restorable length of pages that were stored",
            pages.size(),
            engine.restorable(pages));
    ObjectKey broken = engine.objects(pages.get(1)).getFirst();
    engine.store().follow(Script.failing(CORRUPT, Set.of(broken), Step.READ, Step.GET));
    Completion unused = engine.load("a", pages, 4);
    engine.store().follow(Script.NONE);
    return broken;
  }

  private static void isNotStoredAnew(LinkerRig rig, Engine engine, List<PageKey> pages) {
    Completion completion = engine.offload(engine.pools().sources(), pages.get(1), 1);
    rig.trial()
        .expect(
            !completion.ok(),
            "an offload of a page of which an object is suspect and cannot be removed to say that"
                + " it failed",
            () -> "it is ok");
    rig.trial()
        .expectEqual(
            "the longest restorable length while a suspect object of page 1 cannot be removed",
            1,
            engine.restorable(pages));
  }

  private static void isStoredAnew(
      LinkerRig rig, Engine engine, List<PageKey> pages, ObjectKey broken) {
    Trial trial = rig.trial();
    engine.store().forgetCalls();
    for (PageKey page : pages) {
      Completion completion = engine.offload(engine.pools().sources(), page, pages.indexOf(page));
      trial.expect(
          completion.ok(),
          "an offload of pages of which an object is suspect to store it anew",
          () -> Engine.describe(completion));
    }
    trial.expectEqual(
        "the objects that the offload has removed",
        Set.of(broken),
        keysOf(engine.store().calls(Step.REMOVE)));
    trial.expectEqual(
        "the objects that the offload has put",
        Set.of(broken),
        keysOf(engine.store().calls(Step.PUT)));
    trial.expectEqual(
        "the longest restorable length once the object was stored anew",
        pages.size(),
        engine.restorable(pages));
    engine.poison();
    Completion completion = engine.load("b", pages, 8);
    trial.expect(
        completion.ok(),
        "pages to load once the object was stored anew",
        () -> Engine.describe(completion));
    engine.expectHeld("a load of an object that was stored anew", pages, 8);
  }

  private static Set<ObjectKey> keysOf(List<Call> calls) {
    Set<ObjectKey> keys = new HashSet<>();
    calls.forEach(call -> keys.addAll(call.keys()));
    return keys;
  }

  @Rule(
      id = "load.partial-pools",
      scope = Scope.LINKER,
      text = "A load of KV alone, or of a side pool alone, works.",
      hint = "Load the sources that a request names, and expect no other among them.")
  static void partialPools(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.withSide().open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          List<PoolName> sources = List.of(PoolName.KV, Engine.SIDE);
          for (PoolName source : sources) {
            engine.poison();
            Set<PoolName> alone = Set.of(source);
            String id = "only-" + source;
            engine.awaitEnd(engine.start(engine.request(id, alone, pages, 4)));
            engine.expectOk(id, engine.pollLoads(id));
            for (int i = 0; i < pages.size(); i++) {
              Optional<String> difference =
                  engine.difference(alone, pages.get(i), 4 + i, engine.lastLayer());
              trial.expect(
                  difference.isEmpty(),
                  "a load of " + source + " alone to put every byte in its place",
                  () -> difference.orElse(""));
            }
            for (PoolName other : sources) {
              trial.expect(
                  other.equals(source) || engine.isPoisoned(other, 4),
                  "a load of " + source + " alone to leave the slots of others as they are",
                  () -> "slot 4 of " + other + " was written");
            }
          }
        });
  }

  @Rule(
      id = "load.evicted-between",
      scope = Scope.LINKER,
      text = "An object that is gone between lookup and load fails that request only.",
      hint =
          "Answer ABSENT, in an opened session or a get, as a failure of that object's page with"
              + " code ABSENT, and go on with the other requests of the batch.")
  static void evictedBetween(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.open();
          List<PageKey> gone = LinkerRig.pages("gone", 3);
          List<PageKey> kept = LinkerRig.pages("kept", 1);
          engine.store(gone);
          engine.store(kept);
          trial.expectEqual(
              "the longest restorable length before an object is gone", 3, engine.restorable(gone));
          engine.store().vanish(List.of(engine.objects(gone.get(1)).getLast()));
          LoadBatch batch =
              engine.start(engine.request("gone", gone, 4), engine.request("kept", kept, 8));
          engine.awaitEnd(batch);
          Map<String, Completion> completions = engine.pollLoads("gone", "kept");
          expectNamed(
              trial, engine.expectFailed("gone", completions), gone.get(1), FailureCode.ABSENT);
          engine.expectOk("kept", completions);
          engine.expectHeld("the neighbour of a request that lost an object", kept, 8);
        });
  }

  @Rule(
      id = "load.timeout",
      scope = Scope.LINKER,
      text =
          "A wait that times out fails every request still in the batch, finally; a late arrival"
              + " changes no answer, and slots are not free until the transfer has let go.",
      hint =
          "Decide a request once, whoever is first; complete it only when the store's call has"
              + " returned and memory that it left in use was released.")
  static void timeout(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          waitTimesOut(rig, engine, pages);
          memoryStaysInUse(rig, engine);
        });
  }

  private static void waitTimesOut(LinkerRig rig, Engine engine, List<PageKey> pages) {
    Trial trial = rig.trial();
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    LoadBatch batch = engine.start(engine.request("a", pages, 4), engine.request("b", pages, 8));
    gate.awaitArrival();
    expectThrown(
        "a wait that times out",
        () -> batch.awaitLayer(0, Duration.ofMillis(1)),
        FailureCode.TIMEOUT,
        "");
    expectThrown(
        "a wait after one has timed out",
        () -> batch.awaitLayer(0, Duration.ofMillis(1)),
        FailureCode.TIMEOUT,
        "");
    trial.expectEqual(
        "the completions while the transfer has the slots",
        List.of(),
        engine.linker().pollLoads(rig.moment()));
    gate.open();
    Map<String, Completion> completions = engine.pollLoads("a", "b");
    engine.store().follow(Script.NONE);
    for (String id : List.of("a", "b")) {
      Completion failed = engine.expectFailed(id, completions);
      for (PageKey page : pages) {
        expectNamed(trial, failed, page, FailureCode.TIMEOUT);
      }
    }
    expectThrown(
        "a wait after the late arrival",
        () -> batch.awaitLayer(engine.lastLayer(), rig.patience()),
        FailureCode.TIMEOUT,
        "");
  }

  private static void memoryStaysInUse(LinkerRig rig, Engine engine) {
    Trial trial = rig.trial();
    List<PageKey> pages = LinkerRig.pages("use", 1);
    engine.store(pages);
    CompletableFuture<String> released = new CompletableFuture<>();
    StoreFailure inUse = BROKEN.withMemory(new MemoryState.InUse(released));
    engine
        .store()
        .follow(
            Script.failing(inUse, Set.copyOf(engine.objects(pages.get(0))), Step.READ, Step.GET));
    engine.awaitEnd(engine.start(engine.request("used", pages, 4)));
    trial.expectEqual(
        "the completions while a failed transfer has the slots",
        List.of(),
        engine.linker().pollLoads(rig.moment()));
    released.complete("let go");
    Completion unused = engine.expectFailed("used", engine.pollLoads("used"));
  }

  @Rule(
      id = "load.cancel",
      scope = Scope.LINKER,
      text =
          "Each outcome of a cancel is told truthfully; unknown, finished and reused ids are"
              + " harmless; ids leave no trace once answered; nothing leaks over 1,000 cancels at"
              + " random points.",
      hint =
          "Answer CANCELLED_QUEUED only for a load that will never start, and forget its id with"
              + " that answer.")
  static void cancel(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          engine.store(pages);
          eachOutcome(rig, engine, pages);
          cancelsAtRandom(rig, engine, pages, trial.effort().rounds(1_000));
        });
  }

  private static void eachOutcome(LinkerRig rig, Engine engine, List<PageKey> pages) {
    expectCancel(rig, engine, "of an id that never was", CancelOutcome.UNKNOWN);
    engine.linker().load(engine.request("a", pages, 4));
    expectCancel(rig, engine, "of a queued load", CancelOutcome.CANCELLED_QUEUED);
    expectCancel(rig, engine, "of a load that was cancelled", CancelOutcome.UNKNOWN);
    rig.trial()
        .expectEqual(
            "the requests of a start after the only load was cancelled",
            List.of(),
            engine.linker().startLayerWiseLoading().requests());

    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    LoadBatch batch = engine.start(engine.request("a", pages, 4));
    gate.awaitArrival();
    expectCancel(rig, engine, "of a load whose transfer runs", CancelOutcome.RUNNING);
    engine.expectIllegal(
        "load of an id that has no terminal answer yet",
        linker -> linker.load(engine.request("a", pages, 8)));
    gate.open();
    engine.awaitEnd(batch);
    rig.await(
        "a cancel of a load that has ended to answer FINISHED",
        () -> engine.linker().cancel("a") == CancelOutcome.FINISHED,
        () -> "it answers " + engine.linker().cancel("a"));
    engine.expectOk("a", engine.pollLoads("a"));
    expectCancel(rig, engine, "of a load whose completion was polled", CancelOutcome.UNKNOWN);
    engine.store().follow(Script.NONE);
  }

  private static void expectCancel(
      LinkerRig rig, Engine engine, String what, CancelOutcome expected) {
    rig.trial().expectEqual("a cancel " + what, expected, engine.linker().cancel("a"));
  }

  private static void cancelsAtRandom(
      LinkerRig rig, Engine engine, List<PageKey> pages, int rounds) {
    Trial trial = rig.trial();
    Random random = trial.random();
    Deadline enough = Deadline.after(Duration.ofSeconds(trial.effort().quick() ? 1 : 5));
    int round = 0;
    for (; round < rounds && !(round >= LEAST_CANCELS && enough.hasPassed()); round++) {
      // The same id over and over: it has left no trace if it is taken again.
      engine.linker().load(engine.request("a", pages, 4));
      boolean started = random.nextInt(4) > 0;
      LoadBatch batch = null;
      if (started) {
        batch = engine.linker().startLayerWiseLoading();
        trial.expectEqual("the requests of a batch", List.of("a"), batch.requests());
        if (random.nextBoolean()) {
          engine.awaitEnd(batch);
        }
      }
      CancelOutcome outcome = engine.linker().cancel("a");
      trial.expect(
          started
              ? outcome == CancelOutcome.RUNNING || outcome == CancelOutcome.FINISHED
              : outcome == CancelOutcome.CANCELLED_QUEUED,
          "a cancel of a load that was " + (started ? "started" : "queued") + " to say so",
          outcome::toString);
      if (batch != null) {
        engine.awaitEnd(batch);
        engine.expectOk("a", engine.pollLoads("a"));
      }
    }
    if (round < rounds) {
      trial.note("tried with %d cancels only, since the store is slow".formatted(round));
    }
    engine.awaitEnd(engine.start(engine.request("a", pages, 4)));
    engine.expectOk("a", engine.pollLoads("a"));
    trial.expectEqual(
        "the requests of a start after all were cancelled or polled",
        List.of(),
        engine.linker().startLayerWiseLoading().requests());
    expectNothingOpen(rig, engine, round + " cancels");
  }

  private static void expectNothingOpen(LinkerRig rig, Engine engine, String after) {
    rig.await(
        "no read session to be open after " + after,
        () -> engine.store().openSessions() == 0,
        () -> engine.store().openSessions() + " are");
  }

  @Rule(
      id = "load.early-stop",
      scope = Scope.LINKER,
      text = "A consumer that stops waiting before the last layer leaks nothing.",
      hint =
          "Close read sessions and answer requests when the transfers end, whoever waits for"
              + " them.")
  static void earlyStop(Trial trial) {
    eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          int rounds = trial.effort().rounds(100);
          for (int round = 0; round < rounds; round++) {
            LoadBatch batch =
                engine.start(engine.request("a", pages, 4), engine.request("b", pages, 8));
            if (round % 2 == 0) {
              served("the wait for layer 0", () -> batch.awaitLayer(0, rig.patience()));
            }
            Map<String, Completion> completions = engine.pollLoads("a", "b");
            engine.expectOk("a", completions);
            engine.expectOk("b", completions);
          }
          expectNothingOpen(rig, engine, rounds + " loads that nobody waited for to the end");
          engine.poison();
          LoadBatch batch = engine.start(engine.request("a", pages, 4));
          served(
              "a wait for all of the next load",
              () -> batch.awaitLayer(engine.lastLayer(), rig.patience()));
          engine.expectOk("a", engine.pollLoads("a"));
          engine.expectHeld("a load after those", pages, 4);
        });
  }

  @Rule(
      id = "load.exactly-once",
      scope = Scope.LINKER,
      text =
          "There is one terminal answer per request: its completion, its CANCELLED_QUEUED, or its"
              + " place in what reset returned. Completions come in the order of the starts, and"
              + " within a batch in that of the loads.",
      hint = "Keep every load in one list from start to answer, and take it out with the answer.")
  static void exactlyOnce(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          List<PageKey> bad = LinkerRig.pages("bad", 1);
          engine.store(pages);
          engine.store(bad);
          engine.store().vanish(engine.objects(bad.getFirst()));
          List<String> answers = new ArrayList<>();
          LoadBatch batch =
              engine.start(
                  engine.request("first", pages, 4),
                  engine.request("failed", bad, 5),
                  engine.request("third", pages, 6));
          engine.linker().load(engine.request("cancelled", pages, 7));
          CancelOutcome outcome = engine.linker().cancel("cancelled");
          LoadBatch next = engine.start(engine.request("fourth", pages, 8));
          engine.awaitEnd(batch);
          engine.awaitEnd(next);
          pollInto(answers, rig, engine, 4);
          trial.expectEqual(
              "the order of the completions",
              List.of("first", "failed", "third", "fourth"),
              answers);
          trial.expectEqual("the cancel of a queued load", CancelOutcome.CANCELLED_QUEUED, outcome);

          engine.awaitEnd(engine.start(engine.request("finished", pages, 4)));
          engine.linker().load(engine.request("queued", pages, 5));
          List<String> drained = ids(engine.linker().reset().loads());
          trial.expectEqual(
              "the loads that reset returns, one of them not started",
              List.of("finished", "queued"),
              drained);
          trial.expectEqual(
              "the completions of requests that have been answered",
              List.of(),
              ids(engine.linker().pollLoads(Duration.ZERO)));
        });
  }

  private static void pollInto(List<String> answers, LinkerRig rig, Engine engine, int count) {
    while (answers.size() < count) {
      List<Completion> some = engine.linker().pollLoads(rig.patience());
      if (some.isEmpty()) {
        throw new Violation(
            "a completion of each of "
                + count
                + " loads within "
                + rig.patience().toSeconds()
                + " s",
            "completions of " + answers + " alone");
      }
      answers.addAll(ids(some));
    }
    answers.addAll(ids(engine.linker().pollLoads(Duration.ZERO)));
  }

  private static List<String> ids(List<Completion> completions) {
    return completions.stream().map(Completion::id).toList();
  }

  @Rule(
      id = "load.ranks-agree",
      scope = Scope.LINKER,
      text =
          "If one rank fails a request, the completion of every rank says failed; a dead rank is an"
              + " outcome by the deadline.",
      hint =
          "Have the ranks intersect what they loaded before a completion is returned, and wait for"
              + " another rank no longer than the timeouts say.")
  static void ranksAgree(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          List<Engine> ranks = rig.ranks(2, plan -> plan);
          List<PageKey> bad = LinkerRig.pages("bad", 2);
          List<PageKey> good = LinkerRig.pages("good", 1);
          rig.onEach(ranks, engine -> stored(engine, bad, good));
          Engine second = ranks.get(1);
          second
              .store()
              .follow(
                  Script.failing(
                      BROKEN, Set.copyOf(second.objects(bad.get(1))), Step.READ, Step.GET));
          List<Map<String, Completion>> completions =
              rig.onEach(
                  ranks,
                  engine -> {
                    LoadBatch batch =
                        engine.start(
                            engine.request("bad", bad, 4), engine.request("good", good, 8));
                    engine.awaitEnd(batch);
                    return engine.pollLoads("bad", "good");
                  });
          for (int rank = 0; rank < ranks.size(); rank++) {
            Completion failed = completions.get(rank).get("bad");
            int number = rank;
            trial.expect(
                failed != null
                    && !failed.ok()
                    && failed.failures().stream().anyMatch(each -> each.page().equals(bad.get(1))),
                "the completion of rank %d to say that page %s failed, which failed on rank 1"
                    .formatted(rank, bad.get(1)),
                () -> "rank " + number + " says " + completions.get(number));
            ranks.get(rank).expectOk("good", completions.get(rank));
          }
        });
    LinkerRig.attempt(trial, LoadRules::otherRankIsDead);
  }

  private static Boolean stored(Engine engine, List<PageKey> some, List<PageKey> others) {
    engine.store(some);
    engine.store(others);
    return true;
  }

  private static void otherRankIsDead(LinkerRig rig) {
    Trial trial = rig.trial();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    List<Engine> before = rig.ranks(2, plan -> plan);
    var unused = rig.onEach(before, engine -> stored(engine, pages, List.of()));
    Duration brief = Duration.ofMillis(50);
    Engine alive =
        rig.ranks(
                2,
                plan ->
                    plan.set("linker.rank-timeout", brief)
                        .set("linker.lookup-timeout", brief)
                        .set("linker.load-timeout", brief)
                        .set("linker.offload-timeout", brief))
            .getFirst();
    Future<Completion> answer =
        trial.start(
            "alive",
            () -> {
              alive.awaitEnd(alive.start(alive.request("a", pages, 4)));
              List<Completion> polled = List.of();
              while (polled.isEmpty()) {
                polled = alive.linker().pollLoads(brief);
              }
              return polled.getFirst();
            });
    rig.await(
        "a load whose other rank is dead to complete",
        answer::isDone,
        () -> "it has not, with timeouts of " + brief.toMillis() + " ms");
    Completion completion = trial.await("a load whose other rank is dead", answer);
    trial.expect(
        !completion.ok(),
        "the completion of a load whose other rank is dead to say failed",
        () -> "it is ok");
    trial.expectEqual(
        "the longest restorable length when the other rank is dead",
        0,
        rig.awaited("a lookup when the other rank is dead", () -> alive.restorable(pages)));
  }

  // What rules of loads have in common.

  interface PathRule {
    void tryOn(LinkerRig rig, Engine.Plan plan);
  }

  /** Tries a rule with ranged reads, where the store has them, and with whole objects. */
  static void eachPath(Trial trial, PathRule rule) {
    if (trial.has(Capability.RANGED_READ)) {
      LinkerRig.attempt(trial, rig -> rule.tryOn(rig, rig.engine()));
    }
    LinkerRig.attempt(trial, rig -> rule.tryOn(rig, rig.engine().without(Capability.RANGED_READ)));
  }

  /** Returns the answer of a wait that has to be served. */
  static LayerProgress served(String what, Supplier<LayerProgress> wait) {
    try {
      return wait.get();
    } catch (CacheException e) {
      throw new Violation(what + " to return", "it threw " + e.code() + ": " + e.getMessage(), e);
    }
  }

  /** Fails the rule unless a wait throws with the code and message of a cause. */
  private static void expectThrown(String what, Supplier<LayerProgress> wait, StoreFailure cause) {
    expectThrown(what, wait, cause.code(), cause.message());
  }

  private static void expectThrown(
      String what, Supplier<LayerProgress> wait, FailureCode code, String message) {
    String expected = what + " to throw a CacheException with the cause, " + code;
    LayerProgress progress;
    try {
      progress = wait.get();
    } catch (CacheException e) {
      if (e.code() != code || !String.valueOf(e.getMessage()).contains(message)) {
        throw new Violation(expected, "it threw " + e.code() + ": " + e.getMessage(), e);
      }
      return;
    }
    throw new Violation(expected, "it returned " + progress);
  }
}
