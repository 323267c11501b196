package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Cancels, resets and closes at every point of a load, and what they leave behind: nothing. */
@Timeout(120)
class CancelTest {
  /** Lets the calls of loads go on one at a time, as the test says. */
  private static final class Turnstile implements Script {
    private final Semaphore arrivals = new Semaphore(0);
    private final Semaphore passes = new Semaphore(0);

    @Override
    public void before(Step step, int call) {
      if (step == Step.OPEN || step == Step.READ || step == Step.GET) {
        arrivals.release();
        passes.acquireUninterruptibly();
      }
    }

    void awaitArrival() throws InterruptedException {
      assertThat(arrivals.tryAcquire(20, TimeUnit.SECONDS)).as("a call came").isTrue();
    }

    void letPass() {
      passes.release();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = LoadPath.class,
      names = {"LAYERS", "PAGES"})
  @DisplayName("load.cancel: 1,000 cancels at random points tell the truth and leave no trace")
  void cancel_aThousandTimesAtRandomPoints_isTruthfulAndLeavesNothing(LoadPath path)
      throws Exception {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    try (Rig rig = Rig.plan().withLoadPath(path).build()) {
      List<PageKey> pages = Rig.pages("p", 2);
      rig.store("s", pages);
      rig.store.calls.clear();
      // One call to open and one per layer, or a single one for whole pages.
      int calls = path == LoadPath.LAYERS ? 1 + Rig.LAYERS : 1;
      for (int i = 0; i < 1_000; i++) {
        String what = "cancel %d, seed %d".formatted(i, seed);
        // Few ids, so that each is reused at once.
        String id = "load-" + random.nextInt(2);
        int point = random.nextInt(-2, calls + 2);
        if (point == -2) {
          assertThat(rig.linker.cancel(id)).as(what).isEqualTo(CancelOutcome.UNKNOWN);
          continue;
        }
        Turnstile turnstile = new Turnstile();
        rig.store.script = turnstile;
        rig.linker.load(rig.request(id, pages, 4));
        if (point == -1) {
          assertThat(rig.linker.cancel(id)).as(what).isEqualTo(CancelOutcome.CANCELLED_QUEUED);
          assertThat(rig.linker.cancel(id)).as(what).isEqualTo(CancelOutcome.UNKNOWN);
          continue;
        }
        LoadBatch batch = rig.linker.startLayerWiseLoading();
        for (int call = 0; call < calls; call++) {
          turnstile.awaitArrival();
          if (call == point) {
            assertThat(rig.linker.cancel(id)).as(what).isEqualTo(CancelOutcome.RUNNING);
          }
          turnstile.letPass();
          // A consumer that stops early at a random layer.
          if (path == LoadPath.LAYERS && call > 0 && random.nextBoolean()) {
            assertThat(batch.awaitLayer(call - 1, Rig.LONG).failed()).as(what).isEmpty();
          }
        }
        if (point == calls) {
          CancelOutcome outcome = rig.linker.cancel(id);
          while (outcome == CancelOutcome.RUNNING) {
            Thread.onSpinWait();
            outcome = rig.linker.cancel(id);
          }
          assertThat(outcome).as(what).isEqualTo(CancelOutcome.FINISHED);
        }
        // It ran to its end: a load that has started cannot be cancelled.
        assertThat(rig.pollLoad()).as(what).isEqualTo(new Completion(id, List.of()));
        assertThat(rig.holds(pages.get(1), 5)).as(what).isTrue();
        assertThat(rig.linker.cancel(id)).as(what).isEqualTo(CancelOutcome.UNKNOWN);
      }
      Leftovers.awaitNone(rig.linker);
      assertThat(rig.store.openSessions).hasValue(0);
      assertThat(rig.linker.pollLoads(Duration.ZERO)).isEmpty();
    }
  }

  @Test
  @DisplayName("linker.quiesce, load.exactly-once: resets under load at every point")
  void reset_underLoadAtEveryPoint_answersAllAndGoesOn() throws Exception {
    for (int point = 0; point <= 1 + Rig.LAYERS; point++) {
      try (Rig rig = Rig.plan().build()) {
        List<PageKey> pages = Rig.pages("p", 1);
        rig.store("s", pages);
        Turnstile turnstile = new Turnstile();
        rig.store.script = turnstile;
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          ids.add("load-" + i);
          rig.linker.load(rig.request("load-" + i, pages, i));
          if (i < 3) {
            var unused = rig.linker.startLayerWiseLoading();
          }
        }
        CompletableFuture<String> computed = new CompletableFuture<>();
        rig.linker.offload(
            new TransferRequest("unready", rig.request("x", pages, 8).transfers(), computed));
        for (int call = 0; call < point; call++) {
          turnstile.awaitArrival();
          turnstile.letPass();
        }
        // All that is still to come: at most as many calls as three loads make.
        for (int call = point; call < 3 * (1 + Rig.LAYERS); call++) {
          turnstile.letPass();
        }
        Drained drained = rig.linker.reset();
        assertThat(drained.loads().stream().map(Completion::id)).isEqualTo(ids);
        assertThat(drained.offloads().stream().map(Completion::id)).containsExactly("unready");
        assertThat(drained.quarantined()).isEmpty();
        computed.complete("late");
        Leftovers.awaitNone(rig.linker);
        assertThat(rig.store.openSessions).hasValue(0);
        rig.store.script = new Script() {};
        for (String id : ids) {
          rig.linker.load(rig.request(id, pages, 2));
          rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
          assertThat(rig.pollLoad().ok()).isTrue();
        }
      }
    }
  }

  @Test
  @DisplayName("close under load: every wait ends, every session and registration is given back")
  void close_underLoadAtEveryPoint_leavesNothing() throws Exception {
    for (int point = 0; point <= 1 + Rig.LAYERS; point++) {
      ScriptedStore store = new ScriptedStore();
      List<Thread> consumers = new ArrayList<>();
      AtomicInteger ended = new AtomicInteger();
      try (Rig rig = Rig.plan().withStore(store).build()) {
        List<PageKey> pages = Rig.pages("p", 1);
        rig.store("s", pages);
        Turnstile turnstile = new Turnstile();
        store.script = turnstile;
        for (int i = 0; i < 3; i++) {
          rig.linker.load(rig.request("load-" + i, pages, i));
          LoadBatch batch = rig.linker.startLayerWiseLoading();
          consumers.add(
              Thread.ofVirtual()
                  .start(
                      () -> {
                        try {
                          var unused = batch.awaitLayer(Rig.LAYERS - 1, Rig.LONG);
                        } catch (CacheException e) {
                          assertThat(e.code()).isEqualTo(FailureCode.CLOSED);
                        } finally {
                          ended.incrementAndGet();
                        }
                      }));
        }
        rig.linker.offload(rig.request("offload", Rig.pages("q", 1), 8));
        for (int call = 0; call < point; call++) {
          turnstile.awaitArrival();
          turnstile.letPass();
        }
        for (int call = point; call < 3 * (1 + Rig.LAYERS); call++) {
          turnstile.letPass();
        }
        rig.linker.close();
        Leftovers.awaitNone(rig.linker);
      }
      for (Thread consumer : consumers) {
        assertThat(consumer.join(Rig.LONG)).isTrue();
      }
      assertThat(ended).hasValue(3);
      assertThat(store.openSessions).hasValue(0);
      assertThat(store.registrations).hasValue(0);
      assertThat(store.closed).isTrue();
    }
  }

  @Test
  @DisplayName("200 opens and closes leave no thread and no registration")
  void openAndClose_twoHundredTimes_leavesNothing() throws Exception {
    for (int i = 0; i < 200; i++) {
      ScriptedStore store = new ScriptedStore();
      try (Rig rig = Rig.plan().withStore(store).build()) {
        List<PageKey> pages = Rig.pages("p", 1);
        rig.store("s", pages);
        rig.linker.load(rig.request("a", pages, 1));
        var unused = rig.linker.startLayerWiseLoading();
        if (i % 2 == 0) {
          assertThat(rig.pollLoad().ok()).isTrue();
        }
      }
      assertThat(store.registrations).hasValue(0);
      assertThat(store.openSessions).hasValue(0);
    }
    for (Thread thread : Soak.threads("rig-0")) {
      assertThat(thread.join(Rig.LONG)).as("%s", thread).isTrue();
    }
  }
}
