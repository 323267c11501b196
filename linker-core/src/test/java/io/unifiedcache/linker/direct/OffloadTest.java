package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OffloadTest {
  private static final StoreFailure BROKEN = Scripts.BROKEN;

  @Test
  @DisplayName("offload.missing-only: only absent objects are written")
  void offload_somePresent_putsTheOthers() {
    try (Rig rig = Rig.plan().build()) {
      rig.store("first", Rig.pages("p", 2));
      rig.store("second", Rig.pages("p", 3));
      assertThat(rig.store.calls(Step.PUT).getLast().keys())
          .containsExactly(
              rig.object(new PageKey("p2"), PoolName.KV, 0),
              rig.object(new PageKey("p2"), PoolName.KV, 1));
      rig.store("third", Rig.pages("p", 3));
      assertThat(rig.store.calls(Step.PUT)).hasSize(2);
      assertThat(rig.linker.stats().objectsStored()).isEqualTo(6);
      assertThat(rig.linker.stats().objectsPresent()).isEqualTo(4 + 6);
      assertThat(rig.linker.stats().bytesStored()).isEqualTo(6 * 3 * 24);
    }
  }

  @Test
  @DisplayName("offload.partial: a page counts only whole, and later pages are still tried")
  void offload_oneObjectFails_namesItsPageAndStoresTheOthers() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 3);
      ObjectKey broken = rig.object(pages.get(1), PoolName.KV, 1);
      rig.store.script =
          new Script() {
            @Override
            public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
              return step == Step.PUT && key.equals(broken) ? BROKEN : null;
            }
          };
      rig.linker.offload(rig.request("a", pages, 0));
      assertThat(rig.pollOffload())
          .isEqualTo(
              new Completion("a", List.of(new PageFailure(PoolName.KV, pages.get(1), BROKEN))));
      assertThat(rig.store.objects).hasSize(5);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
      assertThat(rig.linker.stats().failedOffloads()).isEqualTo(1);
    }
  }

  @Test
  @DisplayName("what the store could not tell of is not written")
  void offload_existsFails_failsThePage() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      ObjectKey unknown = rig.object(pages.get(0), PoolName.KV, 0);
      rig.store.script =
          new Script() {
            @Override
            public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
              return step == Step.EXISTS && key.equals(unknown) ? BROKEN : null;
            }
          };
      rig.linker.offload(rig.request("a", pages, 0));
      Completion completion = rig.pollOffload();
      assertThat(completion.failures())
          .containsExactly(new PageFailure(PoolName.KV, pages.get(0), BROKEN));
      assertThat(rig.store.objects).hasSize(3).doesNotContainKey(unknown);
    }
  }

  @Test
  @DisplayName("offload.poison: nothing is read before ready, nothing after completion")
  void offload_notReady_readsNothingYet() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      CompletableFuture<String> computed = new CompletableFuture<>();
      rig.linker.offload(
          new TransferRequest("a", rig.request("a", pages, 0).transfers(), computed));
      assertThat(rig.linker.pollOffloads(Duration.ZERO)).isEmpty();
      assertThat(rig.store.calls).isEmpty();
      rig.fill(pages.getFirst(), 0);
      computed.complete("computed");
      assertThat(rig.pollOffload().ok()).isTrue();
      rig.poison();
      rig.linker.load(rig.request("back", pages, 3));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.holds(pages.getFirst(), 3)).isTrue();
    }
  }

  @Test
  void offload_readyFails_failsWithoutAskingTheStore() {
    try (Rig rig = Rig.plan().build()) {
      rig.linker.offload(
          new TransferRequest(
              "a",
              rig.request("a", Rig.pages("p", 2), 0).transfers(),
              CompletableFuture.failedFuture(new IllegalStateException("kernel fault"))));
      Completion completion = rig.pollOffload();
      assertThat(completion.failures()).hasSize(2);
      assertThat(completion.failures().getFirst().cause().message()).contains("kernel fault");
      assertThat(rig.store.calls).isEmpty();
    }
  }

  @Test
  @DisplayName("completions come in the order of submission, however they end")
  void pollOffloads_mixedSuccess_keepsOrder() {
    try (Rig rig = Rig.plan().build()) {
      CompletableFuture<String> computed = new CompletableFuture<>();
      rig.linker.offload(
          new TransferRequest(
              "slow", rig.request("slow", Rig.pages("p", 1), 0).transfers(), computed));
      rig.linker.offload(rig.request("fast", Rig.pages("q", 1), 1));
      rig.linker.offload(rig.request("last", Rig.pages("r", 1), 2));
      assertThat(rig.linker.pollOffloads(Duration.ofMillis(20))).isEmpty();
      computed.completeExceptionally(new IllegalStateException("kernel fault"));
      assertThat(rig.pollAllOffloads(3).stream().map(Completion::id))
          .containsExactly("slow", "fast", "last");
    }
  }

  @Test
  void offload_storeThrows_failsAndNextWorks() {
    try (Rig rig = Rig.plan().build()) {
      rig.store.script =
          new Script() {
            @Override
            public void before(Step step, int call) {
              if (step == Step.PUT && call == 0) {
                throw new IllegalStateException("lost its mind");
              }
            }
          };
      rig.linker.offload(rig.request("a", Rig.pages("p", 1), 0));
      assertThat(rig.pollOffload().failures()).hasSize(1);
      rig.linker.offload(rig.request("a", Rig.pages("p", 1), 0));
      assertThat(rig.pollOffload().ok()).isTrue();
    }
  }
}
