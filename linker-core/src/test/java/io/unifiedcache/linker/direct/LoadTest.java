package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
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
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class LoadTest {
  private static final StoreFailure BROKEN = Scripts.BROKEN;

  @ParameterizedTest
  @EnumSource(
      value = LoadPath.class,
      names = {"LAYERS", "PAGES"})
  @DisplayName("load.layer-order: a layer is announced once its bytes are in place")
  void awaitLayer_ok_bytesAreInPlace(LoadPath path) {
    try (Rig rig = Rig.plan().withSwa().withLoadPath(path).build()) {
      List<PageKey> pages = Rig.pages("p", 3);
      rig.store("store", pages);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(3);

      rig.linker.load(rig.request("a", pages, 5));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThat(batch.requests()).containsExactly("a");
      for (int layer = 0; layer < Rig.LAYERS; layer++) {
        LayerProgress progress = batch.awaitLayer(layer, Rig.LONG);
        assertThat(progress.failed()).isEmpty();
        for (int i = 0; i < 3; i++) {
          assertThat(rig.holds(pages.get(i), 5 + i, layer)).isTrue();
        }
      }
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.linker.stats().loads()).isEqualTo(1);
      assertThat(rig.linker.stats().bytesLoaded()).isEqualTo(rig.linker.stats().bytesStored());
      assertThat(rig.store.openSessions).hasValue(0);
    }
  }

  @Test
  @DisplayName("load.deferred: load only queues")
  void load_beforeStart_asksNothing() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("store", pages);
      int calls = rig.store.calls.size();
      rig.linker.load(rig.request("a", pages, 0));
      assertThat(rig.linker.pollLoads(Duration.ZERO)).isEmpty();
      assertThat(rig.store.calls).hasSize(calls);
      assertThat(rig.holds(pages.getFirst(), 0)).isFalse();
    }
  }

  @Test
  void startLayerWiseLoading_nothingQueued_batchIsEmptyAndHasEveryLayer() {
    try (Rig rig = Rig.plan().build()) {
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThat(batch.requests()).isEmpty();
      assertThat(batch.awaitLayer(Rig.LAYERS - 1, Duration.ZERO).failed()).isEmpty();
      assertThatThrownBy(() -> batch.awaitLayer(Rig.LAYERS, Duration.ZERO))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  @Test
  void startLayerWiseLoading_notReady_staysQueued() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("store", pages);
      CompletableFuture<String> ready = new CompletableFuture<>();
      rig.linker.load(
          new TransferRequest("late", rig.request("late", pages, 0).transfers(), ready));
      rig.linker.load(rig.request("early", pages, 1));
      assertThat(rig.linker.startLayerWiseLoading().requests()).containsExactly("early");
      ready.complete("now");
      assertThat(rig.linker.startLayerWiseLoading().requests()).containsExactly("late");
      assertThat(rig.pollLoad().id()).isEqualTo("early");
      assertThat(rig.pollLoad().ok()).isTrue();
    }
  }

  @Test
  void startLayerWiseLoading_readyFails_requestFailsAndNeighbourLoads() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("store", pages);
      rig.linker.load(
          new TransferRequest(
              "bad",
              rig.request("bad", pages, 0).transfers(),
              CompletableFuture.failedFuture(new IllegalStateException("no slots"))));
      rig.linker.load(rig.request("good", pages, 1));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      LayerProgress progress = batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(progress.failed())
          .hasSize(1)
          .hasEntrySatisfying("bad", cause -> assertThat(cause.message()).contains("no slots"));
      Completion bad = rig.pollLoad();
      assertThat(bad.id()).isEqualTo("bad");
      assertThat(bad.failures()).hasSize(1);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.holds(pages.getFirst(), 0)).isFalse();
    }
  }

  @Test
  @DisplayName("load.layer-failure, load.failed-never-loaded: a request costs itself alone")
  void awaitLayer_oneRequestFailsAtLayerOne_neighbourGoesOn() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> good = Rig.pages("good", 2);
      List<PageKey> bad = Rig.pages("bad", 2);
      rig.store("s1", good);
      rig.store("s2", bad);
      ObjectKey broken = rig.object(bad.get(1), PoolName.KV, 0);
      rig.store.script =
          new Script() {
            @Override
            public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
              return step == Step.READ && call == 1 && key.equals(broken) ? BROKEN : null;
            }
          };
      rig.linker.load(rig.request("bad", bad, 0));
      rig.linker.load(rig.request("good", good, 4));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      LayerProgress first = batch.awaitLayer(0, Rig.LONG);
      assertThat(first.layer()).isZero();
      for (int layer = 1; layer < Rig.LAYERS; layer++) {
        assertThat(batch.awaitLayer(layer, Rig.LONG).failed())
            .containsExactlyEntriesOf(Map.of("bad", BROKEN));
        assertThat(rig.holds(good.getFirst(), 4, layer)).isTrue();
      }
      Completion failed = rig.pollLoad();
      assertThat(failed.id()).isEqualTo("bad");
      assertThat(failed.failures())
          .containsExactly(new PageFailure(PoolName.KV, bad.get(1), BROKEN));
      assertThat(rig.pollLoad()).isEqualTo(new Completion("good", List.of()));
      assertThat(rig.linker.pollLoads(Duration.ZERO)).isEmpty();
      assertThat(rig.store.openSessions).hasValue(0);
      // Reading has stopped where it failed: layers 0 and 1 of four objects, then of two.
      assertThat(rig.store.calls(Step.READ).getLast().keys())
          .doesNotContain(rig.object(bad.get(0), PoolName.KV, 0));
    }
  }

  @Test
  @DisplayName("load.layer-failure: waits throw when nobody is left, earlier layers stay")
  void awaitLayer_everybodyFails_throwsWithCause() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      rig.store.script =
          new Script() {
            @Override
            public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
              return step == Step.READ && call == 1 ? BROKEN : null;
            }
          };
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(2, Rig.LONG))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("scripted")
          .extracting(e -> ((CacheException) e).code())
          .isEqualTo(FailureCode.IO);
      assertThat(batch.awaitLayer(0, Rig.LONG).failed()).containsKey("a");
      assertThat(rig.pollLoad().ok()).isFalse();
      assertThat(rig.linker.stats().failedLoads()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Step.class,
      names = {"OPEN", "READ"})
  @DisplayName("load.layer-failure: a store that throws fails the batch and no later one")
  void awaitLayer_storeThrows_batchFailsAndNextLoads(Step step) {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      rig.store.script =
          new Script() {
            @Override
            public void before(Step at, int call) {
              if (at == step && call == 0) {
                throw new IllegalStateException("lost its mind");
              }
            }
          };
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG)).hasMessageContaining("lost its mind");
      assertThat(rig.pollLoad().failures()).hasSize(1);
      rig.linker.load(rig.request("b", pages, 0));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.store.openSessions).hasValue(0);
    }
  }

  @Test
  @DisplayName("load.evicted-between: an object gone since lookup fails its request only")
  void load_objectGone_failsThatRequestOnly() {
    for (LoadPath path : List.of(LoadPath.LAYERS, LoadPath.PAGES)) {
      try (Rig rig = Rig.plan().withLoadPath(path).build()) {
        List<PageKey> gone = Rig.pages("gone", 3);
        List<PageKey> kept = Rig.pages("kept", 1);
        rig.store("s1", gone);
        rig.store("s2", kept);
        assertThat(rig.linker.lookup(gone, rig.queries()).usablePages()).isEqualTo(3);
        rig.store.objects.remove(rig.object(gone.get(1), PoolName.KV, 1));
        rig.linker.load(rig.request("gone", gone, 0));
        rig.linker.load(rig.request("kept", kept, 8));
        rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
        Completion failed = rig.pollLoad();
        assertThat(failed.failures()).hasSize(1);
        assertThat(failed.failures().getFirst().page()).isEqualTo(gone.get(1));
        assertThat(failed.failures().getFirst().cause().code()).isEqualTo(FailureCode.ABSENT);
        assertThat(rig.pollLoad().ok()).isTrue();
        assertThat(rig.holds(kept.getFirst(), 8)).isTrue();
      }
    }
  }

  @Test
  @DisplayName("load.no-livelock: a suspect is not offered until it is stored anew")
  void lookup_afterFailedLoad_isShorterUntilStoredAnew() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 3);
      rig.store("s", pages);
      ObjectKey broken = rig.object(pages.get(1), PoolName.KV, 0);
      rig.store.damaged.add(broken);
      rig.linker.load(rig.request("a", pages, 0));
      var unused = rig.linker.startLayerWiseLoading();
      assertThat(rig.pollLoad().ok()).isFalse();
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
      assertThat(rig.linker.stats().suspects()).isEqualTo(1);

      rig.store.script = new Script() {};
      rig.store("again", pages);
      assertThat(rig.store.calls(Step.REMOVE)).hasSize(1);
      assertThat(rig.store.calls(Step.REMOVE).getFirst().keys()).containsExactly(broken);
      assertThat(rig.store.calls(Step.PUT).getLast().keys()).containsExactly(broken);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(3);
    }
  }

  @Test
  @DisplayName("load.no-livelock: the suspicion expires; a store without REMOVE leaves it alone")
  void lookup_afterExpiry_offersAgain() {
    AtomicLong now = new AtomicLong();
    ScriptedStore store = new ScriptedStore(StoreLimits.NONE, Capability.RANGED_READ);
    try (Rig rig = Rig.plan().withStore(store).withClock(now::get).build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      store.damaged.add(rig.object(pages.get(0), PoolName.KV, 0));
      rig.linker.load(rig.request("a", pages, 0));
      var unused = rig.linker.startLayerWiseLoading();
      assertThat(rig.pollLoad().ok()).isFalse();
      store.script = new Script() {};
      assertThat(rig.linker.lookup(pages, rig.queries()).restorable().isEmpty()).isTrue();

      rig.linker.offload(rig.request("again", pages, 0));
      Completion again = rig.pollOffload();
      assertThat(again.failures()).hasSize(1);
      assertThat(again.failures().getFirst().page()).isEqualTo(pages.get(0));
      assertThat(again.failures().getFirst().cause().code()).isEqualTo(FailureCode.REFUSED);

      now.addAndGet(Duration.ofMinutes(10).toNanos());
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(2);
      assertThat(rig.linker.stats().suspects()).isZero();
    }
  }

  @Test
  @DisplayName(
      "load.no-livelock: only a failure that proves an object bad lets an offload remove it")
  void offload_suspectIsThereAgain_isLeftAloneAndOfferedAgain() {
    for (FailureCode code : FailureCode.values()) {
      if (code.provesBadObject()) {
        continue;
      }
      StoreFailure failure = StoreFailure.of(code, "no proof");
      try (Rig rig = Rig.plan().build()) {
        List<PageKey> pages = Rig.pages("p", 1);
        rig.store("s", pages);
        rig.store.script =
            new Script() {
              @Override
              public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
                return step == Step.READ ? failure : null;
              }
            };
        rig.linker.load(rig.request("a", pages, 0));
        var unused = rig.linker.startLayerWiseLoading();
        assertThat(rig.pollLoad().ok()).isFalse();
        boolean ended = code == FailureCode.CLOSED || code == FailureCode.CANCELLED;
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages())
            .as("offered at once after %s", code)
            .isEqualTo(ended ? 1 : 0);
        rig.store.script = new Script() {};
        rig.store("again", pages);
        assertThat(rig.store.calls(Step.REMOVE)).as("removed after %s", code).isEmpty();
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages())
            .as("found after %s", code)
            .isEqualTo(1);
      }
    }
  }

  @Test
  @DisplayName("load.no-livelock: a load that fails as a whole is not offered at once again")
  void lookup_afterThrowOrTimeout_isAMiss() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
      rig.store.script = gate;
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      assertThatThrownBy(() -> batch.awaitLayer(0, Duration.ofNanos(1)))
          .isInstanceOf(CacheException.class);
      gate.open();
      assertThat(rig.pollLoad().ok()).isFalse();
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      rig.store("again", pages);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
    }
  }

  @Test
  void load_twoRequestsShareAPage_bothLoad() {
    for (LoadPath path : List.of(LoadPath.LAYERS, LoadPath.PAGES)) {
      try (Rig rig = Rig.plan().withLoadPath(path).build()) {
        List<PageKey> pages = Rig.pages("p", 2);
        rig.store("s", pages);
        rig.linker.load(rig.request("a", pages, 0));
        rig.linker.load(rig.request("b", pages, 8));
        rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
        assertThat(rig.pollLoad().ok()).isTrue();
        assertThat(rig.pollLoad().ok()).isTrue();
        assertThat(rig.holds(pages.get(1), 1)).isTrue();
        assertThat(rig.holds(pages.get(1), 9)).isTrue();
      }
    }
  }

  @Test
  @DisplayName("load.layer-order: whole pages are announced after the last of them")
  void awaitLayer_wholePages_notBeforeTheBytesAreThere() throws Exception {
    StoreLimits limits = new StoreLimits(2, 1000, 1000, 8, 1, Duration.ZERO, Duration.ZERO);
    ScriptedStore store = new ScriptedStore(limits);
    try (Rig rig = Rig.plan().withStore(store).build()) {
      List<PageKey> pages = Rig.pages("p", 3);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.GET, 2);
      store.script = gate;
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      assertThat(batch.toString()).contains("layers in place=0 of 3");
      gate.open();
      assertThat(batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG).failed()).isEmpty();
      assertThat(rig.holds(pages.get(2), 2)).isTrue();
    }
  }

  @Test
  void load_storeAnswersTooMuchOrNothing_fails() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      rig.store.extraStatuses = 1;
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("2 entries with 3 statuses");
      assertThat(rig.pollLoad().ok()).isFalse();
    }
  }

  @Test
  @DisplayName("load.partial-pools: one source alone can be loaded")
  void load_oneSourceAlone_works() {
    try (Rig rig = Rig.plan().withSwa().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      for (PoolName source : List.of(PoolName.KV, Rig.SWA)) {
        rig.linker.load(
            new TransferRequest(
                "only-" + source,
                List.of(new PoolTransfer(source, pages.subList(1, 2), Slots.of(7)))));
        rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
        assertThat(rig.pollLoad().ok()).isTrue();
      }
      assertThat(rig.holds(pages.get(1), 7)).isTrue();
    }
  }

  @Test
  @DisplayName("load.timeout: a late arrival changes no answer; slots wait for the transfer")
  void awaitLayer_timesOut_failsFinallyAndCompletesOnlyWhenTransferLetsGo() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 1);
      rig.store.script = gate;
      rig.linker.load(rig.request("a", pages, 0));
      rig.linker.load(rig.request("b", pages, 4));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      assertThatThrownBy(() -> batch.awaitLayer(1, Duration.ofMillis(1)))
          .isInstanceOf(CacheException.class)
          .extracting(e -> ((CacheException) e).code())
          .isEqualTo(FailureCode.TIMEOUT);
      assertThat(batch.awaitLayer(0, Duration.ZERO).failed()).containsOnlyKeys("a", "b");
      // The store still has the slots, so they are not given back.
      assertThat(rig.linker.pollLoads(Duration.ZERO)).isEmpty();
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.RUNNING);
      gate.open();
      Completion a = rig.pollLoad();
      assertThat(a.id()).isEqualTo("a");
      assertThat(a.failures()).hasSize(2);
      assertThat(a.failures().getFirst().cause().code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(rig.pollLoad().failures()).hasSize(2);
      assertThatThrownBy(() -> batch.awaitLayer(2, Rig.LONG)).isInstanceOf(CacheException.class);
    }
  }

  @Test
  @DisplayName("load.peek: a wait of no time tells that a layer is not in place and fails nothing")
  void awaitLayer_noTime_failsNothing() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 1);
      rig.store.script = gate;
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      for (Duration none : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
        assertThatThrownBy(() -> batch.awaitLayer(1, none))
            .isInstanceOf(CacheException.class)
            .hasMessageContaining("layer 1 is not in place yet")
            .extracting(e -> ((CacheException) e).code())
            .isEqualTo(FailureCode.TIMEOUT);
        assertThat(batch.awaitLayer(0, none).failed()).isEmpty();
      }
      gate.open();
      assertThat(batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG).failed()).isEmpty();
      assertThat(rig.pollLoad().ok()).isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource({"LAYERS,1", "LAYERS,-1", "PAGES,1", "PAGES,-1"})
  @DisplayName("load.size-exact: an object of another size than its page fails, either way alike")
  void load_objectOfAnotherSize_isSizeMismatch(LoadPath path, int more) {
    try (Rig rig = Rig.plan().withLoadPath(path).build()) {
      List<PageKey> bad = Rig.pages("bad", 1);
      List<PageKey> good = Rig.pages("good", 1);
      rig.store("s1", bad);
      rig.store("s2", good);
      ObjectKey object = rig.object(bad.getFirst(), PoolName.KV, 1);
      rig.store.objects.computeIfPresent(
          object, (key, bytes) -> Arrays.copyOf(bytes, bytes.length + more));
      rig.linker.load(rig.request("bad", bad, 0));
      rig.linker.load(rig.request("good", good, 4));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThat(batch.awaitLayer(0, Rig.LONG).failed()).containsOnlyKeys("bad");
      assertThat(rig.pollLoad().failures())
          .singleElement()
          .satisfies(
              failure -> assertThat(failure.cause().code()).isEqualTo(FailureCode.SIZE_MISMATCH));
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.store.calls(Step.READ))
          .allSatisfy(call -> assertThat(call.keys()).doesNotContain(object));
      rig.store("again", bad);
      assertThat(rig.store.objects.get(object)).hasSize(3 * 24);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = LoadPath.class,
      names = {"LAYERS", "PAGES"})
  @DisplayName("load.ready-fails: a stage that was cancelled ends its request, and hides no page")
  void load_readyIsCancelled_endsAloneAndSuspectsNothing(LoadPath path) {
    try (Rig rig = Rig.plan().withLoadPath(path).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      for (Throwable problem : List.of(new CancellationException(), new Unspeakable())) {
        CompletableFuture<String> ready = new CompletableFuture<>();
        ready.completeExceptionally(problem);
        rig.linker.load(new TransferRequest("a", rig.request("a", pages, 0).transfers(), ready));
        rig.linker.load(rig.request("b", pages, 1));
        rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
        assertThat(rig.pollLoad().failures())
            .singleElement()
            .satisfies(
                failure -> assertThat(failure.cause().code()).isEqualTo(FailureCode.CANCELLED));
        assertThat(rig.pollLoad().ok()).isTrue();
        assertThat(rig.linker.stats().suspects()).isZero();
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
      }
    }
  }

  /** A problem that cannot even be told. */
  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("no words");
    }
  }

  @Test
  @DisplayName("store.memory-in-doubt: slots in use come back when the transfer lets go")
  void pollLoads_memoryInUse_waitsForRelease() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      CompletableFuture<String> released = new CompletableFuture<>();
      StoreFailure inUse = BROKEN.withMemory(new MemoryState.InUse(released));
      rig.store.script =
          new Script() {
            @Override
            public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
              return step == Step.READ ? inUse : null;
            }
          };
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG)).isInstanceOf(CacheException.class);
      assertThat(rig.linker.pollLoads(Duration.ofMillis(5))).isEmpty();
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.RUNNING);
      released.complete("let go");
      assertThat(rig.pollLoad().ok()).isFalse();
    }
  }

  @Test
  @DisplayName("load.cancel: each outcome is told truthfully, and ids leave no trace")
  void cancel_eachState_tellsOutcome() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.UNKNOWN);
      rig.linker.load(rig.request("a", pages, 0));
      assertThatThrownBy(() -> rig.linker.load(rig.request("a", pages, 0)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a");
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.CANCELLED_QUEUED);
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.UNKNOWN);
      assertThat(rig.linker.startLayerWiseLoading().requests()).isEmpty();

      Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
      rig.store.script = gate;
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.RUNNING);
      assertThatThrownBy(() -> rig.linker.load(rig.request("a", pages, 0)))
          .isInstanceOf(IllegalArgumentException.class);
      gate.open();
      batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      CancelOutcome outcome;
      do {
        // Between the last layer and the end lies only the closing of the session.
        outcome = rig.linker.cancel("a");
        Thread.onSpinWait();
      } while (outcome == CancelOutcome.RUNNING);
      assertThat(outcome).isEqualTo(CancelOutcome.FINISHED);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.linker.cancel("a")).isEqualTo(CancelOutcome.UNKNOWN);
    }
  }

  @Test
  @DisplayName("load.early-stop: a consumer that stops waiting leaks nothing")
  void load_nobodyWaits_completesAndCloses() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      for (int i = 0; i < 50; i++) {
        rig.linker.load(rig.request("a", pages, 0));
        rig.linker.startLayerWiseLoading().awaitLayer(0, Rig.LONG);
        assertThat(rig.pollLoad().ok()).isTrue();
      }
      assertThat(rig.store.openSessions).hasValue(0);
    }
  }

  @Test
  void awaitLayer_interrupted_leavesBatchAlone() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
      rig.store.script = gate;
      rig.linker.load(rig.request("a", pages, 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      AtomicReference<@Nullable Throwable> seen = new AtomicReference<>();
      Thread waiter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      batch.awaitLayer(0, Rig.LONG);
                    } catch (CacheException e) {
                      seen.set(e);
                    }
                  });
      waiter.interrupt();
      waiter.join();
      assertThat(seen.get()).isInstanceOf(CacheException.class).hasMessageContaining("interrupted");
      gate.open();
      assertThat(batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG).failed()).isEmpty();
      assertThat(rig.pollLoad().ok()).isTrue();
    }
  }

  @Test
  @DisplayName("one call per session and layer, split by the store's limits")
  void load_smallBatchLimit_splitsCalls() {
    StoreLimits limits = new StoreLimits(5, 1000, 1000, 8, 1, Duration.ZERO, Duration.ZERO);
    ScriptedStore store = new ScriptedStore(limits, Capability.RANGED_READ);
    try (Rig rig = Rig.plan().withStore(store).build()) {
      List<PageKey> pages = Rig.pages("p", 6);
      rig.store("s", pages);
      rig.linker.load(rig.request("a", pages, 0));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(store.calls(Step.OPEN)).hasSize(3);
      assertThat(store.calls(Step.READ)).hasSize(3 * Rig.LAYERS);
      assertThat(store.calls(Step.READ).getFirst().ops())
          .allSatisfy(op -> assertThat(((ReadOp) op).ranges()).hasSize(1));
      for (int i = 0; i < 6; i++) {
        assertThat(rig.holds(pages.get(i), i)).isTrue();
      }
    }
  }

  @Test
  void load_slotOutsidePool_isRefused() {
    try (Rig rig = Rig.plan().build()) {
      assertThatThrownBy(() -> rig.linker.load(rig.request("a", Rig.pages("p", 2), Rig.SLOTS - 1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("slot " + Rig.SLOTS)
          .hasMessageContaining("kv");
      assertThatThrownBy(
              () ->
                  rig.linker.load(
                      new TransferRequest(
                          "a",
                          List.of(
                              new PoolTransfer(
                                  new PoolName("nope"), Rig.pages("p", 1), Slots.of(0))))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("nope");
    }
  }
}
