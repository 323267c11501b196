package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;

/** The rules of what does not fit together: requests among themselves, and ranks. */
public final class RankRules {
  private RankRules() {}

  @Rule(
      id = "linker.slots",
      scope = Scope.LINKER,
      text =
          "A slot that a load writes is no other transfer's until the load is answered, and one"
              + " that an offload reads no load's: the second is refused by name, or fails with"
              + " REFUSED if that is known only when it becomes ready, and touches nothing.",
      hint =
          "Note which slots belong to which transfer, from the call or the end of its ready stage"
              + " to its answer, and look there before another gets them.")
  static void slots(Trial trial) {
    LinkerRig.attempt(trial, RankRules::slotOfTwoLoads);
    LinkerRig.attempt(trial, RankRules::slotOfLoadThatBecomesReady);
    LinkerRig.attempt(trial, RankRules::slotOfLoadAndOffload);
    LinkerRig.attempt(trial, RankRules::slotOfOffloadAndLoad);
  }

  private static void slotOfTwoLoads(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 2);
    List<PageKey> others = LinkerRig.pages("q", 2);
    engine.store(pages);
    engine.store(others);
    engine.linker().load(engine.request("first", pages, 4));
    engine.expectIllegal(
        "a load of slot 5, which another load has,",
        "5",
        linker -> linker.load(engine.request("second", others, 5)));
    engine.awaitEnd(engine.linker().startLayerWiseLoading());
    engine.expectOk("first", engine.pollLoads("first"));
    engine.expectHeld("a load beside one that was refused its slots", pages, 4);
  }

  private static void slotOfLoadThatBecomesReady(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    List<PageKey> others = LinkerRig.pages("q", 1);
    engine.store(pages);
    engine.store(others);
    CompletableFuture<String> ready = new CompletableFuture<>();
    engine.linker().load(engine.request("first", pages, 4));
    engine.linker().load(engine.request("late", engine.pools().sources(), others, 4, ready));
    ready.complete("too early");
    engine.awaitEnd(engine.linker().startLayerWiseLoading());
    Map<String, Completion> completions = engine.pollLoads("first", "late");
    engine.expectOk("first", completions);
    engine.expectHeld("a load whose slots another wants, too,", pages, 4);
    expectRefused(rig, engine.expectFailed("late", completions));
  }

  private static void slotOfLoadAndOffload(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    List<PageKey> others = LinkerRig.pages("q", 1);
    engine.store(pages);
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    LoadBatch batch = engine.start(engine.request("load", pages, 4));
    gate.awaitArrival();
    engine.expectIllegal(
        "an offload from slot 4, which a load writes,",
        "4",
        linker -> linker.offload(engine.request("offload", others, 4)));
    engine.store().release();
    engine.awaitEnd(batch);
    engine.expectOk("load", engine.pollLoads("load"));
    rig.trial()
        .expectEqual(
            "the pages that a lookup finds of an offload that was refused",
            0,
            engine.restorable(others));
  }

  private static void slotOfOffloadAndLoad(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    List<PageKey> others = LinkerRig.pages("q", 1);
    engine.store(others);
    Gate gate = engine.store().gate(call -> call.step() == Step.PUT);
    engine.fill(pages.getFirst(), 4);
    engine.linker().offload(engine.request("offload", pages, 4));
    gate.awaitArrival();
    engine.expectIllegal(
        "a load into slot 4, which an offload reads,",
        "4",
        linker -> linker.load(engine.request("load", others, 4)));
    engine.store().release();
    Completion stored = engine.pollOffload();
    engine.expectOk("offload", stored);
    engine.awaitEnd(engine.start(engine.request("load", others, 4)));
    engine.expectOk("load", engine.pollLoads("load"));
  }

  private static void expectRefused(LinkerRig rig, Completion completion) {
    rig.trial()
        .expect(
            completion.failures().stream()
                .allMatch(each -> each.cause().code() == FailureCode.REFUSED),
            "a load whose slots another has when it becomes ready to fail with REFUSED",
            () -> Engine.describe(completion));
  }

  @Rule(
      id = "linker.sources",
      scope = Scope.LINKER,
      text =
          "A request or a query that names a source which has pools on no rank is refused by name;"
              + " one whose pools are on another rank is taken.",
      hint =
          "Have the ranks tell each other their sources when they open, and refuse what is none of"
              + " them.")
  static void sources(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine alone = rig.engine().open();
          expectUnknownRefused(alone, alone.queries());
          List<Engine.Plan> plans = new ArrayList<>(rig.rankPlans(2, plan -> stage(plan)));
          Engine.Plan second = plans.get(1).withSide();
          List<Engine> ranks = rig.onEach(List.of(plans.get(0), second), Engine.Plan::open);
          for (Engine rank : ranks) {
            expectUnknownRefused(rank, ranks.get(1).queries());
            rank.linker()
                .load(rank.request("other", Set.of(Engine.SIDE), LinkerRig.pages("p", 1), 4));
          }
        });
  }

  private static Engine.Plan stage(Engine.Plan plan) {
    return plan.identity(
        identity -> {
          int rank = identity.build().tensor().rank();
          return identity.tensor(0, 1).pipeline(rank, 2);
        });
  }

  private static void expectUnknownRefused(Engine engine, List<PoolQuery> queries) {
    PoolName nowhere = new PoolName("nowhere");
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.expectIllegal(
        "a load of a source that has no pools",
        "nowhere",
        linker -> linker.load(engine.request("a", Set.of(nowhere), pages, 0)));
    engine.expectIllegal(
        "an offload of a source that has no pools",
        "nowhere",
        linker -> linker.offload(engine.request("a", Set.of(nowhere), pages, 0)));
    List<PoolQuery> more = new ArrayList<>(queries);
    more.add(PoolQuery.allPages(nowhere));
    engine.expectIllegal(
        "a lookup with a query of a source that has no pools",
        "nowhere",
        linker -> linker.lookup(pages, more));
  }

  @Rule(
      id = "linker.ranks",
      scope = Scope.LINKER,
      text =
          "Ranks whose identities differ in more than the rank or not even in that, or whose"
              + " settings or pools of one stage differ, are refused at opening, each of them and"
              + " with what differs; and when a rank closes the others learn so at once.",
      hint =
          "Before anything is opened, have the ranks compare digests of each part of what they are"
              + " opened with; on close, tell the others without waiting for them.")
  static void ranks(Trial trial) {
    expectRefused(
        trial, "the sizes of their pages", "16", plan -> plan.identity(i -> i.pageTokens(16)));
    expectRefused(trial, "their models", "model", plan -> plan.identity(i -> i.model("other")));
    expectRefused(
        trial, "a setting", "linker.load-timeout", plan -> plan.set("linker.load-timeout", "29s"));
    expectRefused(trial, "their pools", "pool", plan -> plan.layers(2));
    expectRefused(
        trial, "nothing, their rank included,", "rank", plan -> plan.identity(i -> i.tensor(0, 2)));
    LinkerRig.attempt(trial, RankRules::closeIsTold);
  }

  /** Fails the rule unless two ranks are refused, of which the second is another. */
  private static void expectRefused(
      Trial trial, String differing, String name, UnaryOperator<Engine.Plan> second) {
    LinkerRig.attempt(
        trial,
        rig -> {
          List<Engine.Plan> plans = rig.rankPlans(2, plan -> plan);
          List<String> answers =
              rig.onEach(List.of(plans.get(0), second.apply(plans.get(1))), RankRules::opened);
          trial.expect(
              answers.stream().allMatch(answer -> answer.contains(name)),
              "ranks that differ in %s to be refused, both and by name".formatted(differing),
              () -> answers.toString());
        });
  }

  private static String opened(Engine.Plan plan) {
    try {
      var unused = plan.open();
      return "it was opened";
    } catch (CacheException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static void closeIsTold(LinkerRig rig) {
    List<Engine> ranks = rig.ranks(2, plan -> plan);
    Engine waiting = ranks.get(0);
    Future<Integer> lookup =
        rig.trial().start("waiting", () -> waiting.restorable(LinkerRig.pages("p", 1)));
    ranks.get(1).close();
    rig.await(
        "a lookup of a rank to end when another rank closes",
        lookup::isDone,
        () -> "it still waits");
    rig.trial()
        .expectEqual(
            "the longest restorable length when another rank has closed",
            0,
            rig.trial().await("a lookup", lookup));
  }
}
