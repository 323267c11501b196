package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OutageTest {
  private static final StoreFailure GONE = StoreFailure.of(FailureCode.UNREACHABLE, "no master");

  private static Script failing(StoreFailure why) {
    return new Script() {
      @Override
      public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
        return why;
      }
    };
  }

  private static LinkerHealth health(Rig rig) {
    return rig.linker.health(Deadline.after(Rig.LONG));
  }

  @Test
  @DisplayName("linker.outage: a store that is away is asked no more, and comes back by itself")
  void lookup_storeIsAway_asksInTheBackgroundUntilItIsBack() {
    AtomicLong now = new AtomicLong();
    try (Rig rig = Rig.plan().withClock(now::get).build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      rig.store.script = failing(GONE);
      int before = rig.store.calls.size();
      for (int i = 0; i < 10; i++) {
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      }
      assertThat(rig.store.calls).hasSize(before + 3);
      assertThat(rig.linker.stats().outages()).isEqualTo(1);
      assertThat(rig.linker.stats().lookupFailures()).isEqualTo(3 * 4 + 7);
      assertThat(health(rig).state()).isEqualTo(LinkerHealth.State.DEGRADED);
      assertThat(health(rig).detail()).contains("away").contains("no master");

      rig.linker.load(rig.request("a", pages, 0));
      var unused = rig.linker.startLayerWiseLoading();
      expectAway(rig.pollLoad());
      rig.linker.offload(rig.request("b", pages, 0));
      expectAway(rig.pollOffload());
      assertThat(rig.store.calls).hasSize(before + 3);
      assertThat(rig.linker.stats().suspects()).isZero();

      rig.store.script = new Script() {};
      now.addAndGet(Duration.ofSeconds(1).toNanos());
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      while (health(rig).state() != LinkerHealth.State.UP) {
        Thread.onSpinWait();
      }
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(2);

      // On probation, until a lookup has been answered.
      rig.store.script = failing(GONE);
      for (int i = 0; i < 3; i++) {
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      }
      assertThat(rig.linker.stats().outages()).isEqualTo(2);
    }
  }

  private static void expectAway(Completion completion) {
    assertThat(completion.failures())
        .isNotEmpty()
        .allSatisfy(
            failure -> {
              assertThat(failure.cause().code()).isEqualTo(FailureCode.UNREACHABLE);
              assertThat(failure.cause().retryable()).isTrue();
            });
  }

  @Test
  @DisplayName("linker.outage: a store that answers in part, or fails otherwise, is there")
  void lookup_storeAnswersInPart_isAskedOn() {
    for (StoreFailure why : List.of(GONE, Scripts.BROKEN)) {
      try (Rig rig = Rig.plan().build()) {
        List<PageKey> pages = Rig.pages("p", 2);
        ObjectKey first = rig.object(pages.getFirst(), PoolName.KV, 0);
        rig.store.script =
            new Script() {
              @Override
              public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
                return why.equals(Scripts.BROKEN) || key.equals(first) ? why : null;
              }
            };
        for (int i = 0; i < 10; i++) {
          assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
        }
        assertThat(rig.store.calls(Step.EXISTS)).hasSize(10);
        assertThat(rig.linker.stats().outages()).isZero();
      }
    }
  }

  /** A script by which calls of one step never return. */
  private static Script hanging(CompletableFuture<String> end) {
    return new Script() {
      @Override
      public void before(Step step, int call) {
        if (step == Step.EXISTS) {
          end.join();
        }
      }
    };
  }

  @Test
  @DisplayName("restore.deadline: a store that ignores its deadline does not hold the engine")
  void lookup_storeIgnoresItsDeadline_returnsAndAsksNoMore() {
    StoreLimits limits =
        new StoreLimits(100, 1000, 1000, 8, 1, Duration.ofMillis(5), Duration.ZERO);
    ScriptedStore store = new ScriptedStore(limits, Capability.RANGED_READ, Capability.REMOVE);
    CompletableFuture<String> end = new CompletableFuture<>();
    try (Rig rig = Rig.plan().withStore(store).withStoreTimeouts(Duration.ofMillis(20)).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store.script = hanging(end);
      for (int i = 0; i < 10; i++) {
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      }
      assertThat(store.calls(Step.EXISTS)).hasSize(2);
      assertThat(rig.linker.stats().outages()).isEqualTo(1);
      end.complete("back");
    }
  }

  @Test
  @DisplayName("restore.deadline: close frees a lookup that waits for its store")
  void close_lookupWaitsForTheStore_endsIt() throws Exception {
    CompletableFuture<String> end = new CompletableFuture<>();
    CompletableFuture<String> arrived = new CompletableFuture<>();
    Rig rig = Rig.plan().withStoreTimeouts(Duration.ofHours(1)).build();
    rig.store.script =
        new Script() {
          @Override
          public void before(Step step, int call) {
            arrived.complete("here");
            end.join();
          }
        };
    CompletableFuture<Integer> looking =
        CompletableFuture.supplyAsync(
            () -> rig.linker.lookup(Rig.pages("p", 1), rig.queries()).usablePages(),
            task -> Thread.ofPlatform().start(task));
    arrived.get();
    rig.close();
    assertThatThrownBy(looking::get)
        .cause()
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CLOSED));
    end.complete("late");
  }
}
