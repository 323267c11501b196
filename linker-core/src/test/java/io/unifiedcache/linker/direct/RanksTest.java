package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.rank.LocalRanks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two ranks over one store each, driven by a thread each. */
@Timeout(60)
class RanksTest {
  /** Runs a step on every rank at once and returns the results by rank. */
  private static <T> List<T> onEach(List<Rig> rigs, Function<Rig, T> step) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(rigs.size())) {
      List<Future<T>> futures = new ArrayList<>();
      for (Rig rig : rigs) {
        Callable<T> call = () -> step.apply(rig);
        futures.add(threads.submit(call));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> future : futures) {
        results.add(future.get());
      }
      return results;
    }
  }

  private static List<Rig> ranks(Function<Rig.Plan, Rig.Plan> change) {
    List<Rig> rigs = new ArrayList<>();
    for (RankCollective rank : LocalRanks.of(2)) {
      rigs.add(change.apply(Rig.plan().withStore(new ScriptedStore()).withRanks(rank)).build());
    }
    return rigs;
  }

  private static void closeAll(List<Rig> rigs) {
    rigs.forEach(Rig::close);
  }

  private static String storeAll(Rig rig, List<PageKey> pages) {
    rig.store("s", pages);
    return "stored";
  }

  @Test
  @DisplayName("restore.intersection: ranks intersect, and the minimum of maxima is not used")
  void lookup_ranksDiffer_intersects() throws Exception {
    List<Rig> rigs = ranks(Rig.Plan::withSwa);
    List<PageKey> pages = Rig.pages("p", 4);
    onEach(rigs, rig -> storeAll(rig, pages));
    Rig second = rigs.get(1);
    // Rank 0 can resume at 1, 2, 3, 4; rank 1 only at 1 and 4 of its own.
    second.store.objects.remove(second.object(pages.get(1), Rig.SWA, 0));
    rigs.get(0).store.objects.remove(rigs.get(0).object(pages.get(3), PoolName.KV, 0));
    List<RestorablePrefixes> sets =
        onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).restorable());
    assertThat(sets).containsExactly(RestorablePrefixes.of(1), RestorablePrefixes.of(1));
    closeAll(rigs);
  }

  @Test
  @DisplayName(
      "linker.outage: where the store of one rank is away, all answer nothing, until it is back")
  void lookup_storeOfOneRankIsAway_allAnswerAlike() throws Exception {
    AtomicLong now = new AtomicLong();
    List<Rig> rigs = ranks(plan -> plan.withClock(now::get));
    List<PageKey> pages = Rig.pages("p", 2);
    onEach(rigs, rig -> storeAll(rig, pages));
    Rig second = rigs.get(1);
    int before = second.store.calls.size();
    second.store.script =
        new Script() {
          @Override
          public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
            return StoreFailure.of(FailureCode.UNREACHABLE, "no master");
          }
        };
    for (int i = 0; i < 10; i++) {
      assertThat(onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).usablePages()))
          .containsExactly(0, 0);
    }
    assertThat(second.store.calls).hasSize(before + 3);
    assertThat(onEach(rigs, rig -> rig.linker.stats().outages())).containsExactly(0L, 1L);

    second.store.script = new Script() {};
    now.addAndGet(Duration.ofSeconds(1).toNanos());
    List<Integer> found;
    do {
      found = onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).usablePages());
      assertThat(found.get(0)).isEqualTo(found.get(1));
    } while (found.getFirst() == 0);
    assertThat(found).containsExactly(2, 2);
    closeAll(rigs);
  }

  @Test
  @DisplayName("load.ranks-agree: if one rank fails a request, every rank's completion says failed")
  void pollLoads_oneRankFails_allSayFailed() throws Exception {
    List<Rig> rigs = ranks(plan -> plan);
    List<PageKey> bad = Rig.pages("bad", 2);
    List<PageKey> good = Rig.pages("good", 1);
    onEach(rigs, rig -> storeAll(rig, bad));
    onEach(rigs, rig -> storeAll(rig, good));
    rigs.get(1).store.script =
        Scripts.failing(Step.READ, rigs.get(1).object(bad.get(1), PoolName.KV, 0));
    List<List<Completion>> completions =
        onEach(
            rigs,
            rig -> {
              rig.linker.load(rig.request("bad", bad, 0));
              rig.linker.load(rig.request("good", good, 4));
              LoadBatch batch = rig.linker.startLayerWiseLoading();
              batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG);
              return List.of(rig.pollLoad(), rig.pollLoad());
            });
    for (List<Completion> ofRank : completions) {
      assertThat(ofRank.get(0).id()).isEqualTo("bad");
      assertThat(ofRank.get(0).failures()).hasSize(1);
      assertThat(ofRank.get(0).failures().getFirst().page()).isEqualTo(bad.get(1));
      assertThat(ofRank.get(1)).isEqualTo(new Completion("good", List.of()));
    }
    assertThat(completions.get(0).getFirst().failures().getFirst().cause().code())
        .isEqualTo(FailureCode.OTHER_RANK);
    assertThat(completions.get(1).getFirst().failures().getFirst().cause())
        .isEqualTo(Scripts.BROKEN);
    closeAll(rigs);
  }

  @Test
  @DisplayName("a load starts when it is ready on every rank")
  void startLayerWiseLoading_readyOnOneRank_waits() throws Exception {
    List<Rig> rigs = ranks(plan -> plan);
    List<PageKey> pages = Rig.pages("p", 1);
    onEach(rigs, rig -> storeAll(rig, pages));
    CompletableFuture<String> late = new CompletableFuture<>();
    rigs.forEach(
        rig ->
            rig.linker.load(
                new TransferRequest(
                    "a",
                    rig.request("a", pages, 0).transfers(),
                    rig == rigs.get(0) ? CompletableFuture.completedFuture("now") : late)));
    assertThat(onEach(rigs, rig -> rig.linker.startLayerWiseLoading().requests()))
        .containsExactly(List.of(), List.of());
    late.complete("now");
    assertThat(onEach(rigs, rig -> rig.linker.startLayerWiseLoading().requests()))
        .containsExactly(List.of("a"), List.of("a"));
    assertThat(onEach(rigs, Rig::pollLoad)).allMatch(Completion::ok);
    closeAll(rigs);
  }

  @Test
  @DisplayName("offload.owner: a replicated page is written once, and others follow the owner")
  void offload_replicated_ownerWritesAndDecides() throws Exception {
    List<Rig> rigs = ranks(Rig.Plan::replicated);
    List<PageKey> pages = Rig.pages("p", 2);
    Rig owner = rigs.get(0);
    assertThat(owner.object(pages.get(0), PoolName.KV, 0))
        .isEqualTo(rigs.get(1).object(pages.get(0), PoolName.KV, 0));
    owner.store.script = Scripts.failing(Step.PUT, owner.object(pages.get(1), PoolName.KV, 0));
    List<Completion> completions =
        onEach(
            rigs,
            rig -> {
              rig.linker.offload(rig.request("a", pages, 0));
              return rig.pollOffload();
            });
    assertThat(rigs.get(1).store.calls).isEmpty();
    assertThat(completions)
        .allSatisfy(
            completion -> {
              assertThat(completion.failures()).hasSize(1);
              assertThat(completion.failures().getFirst().page()).isEqualTo(pages.get(1));
            });
    closeAll(rigs);
  }

  @Test
  @DisplayName("a rank whose load is slow is not taken for lost")
  void pollLoads_otherRankWaitsForALayer_waitsForIt() throws Exception {
    List<Rig> rigs = ranks(plan -> plan.withRankTimeout(Duration.ofMillis(200)));
    List<PageKey> pages = Rig.pages("p", 1);
    onEach(rigs, rig -> storeAll(rig, pages));
    Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
    rigs.get(1).store.script = gate;
    try (ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor()) {
      var unused = later.schedule(gate::open, 600, TimeUnit.MILLISECONDS);
      List<Completion> completions =
          onEach(
              rigs,
              rig -> {
                rig.linker.load(rig.request("a", pages, 0));
                rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
                List<Completion> polled = List.of();
                while (polled.isEmpty()) {
                  polled = rig.linker.pollLoads(Duration.ZERO);
                }
                return polled.getFirst();
              });
      assertThat(completions).allMatch(Completion::ok);
    }
    closeAll(rigs);
  }

  @Test
  @DisplayName("offload.owner: each stage writes its own pages, also where tensor ranks share them")
  void offload_replicatedStages_everyStageWrites() throws Exception {
    List<Rig> rigs = ranks(plan -> plan.replicated().asStages());
    List<PageKey> pages = Rig.pages("p", 2);
    onEach(rigs, rig -> storeAll(rig, pages));
    assertThat(rigs).allSatisfy(rig -> assertThat(rig.store.objects).hasSize(4));
    assertThat(onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).usablePages()))
        .containsExactly(2, 2);
    closeAll(rigs);
  }

  @Test
  @DisplayName("load.ranks-agree: stages with different pools agree on pages")
  void pollLoads_stageHasAnotherPool_agree() throws Exception {
    List<RankCollective> members = LocalRanks.of(2);
    Rig first = Rig.plan().asStages().withRanks(members.get(0)).build();
    Rig second = Rig.plan().asStages().withSwa().withRanks(members.get(1)).build();
    List<Rig> rigs = List.of(first, second);
    List<PageKey> bad = Rig.pages("bad", 2);
    List<PageKey> good = Rig.pages("good", 2);
    // Requests and queries are those of the stage that has all sources.
    onEach(
        rigs,
        rig -> {
          rig.linker.offload(second.request("s1", bad, 0));
          rig.linker.offload(second.request("s2", good, 2));
          return rig.pollAllOffloads(2);
        });
    assertThat(onEach(rigs, rig -> rig.linker.lookup(bad, second.queries()).usablePages()))
        .containsExactly(2, 2);
    second.store.script = Scripts.failing(Step.READ, second.object(bad.get(1), Rig.SWA, 0));
    List<List<Completion>> completions =
        onEach(
            rigs,
            rig -> {
              rig.linker.load(second.request("bad", bad, 4));
              rig.linker.load(second.request("good", good, 8));
              rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
              return List.of(rig.pollLoad(), rig.pollLoad());
            });
    assertThat(completions)
        .allSatisfy(
            ofRank -> {
              assertThat(ofRank.get(0).failures())
                  .extracting(PageFailure::pool, PageFailure::page)
                  .containsExactly(tuple(Rig.SWA, bad.get(1)));
              assertThat(ofRank.get(1)).isEqualTo(new Completion("good", List.of()));
            });
    closeAll(rigs);
  }

  @Test
  @DisplayName("load.ranks-agree: ranks at other calls are lost, however alike these are")
  void startAndLookup_otherSubjects_areLost() throws Exception {
    List<List<TransferRequest>> pairs =
        List.of(
            // Texts with equal hash codes.
            List.of(request("Aa", "p", 1), request("BB", "p", 1)),
            List.of(request("a", "p", 1), request("a", "p", 2)),
            List.of(request("a", "Aa", 1), request("a", "BB", 1)));
    for (List<TransferRequest> pair : pairs) {
      List<Rig> rigs = ranks(plan -> plan);
      onEach(
          rigs,
          rig -> {
            rig.linker.load(pair.get(rigs.indexOf(rig)));
            return rig.linker.startLayerWiseLoading();
          });
      assertThat(onEach(rigs, rig -> rig.pollLoad().failures().getFirst().cause()))
          .allSatisfy(
              cause -> {
                assertThat(cause.code()).isEqualTo(FailureCode.OTHER_RANK);
                assertThat(cause.message()).contains("not at the same call");
              });
      closeAll(rigs);
    }
    List<Rig> rigs = ranks(Rig.Plan::withSwa);
    List<PageKey> pages = Rig.pages("p", 4);
    onEach(rigs, rig -> storeAll(rig, pages));
    assertThat(
            onEach(
                rigs,
                rig ->
                    rig.linker
                        .lookup(
                            pages,
                            List.of(
                                PoolQuery.allPages(PoolName.KV),
                                PoolQuery.trailingPages(Rig.SWA, 1 + rigs.indexOf(rig))))
                        .usablePages()))
        .containsExactly(0, 0);
    closeAll(rigs);
  }

  private static TransferRequest request(String id, String page, int pages) {
    return new TransferRequest(
        id, List.of(new PoolTransfer(PoolName.KV, Rig.pages(page, pages), Slots.range(0, pages))));
  }

  @Test
  @DisplayName("load.no-livelock: what one rank finds bad of shared objects, its owner replaces")
  void lookup_replicatedObjectBadOnOneRank_isOfferedAfterOwnerStoredItAnew() throws Exception {
    ScriptedStore shared = new ScriptedStore();
    List<Rig> rigs = new ArrayList<>();
    for (RankCollective rank : LocalRanks.of(2)) {
      rigs.add(Rig.plan().withStore(shared).replicated().withRanks(rank).build());
    }
    List<PageKey> pages = Rig.pages("p", 3);
    onEach(rigs, rig -> storeAll(rig, pages));
    ObjectKey object = rigs.get(0).object(pages.get(1), PoolName.KV, 0);
    // The object is opened by both ranks, and read by both; it goes bad before the second read.
    AtomicInteger reads = new AtomicInteger();
    shared.script =
        new Script() {
          @Override
          public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
            boolean fails = step == Step.READ && key.equals(object) && reads.incrementAndGet() == 2;
            if (fails) {
              shared.damaged.add(object);
            }
            return fails ? Scripts.BAD : null;
          }
        };
    List<Completion> loads =
        onEach(
            rigs,
            rig -> {
              rig.linker.load(rig.request("a", pages, 0));
              var unused = rig.linker.startLayerWiseLoading();
              return rig.pollLoad();
            });
    assertThat(loads).noneMatch(Completion::ok);
    shared.script = new Script() {};
    assertThat(onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).usablePages()))
        .containsExactly(1, 1);
    onEach(rigs, rig -> storeAll(rig, pages));
    assertThat(shared.calls(Step.REMOVE)).hasSize(1);
    assertThat(onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).usablePages()))
        .containsExactly(3, 3);
    assertThat(rigs).allSatisfy(rig -> assertThat(rig.linker.stats().suspects()).isZero());
    closeAll(rigs);
  }

  @Test
  @DisplayName(
      "ranks at different calls are lost to each other, and no answer is taken for another")
  void lookup_otherRankPolls_findsNothing() throws Exception {
    List<Rig> rigs = ranks(plan -> plan);
    List<PageKey> pages = Rig.pages("p", 2);
    onEach(rigs, rig -> storeAll(rig, pages));
    rigs.forEach(rig -> rig.linker.offload(rig.request("again", pages, 0)));
    List<Integer> answers =
        onEach(
            rigs,
            rig ->
                rig == rigs.get(0)
                    ? rig.linker.lookup(pages, rig.queries()).usablePages()
                    : (int) rig.pollAllOffloads(1).stream().filter(Completion::ok).count());
    assertThat(answers).containsExactly(0, 0);
    closeAll(rigs);
  }

  @Test
  @DisplayName("an interrupted poll still meets the other ranks")
  void pollLoads_interrupted_staysInStep() throws Exception {
    List<Rig> rigs = ranks(plan -> plan);
    List<PageKey> pages = Rig.pages("p", 1);
    onEach(rigs, rig -> storeAll(rig, pages));
    List<Boolean> kept =
        onEach(
            rigs,
            rig -> {
              rig.linker.load(rig.request("a", pages, 0));
              var unused = rig.linker.startLayerWiseLoading();
              if (rig == rigs.get(0)) {
                Thread.currentThread().interrupt();
              }
              boolean polled = false;
              boolean interrupted = false;
              while (!polled) {
                polled = !rig.linker.pollLoads(Duration.ofMillis(5)).isEmpty();
                interrupted |= Thread.interrupted();
              }
              return interrupted;
            });
    assertThat(kept).containsExactly(true, false);
    assertThat(onEach(rigs, rig -> rig.linker.lookup(pages, rig.queries()).usablePages()))
        .containsExactly(1, 1);
    closeAll(rigs);
  }

  @Test
  @DisplayName("reset of one rank among several calls nothing loaded that others were not asked of")
  void reset_severalRanks_cancelsAll() throws Exception {
    List<Rig> rigs = ranks(plan -> plan);
    List<PageKey> pages = Rig.pages("p", 1);
    onEach(rigs, rig -> storeAll(rig, pages));
    List<Completion> completions =
        onEach(
            rigs,
            rig -> {
              rig.linker.load(rig.request("a", pages, 0));
              rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
              return rig.linker.reset().loads().getFirst();
            });
    assertThat(completions)
        .allSatisfy(
            completion ->
                assertThat(completion.failures().getFirst().cause().code())
                    .isEqualTo(FailureCode.CANCELLED));
    closeAll(rigs);
  }

  @Test
  @DisplayName("load.ranks-agree: a dead rank is an outcome by the deadline")
  void poll_rankDead_failsEverything() throws Exception {
    Duration brief = Duration.ofMillis(50);
    List<Rig> rigs = ranks(plan -> plan.withRankTimeout(brief).withStoreTimeouts(brief));
    List<PageKey> pages = Rig.pages("p", 1);
    Rig alive = rigs.get(0);
    alive.linker.offload(alive.request("a", pages, 0));
    List<Completion> polled = List.of();
    while (polled.isEmpty()) {
      polled = alive.linker.pollOffloads(brief);
    }
    Completion completion = polled.getFirst();
    assertThat(completion.failures().getFirst().cause().code()).isEqualTo(FailureCode.OTHER_RANK);
    assertThat(completion.failures().getFirst().cause().message()).contains("{1}");
    // From now on nothing is offered, and nothing hangs.
    assertThat(alive.linker.lookup(pages, alive.queries()).restorable().isEmpty()).isTrue();
    alive.linker.load(alive.request("b", pages, 0));
    assertThat(alive.linker.startLayerWiseLoading().requests()).containsExactly("b");
    assertThat(alive.pollLoad().ok()).isFalse();
    closeAll(rigs);
  }
}
