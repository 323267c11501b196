package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Script;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

/** The rules of what a linker makes of a fault, and of what only looks like one. */
public final class FaultRules {
  private static final int LOOKUPS_OF_AN_OUTAGE = 200;

  private FaultRules() {}

  @Rule(
      id = "load.size-exact",
      scope = Scope.LINKER,
      needs = Capability.REMOVE,
      text =
          "An object that is larger or smaller than its page fails its request with SIZE_MISMATCH,"
              + " whether layers or whole objects are read.",
      hint =
          "Where ranges are read, compare the size that the session tells of each object with that"
              + " of the page before anything is read.")
  static void sizeExact(Trial trial) {
    for (int more : new int[] {8, -8}) {
      LoadRules.eachPath(
          trial,
          (rig, plan) -> {
            Engine engine = plan.open();
            List<PageKey> bad = LinkerRig.pages("bad", 2);
            List<PageKey> good = LinkerRig.pages("good", 1);
            engine.store(bad);
            engine.store(good);
            Prompt.expectPut(engine, bad);
            resize(rig, engine.objects(bad.get(1)).getLast(), engine.objectBytes() + more);
            LoadBatch batch =
                engine.start(engine.request("bad", bad, 4), engine.request("good", good, 8));
            engine.awaitEnd(batch);
            Map<String, Completion> completions = engine.pollLoads("bad", "good");
            Completion failed = engine.expectFailed("bad", completions);
            LoadRules.expectNamed(trial, failed, bad.get(1), FailureCode.SIZE_MISMATCH);
            engine.expectOk("good", completions);
            engine.expectHeld("the neighbour of a page of another size", good, 8);
          });
    }
  }

  /** Puts an object of another size in the place of one. */
  private static void resize(LinkerRig rig, ObjectKey key, long bytes) {
    CacheStore store = rig.storeUnderTest();
    Deadline by = Deadline.after(rig.patience());
    var unused = store.remove(List.of(key), /* evenIfLeased= */ true, by);
    PutOp op = new PutOp(key, List.of(rig.trial().memory(bytes)));
    if (!store.put(List.of(op), by).isOk(0)) {
      throw rig.trial().noHook("a store that takes an object again that was removed");
    }
  }

  @Rule(
      id = "load.ready-fails",
      scope = Scope.LINKER,
      text =
          "A load or an offload whose ready stage fails or is cancelled ends alone, with CANCELLED,"
              + " and makes no object suspect.",
      hint =
          "Take whatever ends the stage exceptionally, a CancellationException too, for the end of"
              + " that one request.")
  static void readyFails(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          CompletableFuture<String> cancelled = new CompletableFuture<>();
          cancelled.cancel(true);
          LoadBatch batch =
              engine.start(
                  engine.request("gone", engine.pools().sources(), pages, 4, cancelled),
                  engine.request("good", pages, 8));
          engine.awaitEnd(batch);
          Map<String, Completion> completions = engine.pollLoads("gone", "good");
          LoadRules.expectNamed(
              trial,
              engine.expectFailed("gone", completions),
              pages.getFirst(),
              FailureCode.CANCELLED);
          engine.expectOk("good", completions);
          engine.expectHeld("the neighbour of a load that was given up", pages, 8);
          trial.expectEqual(
              "the longest restorable length after a load of these pages was given up",
              pages.size(),
              engine.restorable(pages));
          engine
              .linker()
              .offload(engine.request("gone", engine.pools().sources(), pages, 4, cancelled));
          LoadRules.expectNamed(
              trial, engine.pollOffload(), pages.getFirst(), FailureCode.CANCELLED);
        });
  }

  @Rule(
      id = "load.peek",
      scope = Scope.LINKER,
      text =
          "A wait for a layer that may take no time throws TIMEOUT if the layer is not in place,"
              + " and fails no request.",
      hint = "Fail the batch of a wait that has come to its end, not of one that never began.")
  static void peek(Trial trial) {
    LoadRules.eachPath(
        trial,
        (rig, plan) -> {
          Engine engine = plan.open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          engine.store(pages);
          Gate gate = engine.store().gate(call -> call.step().fillsMemory());
          LoadBatch batch = engine.start(engine.request("a", pages, 4));
          gate.awaitArrival();
          LayerProgress seen = null;
          try {
            seen = batch.awaitLayer(engine.lastLayer(), Duration.ZERO);
          } catch (CacheException e) {
            trial.expectEqual(
                "the code of a wait of no time for a layer that is not in place",
                FailureCode.TIMEOUT,
                e.code());
          }
          if (seen != null) {
            throw new Violation(
                "a wait of no time for a layer that is not in place to throw", "it returned");
          }
          gate.open();
          var unused =
              LoadRules.served(
                  "a wait for the last layer after one of no time",
                  () -> batch.awaitLayer(engine.lastLayer(), rig.patience()));
          engine.expectOk("a", engine.pollLoads("a"));
          engine.expectHeld("a load that was looked at before its end", pages, 4);
        });
  }

  @Rule(
      id = "offload.remove-proven",
      scope = Scope.LINKER,
      needs = Capability.REMOVE,
      text =
          "An offload removes an object only if a load of it failed with CORRUPT or SIZE_MISMATCH,"
              + " and reading it once more just before does so, too.",
      hint =
          "Take no other code for a statement on the stored object, and prove anew what another"
              + " process may have mended since.")
  static void removeProven(Trial trial) {
    for (FailureCode code : FailureCode.values()) {
      LoadRules.eachPath(trial, (rig, plan) -> failThenOffload(rig, plan.open(), code));
    }
  }

  /** Has an object fail to load once, and then be sound. */
  private static void failThenOffload(LinkerRig rig, Engine engine, FailureCode code) {
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    Prompt.expectPut(engine, pages);
    ObjectKey object = engine.objects(pages.getFirst()).getFirst();
    StoreFailure failure = StoreFailure.of(code, "injected: the object cannot be read");
    engine.store().follow(Script.failing(failure, Set.of(object), Step.READ, Step.GET));
    LoadBatch batch = engine.start(engine.request("a", pages, 4));
    var unused = engine.pollLoads(batch.requests().getFirst());
    engine.store().follow(Script.NONE);
    engine.store().forgetCalls();
    Completion completion = engine.offload(engine.pools().sources(), pages.getFirst(), 0);
    rig.trial()
        .expectEqual(
            "the removals by an offload of a sound object that a load failed to read with " + code,
            List.of(),
            engine.store().calls(Step.REMOVE));
    rig.trial()
        .expect(
            completion.ok(),
            "an offload of an object that is sound, and failed to load with " + code + ", to be ok",
            () -> Engine.describe(completion));
  }

  @Rule(
      id = "offload.mend-once",
      scope = Scope.LINKER,
      needs = Capability.REMOVE,
      text = "Of two offloads of one bad page at once, neither removes what the other has stored.",
      hint =
          "Let one offload at a time remove an object and store it anew, and have the next look"
              + " whether that is still needed.")
  static void mendOnce(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          engine.store(pages);
          Prompt.expectPut(engine, pages);
          ObjectKey broken = engine.objects(pages.getFirst()).getFirst();
          LoadRules.Damaged damaged = new LoadRules.Damaged(broken, /* canBeRemoved= */ true);
          engine.store().follow(damaged);
          Completion unused = engine.load("a", pages, 4);
          engine.store().forgetCalls();
          Gate gate = engine.store().gate(call -> call.step() == Step.REMOVE, damaged);
          engine.fill(pages.getFirst(), 0);
          engine.linker().offload(engine.request("b", pages, 0));
          engine.linker().offload(engine.request("c", pages, 0));
          // A linker that removes nothing breaks another rule.
          boolean removes = gate.awaitArrival(rig.patience().toNanos()) != null;
          rig.pause(rig.moment());
          gate.open();
          Map<String, Completion> completions = engine.pollOffloads("b", "c");
          if (removes) {
            engine.expectOk("b", completions);
            engine.expectOk("c", completions);
          }
          long removals =
              engine.store().calls(Step.REMOVE).stream()
                  .filter(call -> call.keys().contains(broken))
                  .count();
          trial.expect(
              removals <= 1,
              "two offloads of one bad page to remove its object once",
              () -> removals + " removals");
        });
  }

  @Rule(
      id = "offload.ready-timeout",
      scope = Scope.LINKER,
      text =
          "An offload whose ready stage has not ended within linker.ready-timeout ends with"
              + " TIMEOUT, touches nothing later, and keeps no other back.",
      hint = "Bound the wait for the stage, and tell the completions of those behind it.")
  static void readyTimeout(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().set("linker.ready-timeout", rig.moment()).open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          List<PageKey> others = LinkerRig.pages("q", 1);
          CompletableFuture<String> late = new CompletableFuture<>();
          engine
              .linker()
              .offload(engine.request("never", engine.pools().sources(), pages, 0, late));
          engine.fill(others.getFirst(), 1);
          engine.linker().offload(engine.request("next", others, 1));
          Map<String, Completion> completions = engine.pollOffloads("never", "next");
          LoadRules.expectNamed(
              trial,
              engine.expectFailed("never", completions),
              pages.getFirst(),
              FailureCode.TIMEOUT);
          engine.expectOk("next", completions);
          engine.store().forgetCalls();
          late.complete("too late");
          rig.pause(rig.moment());
          trial.expectEqual(
              "the puts of an offload that was ready after its completion was told",
              List.of(),
              engine.store().calls(Step.PUT));
        });
  }

  @Rule(
      id = "restore.deadline",
      scope = Scope.LINKER,
      text =
          "A lookup returns soon after linker.lookup-timeout, with nothing, though the store"
              + " ignores its deadline; and close frees one that waits.",
      hint = "Call the store on another thread, and wait for it no longer than that.")
  static void deadline(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().set("linker.lookup-timeout", rig.moment()).open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          engine.store(pages);
          Gate gate = engine.store().gate(call -> call.step() == Step.EXISTS);
          trial.expectEqual(
              "the longest restorable length while the store does not answer",
              0,
              rig.awaited(
                  "a lookup whose store ignores its deadline", () -> engine.restorable(pages)));
          gate.open();
        });
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().set("linker.lookup-timeout", Duration.ofHours(1)).open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          Gate gate = engine.store().gate(call -> call.step() == Step.EXISTS);
          Future<Integer> looking =
              trial.start(
                  "lookup", () -> engine.linker().lookup(pages, engine.queries()).usablePages());
          gate.awaitArrival();
          engine.close();
          rig.await(
              "a close to free a lookup that waits for its store",
              looking::isDone,
              () -> "it still waits");
          gate.open();
        });
  }

  @Rule(
      id = "linker.outage",
      scope = Scope.LINKER,
      text =
          "After some lookups in a row that no part of the store answers, lookups find nothing"
              + " without asking it, and loads and offloads fail with UNREACHABLE; hits come back"
              + " by themselves when it answers again, and no object is suspect.",
      hint =
          "Count the failures in a row; at linker.outage-failures ask no more but one object now"
              + " and then, in the background, until that is answered.")
  static void outage(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().set("linker.retry-interval", Duration.ofMillis(20)).open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          StoreFailure gone = StoreFailure.of(FailureCode.UNREACHABLE, "injected: nothing answers");
          engine
              .store()
              .follow(
                  new Script() {
                    @Override
                    public StoreFailure failure(Call call, int i) {
                      return gone;
                    }
                  });
          engine.store().forgetCalls();
          for (int i = 0; i < LOOKUPS_OF_AN_OUTAGE; i++) {
            trial.expectEqual(
                "the longest restorable length while the store is away",
                0,
                engine.restorable(pages));
          }
          int asked = engine.store().calls().size();
          trial.expect(
              asked < LOOKUPS_OF_AN_OUTAGE / 2,
              LOOKUPS_OF_AN_OUTAGE + " lookups to ask a store that is away a few times",
              () -> asked + " calls");
          LoadBatch batch = engine.start(engine.request("a", pages, 4));
          LoadRules.expectNamed(
              trial,
              engine.expectFailed("a", engine.pollLoads(batch.requests().getFirst())),
              pages.getFirst(),
              FailureCode.UNREACHABLE);
          engine.linker().offload(engine.request("b", pages, 0));
          LoadRules.expectNamed(
              trial, engine.pollOffload(), pages.getFirst(), FailureCode.UNREACHABLE);
          engine.store().follow(Script.NONE);
          rig.await(
              "hits to come back once the store answers, and so 2 pages to be restorable",
              () -> engine.restorable(pages) == 2,
              () -> engine.restorable(pages) + " are");
        });
  }
}
