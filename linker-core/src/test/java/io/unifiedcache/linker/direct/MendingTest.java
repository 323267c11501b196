package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Bad objects that are stored anew, and offloads that never begin. */
@Timeout(60)
class MendingTest {
  private static ObjectKey failToLoad(Rig rig, List<PageKey> pages) {
    ObjectKey broken = rig.object(pages.getFirst(), PoolName.KV, 0);
    rig.store.damaged.add(broken);
    rig.linker.load(rig.request("bad", pages, 8));
    var unused = rig.linker.startLayerWiseLoading();
    assertThat(rig.pollLoad().ok()).isFalse();
    return broken;
  }

  @ParameterizedTest
  @EnumSource(
      value = LoadPath.class,
      names = {"LAYERS", "PAGES"})
  @DisplayName("offload.remove-proven: what another has stored anew by now is not removed")
  void offload_badObjectIsSoundByNow_isLeftAlone(LoadPath path) {
    try (Rig rig = Rig.plan().withLoadPath(path).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      rig.store.damaged.remove(failToLoad(rig, pages));
      rig.store("again", pages);
      assertThat(rig.store.calls(Step.REMOVE)).isEmpty();
      assertThat(rig.store.calls(Step.PUT)).hasSize(1);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
      assertThat(rig.linker.stats().suspects()).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = LoadPath.class,
      names = {"LAYERS", "PAGES"})
  @DisplayName("offload.remove-proven: an object that cannot be read now is not removed")
  void offload_badObjectCannotBeRead_failsThePageAndRemovesNothing(LoadPath path) {
    try (Rig rig = Rig.plan().withLoadPath(path).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      ObjectKey broken = failToLoad(rig, pages);
      rig.store.damaged.remove(broken);
      rig.store.script = Scripts.failing(path == LoadPath.LAYERS ? Step.READ : Step.GET, broken);
      rig.linker.offload(rig.request("again", pages, 0));
      assertThat(rig.pollOffload().failures())
          .singleElement()
          .satisfies(failure -> assertThat(failure.cause()).isEqualTo(Scripts.BROKEN));
      assertThat(rig.store.calls(Step.REMOVE)).isEmpty();
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
    }
  }

  @Test
  @DisplayName("offload.partial: a session that cannot be closed changes nothing that was read")
  void offload_sessionOfTheInspectionCannotBeClosed_storesTheRest() {
    try (Rig rig = Rig.plan().withLoadPath(LoadPath.LAYERS).build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages.subList(0, 1));
      rig.store.damaged.remove(failToLoad(rig, pages.subList(0, 1)));
      rig.store.closingSessionThrows = new IllegalStateException("closing threw");
      rig.store("again", pages);
      assertThat(rig.store.calls(Step.REMOVE)).isEmpty();
      assertThat(rig.linker.stats().suspects()).isZero();
    }
  }

  @Test
  @DisplayName("offload.mend-once: two offloads of one bad page remove it once, and it is there")
  void offload_twoMendOnePage_oneRemovesAndBothSayWhatIsSo() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      ObjectKey broken = failToLoad(rig, pages);
      CompletableFuture<String> open = new CompletableFuture<>();
      CompletableFuture<String> arrived = new CompletableFuture<>();
      AtomicInteger asked = new AtomicInteger();
      rig.store.script =
          new Script() {
            @Override
            public void before(Step step, int call) {
              if (step == Step.REMOVE) {
                arrived.complete("here");
                open.join();
              } else if (step == Step.EXISTS) {
                asked.incrementAndGet();
              }
            }

            @Override
            public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
              // Room for one put alone: what a second remove takes away would be lost.
              return step == Step.PUT && call > 1
                  ? StoreFailure.of(FailureCode.NO_SPACE, "full")
                  : null;
            }
          };
      rig.fill(pages.getFirst(), 0);
      rig.linker.offload(rig.request("a", pages, 0));
      arrived.get();
      rig.linker.offload(rig.request("b", pages, 0));
      while (asked.get() < 2) {
        Thread.onSpinWait();
      }
      open.complete("open");
      for (Completion completion : rig.pollAllOffloads(2)) {
        assertThat(completion.ok()).as(completion.toString()).isTrue();
      }
      assertThat(rig.store.calls(Step.REMOVE)).hasSize(1);
      assertThat(rig.store.objects).containsKey(broken);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
    }
  }

  @Test
  @DisplayName("offload.ready-timeout: an offload that is never ready keeps no other back")
  void offload_neverReady_endsWithTimeoutAndThoseBehindAreTold() {
    try (Rig rig = Rig.plan().withReadyTimeout(Duration.ofMillis(50)).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      CompletableFuture<String> never = new CompletableFuture<>();
      rig.linker.offload(
          new TransferRequest("never", rig.request("x", pages, 0).transfers(), never));
      rig.linker.offload(rig.request("next", Rig.pages("q", 1), 1));
      List<Completion> completions = rig.pollAllOffloads(2);
      assertThat(completions.stream().map(Completion::id)).containsExactly("never", "next");
      assertThat(completions.getFirst().failures())
          .singleElement()
          .satisfies(
              failure -> {
                assertThat(failure.cause().code()).isEqualTo(FailureCode.TIMEOUT);
                assertThat(failure.cause().message()).contains("linker.ready-timeout");
              });
      assertThat(completions.getLast().ok()).isTrue();
      never.complete("too late");
      rig.linker.offload(rig.request("never", pages, 0));
      assertThat(rig.pollOffload()).isEqualTo(new Completion("never", List.of()));
      assertThat(rig.linker.stats().failedOffloads()).isEqualTo(1);
    }
  }
}
