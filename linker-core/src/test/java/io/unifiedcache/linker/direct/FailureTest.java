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
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What comes of failures of the store; {@code docs/failures.md} lists all of them. */
@Timeout(60)
class FailureTest {
  /** Throws in one call of a step. */
  private static Script throwing(Step at, int number) {
    return new Script() {
      @Override
      public void before(Step step, int call) {
        if (step == at && call == number) {
          throw new IllegalStateException("lost its mind");
        }
      }
    };
  }

  @Test
  @DisplayName("load.layer-failure: a start that fails half way leaves no session open")
  void load_secondSessionFailsToOpen_closesTheFirstAndReadsNothing() {
    StoreLimits limits = new StoreLimits(2, 1000, 1000, 8, 1, Duration.ZERO, Duration.ZERO);
    ScriptedStore store = new ScriptedStore(limits, Capability.RANGED_READ, Capability.REMOVE);
    try (Rig rig = Rig.plan().withStore(store).build()) {
      List<PageKey> pages = Rig.pages("p", 3);
      rig.store("s", pages);
      store.script = throwing(Step.OPEN, 1);
      rig.linker.load(rig.request("a", pages, 4));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG)).hasMessageContaining("lost its mind");
      assertThat(rig.pollLoad().failures()).hasSize(3);
      assertThat(store.calls(Step.OPEN)).hasSize(2);
      assertThat(store.calls(Step.READ)).isEmpty();
      assertThat(store.openSessions).hasValue(0);
      Leftovers.awaitNone(rig.linker);
    }
  }

  @ParameterizedTest
  @CsvSource({"OPEN,1", "OPEN,-1", "READ,1", "READ,-1", "GET,1", "GET,-1"})
  @DisplayName("load.failed-never-loaded: rows that do not match the objects say nothing of any")
  void load_answerOfAnotherSize_failsTheBatchAndNoLaterOne(Step step, int extra) {
    LoadPath path = step == Step.GET ? LoadPath.PAGES : LoadPath.LAYERS;
    try (Rig rig = Rig.plan().withLoadPath(path).build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      rig.store.extraStatusesAt = step;
      rig.store.extraStatuses = extra;
      rig.linker.load(rig.request("a", pages, 4));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("4 entries with " + (4 + extra) + " statuses");
      assertThat(rig.pollLoad().ok()).isFalse();
      assertThat(rig.store.openSessions).hasValue(0);
      rig.store.extraStatuses = 0;
      rig.linker.load(rig.request("b", pages, 4));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad().ok()).isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource({"EXISTS,1", "EXISTS,-1", "PUT,1", "PUT,-1"})
  @DisplayName("offload.partial: rows that do not match the objects say nothing of any")
  void offload_answerOfAnotherSize_failsTheRequestAndNoLaterOne(Step step, int extra) {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store.extraStatusesAt = step;
      rig.store.extraStatuses = extra;
      rig.linker.offload(rig.request("a", pages, 0));
      assertThat(rig.pollOffload().failures()).hasSize(2);
      rig.store.extraStatuses = 0;
      rig.linker.offload(rig.request("b", pages, 0));
      assertThat(rig.pollOffload().ok()).isTrue();
    }
  }

  static Stream<Throwable> problems() {
    return Stream.of(new IllegalStateException("cannot close"), new NoSuchMethodError("close"));
  }

  @ParameterizedTest
  @MethodSource("problems")
  @DisplayName("a session that throws when it is closed keeps no other from being closed")
  void load_sessionsThrowOnClose_isLoadedAndAllAreClosed(Throwable problem) {
    StoreLimits limits = new StoreLimits(2, 1000, 1000, 8, 1, Duration.ZERO, Duration.ZERO);
    ScriptedStore store = new ScriptedStore(limits, Capability.RANGED_READ, Capability.REMOVE);
    try (Rig rig = Rig.plan().withStore(store).build()) {
      List<PageKey> pages = Rig.pages("p", 3);
      rig.store("s", pages);
      store.closingSessionThrows = problem;
      rig.linker.load(rig.request("a", pages, 4));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad()).isEqualTo(new Completion("a", List.of()));
      assertThat(store.calls(Step.OPEN)).hasSize(3);
      assertThat(store.openSessions).hasValue(0);
      store.closingSessionThrows = null;
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Step.class,
      names = {"EXISTS", "PUT"})
  @DisplayName("offload.partial: a store that throws fails the request and no other one")
  void offload_storeThrowsAnywhere_failsThatRequestOnly(Step step) {
    try (Rig rig = Rig.plan().build()) {
      rig.store.script = throwing(step, 0);
      rig.linker.offload(rig.request("a", Rig.pages("p", 2), 0));
      assertThat(rig.pollOffload().failures()).hasSize(2);
      rig.linker.offload(rig.request("b", Rig.pages("q", 1), 4));
      assertThat(rig.pollOffload()).isEqualTo(new Completion("b", List.of()));
    }
  }

  @Test
  @DisplayName("load.no-livelock: a bad object that cannot be removed fails its page, not its like")
  void offload_removeThrows_failsAndIsTriedAgain() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      rig.store.damaged.add(rig.object(pages.get(0), PoolName.KV, 0));
      rig.linker.load(rig.request("a", pages, 4));
      var unused = rig.linker.startLayerWiseLoading();
      assertThat(rig.pollLoad().ok()).isFalse();
      rig.store.script = throwing(Step.REMOVE, 0);
      rig.linker.offload(rig.request("again", pages, 0));
      assertThat(rig.pollOffload().ok()).isFalse();
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      rig.store("once more", pages);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(2);
    }
  }

  @Test
  @DisplayName("offload.partial: requests that wait together fail one by one")
  void offload_oneOfSeveralFails_othersAreStored() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> bad = Rig.pages("bad", 1);
      rig.store.script = Scripts.failing(Step.PUT, rig.object(bad.getFirst(), PoolName.KV, 1));
      rig.linker.offload(rig.request("a", Rig.pages("a", 1), 0));
      rig.linker.offload(rig.request("bad", bad, 1));
      rig.linker.offload(rig.request("c", Rig.pages("c", 1), 2));
      List<Completion> completions = rig.pollAllOffloads(3);
      assertThat(completions.stream().map(Completion::id)).containsExactly("a", "bad", "c");
      assertThat(completions.stream().map(Completion::ok)).containsExactly(true, false, true);
    }
  }

  @Test
  @DisplayName("offload.missing-only: what a reset left in the store is not written again")
  void offload_afterAReset_findsWhatWasStored() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.linker.offload(rig.request("a", pages, 0));
      Drained drained = rig.linker.reset();
      assertThat(drained.offloads()).hasSize(1);
      boolean stored = drained.offloads().getFirst().ok();
      assertThat(rig.store.objects).hasSize(stored ? 2 : 0);
      rig.linker.offload(rig.request("a", pages, 0));
      assertThat(rig.pollOffload()).isEqualTo(new Completion("a", List.of()));
      assertThat(rig.store.calls(Step.PUT)).hasSize(1);
    }
  }

  @Test
  @DisplayName("load.evicted-between: what is not there fails by name, and what is there is loaded")
  void load_neverStored_failsAsAbsent() {
    try (Rig rig = Rig.plan().build()) {
      rig.linker.load(rig.request("a", Rig.pages("p", 2), 0));
      LoadBatch batch = rig.linker.startLayerWiseLoading();
      assertThatThrownBy(() -> batch.awaitLayer(0, Rig.LONG))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.ABSENT));
      assertThat(rig.pollLoad().failures()).hasSize(2);
      assertThat(rig.store.calls(Step.READ)).isEmpty();
    }
  }

  @Test
  @DisplayName("lookup asks the store each time: nothing stale is remembered")
  void lookup_objectGoneMeanwhile_isSeenAtOnce() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(2);
      rig.store.objects.remove(rig.object(pages.get(1), PoolName.KV, 0));
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(1);
    }
  }

  @Test
  @DisplayName("offload.partial: one source alone can be stored")
  void offload_oneSourceAlone_works() {
    try (Rig rig = Rig.plan().withSwa().build()) {
      rig.linker.offload(
          new TransferRequest(
              "a", List.of(new PoolTransfer(Rig.SWA, Rig.pages("p", 1), Slots.of(0)))));
      assertThat(rig.pollOffload()).isEqualTo(new Completion("a", List.of()));
      assertThat(rig.store.objects).containsOnlyKeys(rig.object(new PageKey("p0"), Rig.SWA, 0));
    }
  }

  @Test
  @DisplayName("linker.device-memory: every buffer counts, not the first one")
  void open_oneDeviceBufferAmongHostBuffers_isRefused() {
    try (Arena arena = Arena.ofShared()) {
      LayerBuffer host = new LayerBuffer(0, HostMemory.of(arena.allocate(64)), 8);
      LayerBuffer device = new LayerBuffer(1, new DeviceMemory("cuda:0", 0x1000, 64), 8);
      DevicePools pools =
          new DevicePools(
              List.of(PoolLayouts.latents(PoolName.KV, PoolName.KV, List.of(host, device))),
              /* rankReplicated= */ false);
      assertThatThrownBy(
              () ->
                  DirectLinker.open(
                      new ScriptedStore(),
                      /* ownsStore= */ true,
                      KeyLayout.of(
                          KeyForm.STRICT,
                          CacheIdentity.builder().model("m").build(),
                          /* rankReplicated= */ false,
                          EmptySegments.KEEP),
                      pools,
                      RankMember.alone(pools),
                      LinkerOptions.defaults(),
                      MonotonicClock.SYSTEM,
                      "test"))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("device memory");
    }
  }
}
