package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.direct.ScriptedStore.Call;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the store is called for: each phase takes one call for as many objects as the store admits,
 * and none for a single key beyond that.
 */
@Timeout(60)
class StoreCallsTest {
  private static final int PAGES = 12;

  /** Keys and values. */
  private static final int KV_OBJECTS = 2 * PAGES;

  private static final int SWA_OBJECTS = PAGES;
  private static final int OBJECTS = KV_OBJECTS + SWA_OBJECTS;

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 24, 35, 36, 1000})
  void lookup_anyBatchLimit_asksForAnchorThenForTheOthers(int limit) {
    try (Rig rig = rig(limit)) {
      List<PageKey> pages = stored(rig);
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(PAGES);
      assertCalls(rig, calls(KV_OBJECTS, limit) + calls(SWA_OBJECTS, limit), Step.EXISTS);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 24, 35, 36, 1000})
  void load_byLayers_opensOnceAndReadsOncePerLayer(int limit) {
    try (Rig rig = rig(limit)) {
      loadInTwoRequests(rig, stored(rig));
      int sessions = calls(OBJECTS, limit);
      assertThat(rig.store.calls(Step.OPEN)).hasSize(sessions);
      assertThat(rig.store.calls(Step.READ)).hasSize(sessions * Rig.LAYERS);
      assertThat(rig.store.calls).hasSize(sessions + sessions * Rig.LAYERS);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 24, 35, 36, 1000})
  void load_wholePages_getsOnce(int limit) {
    try (Rig rig =
        Rig.plan().withSwa().withStore(store(limit)).withLoadPath(LoadPath.PAGES).build()) {
      loadInTwoRequests(rig, stored(rig));
      assertCalls(rig, calls(OBJECTS, limit), Step.GET);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 24, 35, 36, 1000})
  void offload_anyBatchLimit_asksAndPutsOnce(int limit) {
    try (Rig rig = rig(limit)) {
      rig.store("s", Rig.pages("p", PAGES));
      assertThat(rig.store.calls(Step.EXISTS)).hasSize(calls(OBJECTS, limit));
      assertThat(rig.store.calls(Step.PUT)).hasSize(calls(OBJECTS, limit));
      assertThat(rig.store.calls).hasSize(2 * calls(OBJECTS, limit));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 24, 35, 36, 1000})
  void offload_everythingThere_asksOnly(int limit) {
    try (Rig rig = rig(limit)) {
      List<PageKey> pages = stored(rig);
      rig.linker.offload(rig.request("again", pages, 0));
      assertThat(rig.pollOffload().ok()).isTrue();
      assertCalls(rig, calls(OBJECTS, limit), Step.EXISTS);
    }
  }

  private static Rig rig(int limit) {
    return Rig.plan().withSwa().withStore(store(limit)).build();
  }

  private static ScriptedStore store(int limit) {
    return new ScriptedStore(
        new StoreLimits(limit, 1000, 1000, 8, 1, Duration.ZERO, Duration.ZERO),
        Capability.REMOVE,
        Capability.RANGED_READ);
  }

  /** Stores the pages and forgets the calls that took. */
  private static List<PageKey> stored(Rig rig) {
    List<PageKey> pages = Rig.pages("p", PAGES);
    rig.store("s", pages);
    rig.store.calls.clear();
    return pages;
  }

  /** Requests that start together share their calls. */
  private static void loadInTwoRequests(Rig rig, List<PageKey> pages) {
    int half = PAGES / 2;
    rig.linker.load(rig.request("a", pages.subList(0, half), 0));
    rig.linker.load(rig.request("b", pages.subList(half, PAGES), half));
    var unused = rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
    assertThat(rig.pollLoad().ok()).isTrue();
    assertThat(rig.pollLoad().ok()).isTrue();
  }

  private static void assertCalls(Rig rig, int count, Step step) {
    assertThat(rig.store.calls).hasSize(count).extracting(Call::step).containsOnly(step);
  }

  /** Returns how many calls of at most {@code limit} objects it takes. */
  private static int calls(int objects, int limit) {
    return (objects + limit - 1) / limit;
  }
}
