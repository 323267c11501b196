package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The rules of what a linker makes of a fault, and of what only looks like one. */
public final class FaultRules {
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
}
