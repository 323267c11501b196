package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LifecycleTest {
  @Test
  @DisplayName(
      "load.exactly-once, linker.quiesce: reset returns what it ended, and poll never does")
  void reset_everyState_returnsEachOnce() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      rig.linker.load(rig.request("finished", pages, 0));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      while (rig.linker.cancel("finished") != CancelOutcome.FINISHED) {
        Thread.onSpinWait();
      }
      Scripts.Gate gate = new Scripts.Gate(Step.READ, Rig.LAYERS);
      rig.store.script = gate;
      rig.linker.load(rig.request("running", pages, 1));
      LoadBatch running = rig.linker.startLayerWiseLoading();
      rig.linker.load(rig.request("waiting", pages, 2));
      var unused = rig.linker.startLayerWiseLoading();
      rig.linker.load(rig.request("queued", pages, 3));
      CompletableFuture<String> never = new CompletableFuture<>();
      rig.linker.offload(
          new TransferRequest("unready", rig.request("x", pages, 4).transfers(), never));
      gate.awaitArrival();

      try (ExecutorService other = Executors.newSingleThreadExecutor()) {
        Future<String> opener =
            other.submit(
                () -> {
                  assertThatThrownBy(() -> running.awaitLayer(0, Rig.LONG))
                      .isInstanceOf(CacheException.class)
                      .hasMessageContaining("reset");
                  gate.open();
                  return "opened";
                });
        Drained drained = rig.linker.reset();
        assertThat(opener.get()).isEqualTo("opened");
        assertThat(drained.loads().stream().map(Completion::id))
            .containsExactly("finished", "running", "waiting", "queued");
        assertThat(drained.loads().getFirst().ok()).isTrue();
        assertThat(drained.loads().subList(1, 4))
            .allSatisfy(
                completion ->
                    assertThat(completion.failures().getFirst().cause().code())
                        .isEqualTo(FailureCode.CANCELLED));
        assertThat(drained.offloads().stream().map(Completion::id)).containsExactly("unready");
        assertThat(drained.offloads().getFirst().ok()).isFalse();
        assertThat(drained.quarantined()).isEmpty();
      }
      never.complete("too late");
      assertThat(rig.linker.pollLoads(Duration.ZERO)).isEmpty();
      assertThat(rig.linker.pollOffloads(Duration.ZERO)).isEmpty();
      assertThat(rig.linker.cancel("running")).isEqualTo(CancelOutcome.UNKNOWN);

      // Open for business, with the same ids.
      rig.linker.load(rig.request("running", pages, 5));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad()).isEqualTo(new Completion("running", List.of()));
    }
  }

  @Test
  @DisplayName("linker.quiesce: what hangs on the release of memory runs without a lock")
  void released_callsTheLinkerFromAnotherThread_isServed() throws Exception {
    try (Rig rig = Rig.plan().withCloseTimeout(Duration.ofMillis(20)).build();
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      List<PageKey> pages = Rig.pages("p", 1);
      Scripts.Gate gate = new Scripts.Gate(Step.PUT, 0);
      rig.store.script = gate;
      rig.linker.offload(rig.request("stuck", pages, 3));
      gate.awaitArrival();
      CompletableFuture<Completion> served =
          rig.linker
              .reset()
              .released()
              .thenApply(
                  ended -> {
                    try {
                      return other
                          .submit(
                              () -> {
                                rig.linker.offload(rig.request("next", pages, 3));
                                return rig.pollOffload();
                              })
                          .get(20, TimeUnit.SECONDS);
                    } catch (Exception e) {
                      throw new IllegalStateException("not served while memory is released", e);
                    }
                  })
              .toCompletableFuture();
      gate.open();
      assertThat(served.get()).isEqualTo(new Completion("next", List.of()));
    }
  }

  @Test
  @DisplayName("linker.quiesce: memory that is still in use after the timeout is named")
  void reset_storeHangs_namesQuarantine() throws Exception {
    try (Rig rig = Rig.plan().withCloseTimeout(Duration.ofMillis(20)).build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
      rig.store.script = gate;
      rig.linker.load(rig.request("stuck", pages, 3));
      var unused = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      Drained drained = rig.linker.reset();
      assertThat(drained.loads()).hasSize(1);
      assertThat(drained.loads().getFirst().failures()).hasSize(2);
      // Two pages, keys and values, of every layer.
      assertThat(drained.quarantined()).hasSize(2 * 2 * Rig.LAYERS);
      assertThat(drained.quarantined())
          .contains(
              rig.pools.pools().getFirst().components().getFirst().buffers().getFirst().piece(3));
      assertThatThrownBy(() -> rig.linker.load(rig.request("next", pages, 4)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("slot 4 of pool kv is in quarantine")
          .hasMessageContaining("stuck");
      assertThat(drained.released().toCompletableFuture()).isNotDone();
      gate.open();
      drained.released().toCompletableFuture().join();
      rig.linker.load(rig.request("next", pages, 4));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad()).isEqualTo(new Completion("next", List.of()));
    }
  }

  @Test
  @DisplayName(
      "linker.quiesce: what a reset left in use is in use for the next reset and for close")
  void close_afterResetThatLeftMemoryInUse_keepsItRegisteredAndNamesIt() throws Exception {
    Rig rig = Rig.plan().withCloseTimeout(Duration.ofMillis(20)).build();
    List<PageKey> pages = Rig.pages("p", 1);
    rig.store("s", pages);
    Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
    rig.store.script = gate;
    rig.linker.load(rig.request("stuck", pages, 3));
    var unused = rig.linker.startLayerWiseLoading();
    gate.awaitArrival();
    Drained first = rig.linker.reset();
    Drained second = rig.linker.reset();
    assertThat(second.loads()).isEmpty();
    assertThat(second.quarantined()).hasSize(2 * Rig.LAYERS).isEqualTo(first.quarantined());
    int registered = rig.store.registrations.get();
    rig.linker.close();
    assertThat(registered).isPositive();
    assertThat(rig.store.registrations).hasValue(registered);
    gate.open();
    first.released().toCompletableFuture().join();
    second.released().toCompletableFuture().join();
    rig.close();
  }

  @Test
  @DisplayName("linker.quiesce: what waits behind a stuck transfer is not in use")
  void reset_batchesBehindAStuckOne_areNotQuarantined() throws Exception {
    try (Rig rig = Rig.plan().withCloseTimeout(Duration.ofMillis(20)).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
      rig.store.script = gate;
      for (int i = 0; i < 4; i++) {
        rig.linker.load(rig.request("load-" + i, pages, i));
        var unused = rig.linker.startLayerWiseLoading();
      }
      gate.awaitArrival();
      Drained drained = rig.linker.reset();
      assertThat(drained.loads()).hasSize(4).noneMatch(Completion::ok);
      assertThat(drained.quarantined()).hasSize(2 * Rig.LAYERS);
      rig.linker.load(rig.request("next", pages, 3));
      gate.open();
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.holds(pages.getFirst(), 3)).isTrue();
      assertThat(rig.linker.stats().failedLoads()).isEqualTo(4);
    }
  }

  @Test
  @DisplayName("linker.quiesce, offload.poison: reset waits for a put that is running")
  void reset_offloadRunning_waitsAndTellsHowItEnded() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      Scripts.Gate gate = new Scripts.Gate(Step.PUT, 0);
      rig.store.script = gate;
      rig.linker.offload(rig.request("running", Rig.pages("p", 1), 0));
      gate.awaitArrival();
      assertThat(rig.linker.pollOffloads(Duration.ZERO)).isEmpty();
      try (ExecutorService other = Executors.newSingleThreadExecutor()) {
        Future<Drained> drained = other.submit(rig.linker::reset);
        while (rig.linker.stats().failedOffloads() > 0) {
          Thread.onSpinWait();
        }
        assertThat(drained.isDone()).isFalse();
        gate.open();
        assertThat(drained.get().offloads()).containsExactly(new Completion("running", List.of()));
        assertThat(drained.get().quarantined()).isEmpty();
      }
      assertThat(rig.store.objects).hasSize(2);
    }
  }

  @Test
  @DisplayName("linker.quiesce: an interrupt does not end the wait for a transfer")
  void close_interrupted_waitsAllTheSame() throws Exception {
    Rig rig = Rig.plan().build();
    List<PageKey> pages = Rig.pages("p", 1);
    rig.store("s", pages);
    Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
    rig.store.script = gate;
    rig.linker.load(rig.request("a", pages, 0));
    LoadBatch batch = rig.linker.startLayerWiseLoading();
    gate.awaitArrival();
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread closer =
        Thread.ofPlatform()
            .start(
                () -> {
                  Thread.currentThread().interrupt();
                  rig.linker.close();
                  interrupted.complete(Thread.currentThread().isInterrupted());
                });
    assertThat(thrownBy(() -> batch.awaitLayer(0, Rig.LONG))).hasMessageContaining("closed");
    assertThat(rig.store.closed).isFalse();
    assertThat(interrupted).isNotDone();
    gate.open();
    assertThat(interrupted.get(20, TimeUnit.SECONDS)).isTrue();
    assertThat(rig.store.openSessions).hasValue(0);
    closer.join();
    rig.close();
  }

  @Test
  @DisplayName("waits are in real time, whatever clock the store is given")
  void close_clockStandsStill_returnsAfterTheTimeout() throws Exception {
    Rig rig = Rig.plan().withClock(() -> 0).withCloseTimeout(Duration.ofMillis(20)).build();
    List<PageKey> pages = Rig.pages("p", 1);
    rig.store("s", pages);
    Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
    rig.store.script = gate;
    rig.linker.load(rig.request("a", pages, 0));
    var unused = rig.linker.startLayerWiseLoading();
    gate.awaitArrival();
    Drained drained = rig.linker.reset();
    assertThat(drained.quarantined()).isNotEmpty();
    gate.open();
    drained.released().toCompletableFuture().join();
    rig.close();
  }

  @Test
  @DisplayName("store.register: one that fails to unregister does not keep the others")
  void close_unregisterThrows_undoesTheOthersAndClosesTheStore() {
    Rig rig = Rig.plan().build();
    rig.store.throwOnUnregister = true;
    rig.close();
    assertThat(rig.store.registrations).hasValue(0);
    assertThat(rig.store.closed).isTrue();
  }

  @Test
  @DisplayName("close: idempotent, from two threads, and everything afterwards is CLOSED")
  void close_twiceFromTwoThreads_refusesAllWork() throws Exception {
    Rig rig = Rig.plan().build();
    List<PageKey> pages = Rig.pages("p", 1);
    rig.store("s", pages);
    assertThat(rig.store.registrations).hasValue(2 * Rig.LAYERS);
    Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
    rig.store.script = gate;
    rig.linker.load(rig.request("running", pages, 0));
    LoadBatch batch = rig.linker.startLayerWiseLoading();
    gate.awaitArrival();
    try (ExecutorService others = Executors.newFixedThreadPool(3)) {
      Future<Throwable> poller =
          others.submit(() -> thrownBy(() -> rig.linker.pollLoads(Rig.LONG)));
      Future<?> first = others.submit(rig.linker::close);
      assertThat(thrownBy(() -> batch.awaitLayer(0, Rig.LONG)))
          .isInstanceOf(CacheException.class)
          .extracting(e -> ((CacheException) e).code())
          .isEqualTo(FailureCode.CLOSED);
      Future<?> second = others.submit(rig.linker::close);
      assertThat(poller.get(20, TimeUnit.SECONDS)).hasMessageContaining("closed");
      assertThat(first.isDone()).isFalse();
      assertThat(rig.store.closed).isFalse();
      gate.open();
      first.get(20, TimeUnit.SECONDS);
      second.get(20, TimeUnit.SECONDS);
    }
    assertThat(rig.store.closed).isTrue();
    assertThat(rig.store.registrations).hasValue(0);
    assertThat(rig.store.openSessions).hasValue(0);
    rig.linker.close();
    Stream.<ThrowingCallable>of(
            () -> rig.linker.lookup(pages, rig.queries()),
            () -> rig.linker.load(rig.request("x", pages, 0)),
            rig.linker::startLayerWiseLoading,
            () -> rig.linker.pollLoads(Duration.ZERO),
            () -> rig.linker.offload(rig.request("x", pages, 0)),
            () -> rig.linker.pollOffloads(Duration.ZERO),
            () -> rig.linker.cancel("x"),
            rig.linker::reset)
        .forEach(
            call ->
                assertThat(thrownBy(call))
                    .isInstanceOf(CacheException.class)
                    .extracting(e -> ((CacheException) e).code())
                    .isEqualTo(FailureCode.CLOSED));
    assertThat(rig.linker.stats().failedLoads()).isEqualTo(1);
    rig.close();
  }

  private static Throwable thrownBy(ThrowingCallable call) {
    try {
      call.call();
    } catch (Throwable thrown) {
      return thrown;
    }
    throw new AssertionError("nothing was thrown");
  }

  @Test
  @DisplayName("store.register: a failed registration is undone in full")
  void open_registrationFails_undoesTheOthers() {
    ScriptedStore store = new ScriptedStore();
    store.failRegistrationAfter = 3;
    assertThatThrownBy(() -> Rig.plan().withStore(store).build())
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("no more registrations");
    assertThat(store.registrations).hasValue(0);
  }

  @Test
  @DisplayName("linker.device-memory: a store that cannot address devices is refused at open")
  void open_devicePools_areRefused() {
    LayerBuffer buffer = new LayerBuffer(0, new DeviceMemory("cuda:0", 0x1000, 64), 8);
    DevicePools pools =
        new DevicePools(
            List.of(PoolLayouts.latents(PoolName.KV, PoolName.KV, List.of(buffer))), false);
    assertThatThrownBy(() -> open(new ScriptedStore(), pools))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("kv")
        .hasMessageContaining("device memory");
    open(new ScriptedStore(StoreLimits.NONE, Capability.DEVICE_MEMORY), pools).close();
  }

  @Test
  void open_poolsBeyondTheStoresLimits_areRefused() {
    try (Arena arena = Arena.ofShared()) {
      DevicePools pools = latents(arena, 3, 9);
      assertThatThrownBy(() -> open(limited(26, 8, 1), pools)).hasMessageContaining("27 bytes");
      assertThatThrownBy(() -> open(limited(27, 2, 1), pools)).hasMessageContaining("3 pieces");
      assertThatThrownBy(() -> open(limited(27, 3, 8), pools)).hasMessageContaining("aligned");
      open(limited(27, 3, 1), pools).close();
    }
  }

  @Test
  void open_layersWithoutRangedRead_isRefused() {
    ScriptedStore store = new ScriptedStore(StoreLimits.NONE, Capability.REMOVE);
    assertThatThrownBy(() -> Rig.plan().withStore(store).withLoadPath(LoadPath.LAYERS).build())
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("RANGED_READ");
  }

  @Test
  @DisplayName("freed memory fails the request and is not touched")
  void load_arenaClosed_fails() {
    ScriptedStore store = new ScriptedStore();
    Arena arena = Arena.ofShared();
    DevicePools pools = latents(arena, 2, 8);
    try (var linker = open(store, pools)) {
      TransferRequest request =
          new TransferRequest(
              "a", List.of(new PoolTransfer(PoolName.KV, Rig.pages("p", 1), Slots.of(0))));
      linker.offload(request);
      assertThat(linker.pollOffloads(Rig.LONG).getFirst().ok()).isTrue();
      arena.close();
      linker.load(request);
      LoadBatch batch = linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG)).hasMessageContaining("freed");
      assertThat(linker.pollLoads(Rig.LONG).getFirst().ok()).isFalse();
      store.objects.clear();
      linker.offload(request);
      Completion completion = linker.pollOffloads(Rig.LONG).getFirst();
      assertThat(completion.failures().getFirst().cause().message()).contains("freed");
      assertThat(store.calls(Step.READ)).isEmpty();
    }
  }

  private static DevicePools latents(Arena arena, int layers, long bytes) {
    List<LayerBuffer> buffers =
        Stream.iterate(0, i -> i + 1)
            .limit(layers)
            .map(i -> new LayerBuffer(i, HostMemory.of(arena.allocate(4 * bytes, 8)), bytes))
            .toList();
    return new DevicePools(List.of(PoolLayouts.latents(PoolName.KV, PoolName.KV, buffers)), false);
  }

  private static ScriptedStore limited(long objectBytes, int pieces, long alignment) {
    return new ScriptedStore(
        new StoreLimits(100, 1000, objectBytes, pieces, alignment, Duration.ZERO, Duration.ZERO));
  }

  private static CacheLinker open(ScriptedStore store, DevicePools pools) {
    return DirectLinker.open(
        store,
        true,
        KeyLayout.of(
            KeyForm.STRICT, CacheIdentity.builder().model("m").build(), false, EmptySegments.KEEP),
        pools,
        RankMember.alone(pools),
        LinkerOptions.defaults(),
        MonotonicClock.SYSTEM,
        "test");
  }
}
