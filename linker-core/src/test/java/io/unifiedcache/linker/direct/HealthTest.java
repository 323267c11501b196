package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerHealth.State;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class HealthTest {
  private static LinkerHealth health(Rig rig) {
    return rig.linker.health(Deadline.after(Rig.LONG));
  }

  @ParameterizedTest
  @CsvSource({"UP, UP", "DEGRADED, DEGRADED", "DOWN, DEGRADED"})
  void health_storeAnswers_isThatOfTheStoreUnlessItCanComeBack(
      StoreHealth.State ofStore, State ofLinker) {
    try (Rig rig = Rig.plan().build()) {
      rig.store.health = () -> new StoreHealth(ofStore, "two of three servers answer");
      assertThat(health(rig)).isEqualTo(new LinkerHealth(ofLinker, "two of three servers answer"));
    }
  }

  @Test
  void health_probeThrows_isDegradedAndNamesIt() {
    try (Rig rig = Rig.plan().build()) {
      rig.store.health =
          () -> {
            throw new NoClassDefFoundError("Missing");
          };
      assertThat(health(rig).state()).isEqualTo(State.DEGRADED);
      assertThat(health(rig).detail()).endsWith("NoClassDefFoundError: Missing");
    }
  }

  @Test
  void health_storeWasClosedByItsOwner_isDown() {
    try (Rig rig = Rig.plan().build()) {
      rig.store.health =
          () -> {
            throw new CacheException(FailureCode.CLOSED, "closed");
          };
      assertThat(health(rig)).isEqualTo(new LinkerHealth(State.DOWN, "the store is closed"));
    }
  }

  @Test
  void health_probeHangs_isBoundedAndAddsNoThreads() throws Exception {
    try (Rig rig = Rig.plan().build()) {
      CountDownLatch goOn = new CountDownLatch(1);
      Set<Thread> probing = ConcurrentHashMap.newKeySet();
      rig.store.health =
          () -> {
            probing.add(Thread.currentThread());
            try {
              goOn.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            return new StoreHealth(StoreHealth.State.UP, "back");
          };
      for (int i = 0; i < 5; i++) {
        LinkerHealth health = rig.linker.health(Deadline.after(Duration.ofMillis(2)));
        assertThat(health)
            .isEqualTo(
                new LinkerHealth(
                    State.DEGRADED, "the store does not say by the deadline how it is"));
      }
      assertThat(probing).hasSizeLessThanOrEqualTo(1);
      goOn.countDown();
      assertThat(health(rig)).isEqualTo(new LinkerHealth(State.UP, "back"));
    }
  }

  @Test
  void health_interrupted_keepsTheInterrupt() {
    try (Rig rig = Rig.plan().build()) {
      CountDownLatch asked = new CountDownLatch(1);
      rig.store.health =
          () -> {
            try {
              asked.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            return new StoreHealth(StoreHealth.State.UP, "late");
          };
      Thread.currentThread().interrupt();
      LinkerHealth health = health(rig);
      asked.countDown();
      assertThat(Thread.interrupted()).isTrue();
      assertThat(health.state()).isEqualTo(State.DEGRADED);
      assertThat(health.detail()).contains("interrupted");
    }
  }

  @Test
  void health_rankIsLost_isDown() {
    RankCollective lost =
        new RankCollective() {
          @Override
          public int rank() {
            return 0;
          }

          @Override
          public int size() {
            return 2;
          }

          @Override
          public BitSet and(BitSet bits, Deadline by) throws RankLostException {
            throw new RankLostException("rank 1 is silent");
          }

          @Override
          public void leave(String why) {}
        };
    try (Rig rig = Rig.plan().withRanks(lost).build()) {
      assertThat(health(rig).state()).isEqualTo(State.UP);
      assertThat(rig.linker.lookup(Rig.pages("p", 1), rig.queries()).usablePages()).isZero();
      assertThat(health(rig))
          .isEqualTo(new LinkerHealth(State.DOWN, "a rank is lost: rank 1 is silent"));
    }
  }

  @Test
  void health_memoryInQuarantine_isDegradedUntilItIsReleased() throws Exception {
    try (Rig rig = Rig.plan().withCloseTimeout(Duration.ofMillis(20)).build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      rig.store("s", pages);
      Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
      rig.store.script = gate;
      rig.linker.load(rig.request("stuck", pages, 3));
      var unused = rig.linker.startLayerWiseLoading();
      gate.awaitArrival();
      Drained drained = rig.linker.reset();
      assertThat(health(rig))
          .isEqualTo(
              new LinkerHealth(
                  State.DEGRADED,
                  "scripted; in quarantine is memory that may still be touched by [stuck]"));
      gate.open();
      drained.released().toCompletableFuture().join();
      assertThat(health(rig)).isEqualTo(new LinkerHealth(State.UP, "scripted"));
    }
  }

  @Test
  void health_closed_isDownAndStillTellsOfTheQuarantine() throws Exception {
    Rig rig = Rig.plan().withCloseTimeout(Duration.ofMillis(20)).build();
    List<PageKey> pages = Rig.pages("p", 1);
    rig.store("s", pages);
    Scripts.Gate gate = new Scripts.Gate(Step.READ, 0);
    rig.store.script = gate;
    rig.linker.load(rig.request("stuck", pages, 3));
    var unused = rig.linker.startLayerWiseLoading();
    gate.awaitArrival();
    rig.linker.close();
    assertThat(health(rig))
        .isEqualTo(
            new LinkerHealth(
                State.DOWN,
                "the linker is closed; in quarantine is memory that may still be touched by"
                    + " [stuck]"));
    gate.open();
    LinkerHealth plain = new LinkerHealth(State.DOWN, "the linker is closed");
    Deadline by = Deadline.after(Rig.LONG);
    while (!health(rig).equals(plain)) {
      assertThat(by.hasPassed()).as("still %s", health(rig)).isFalse();
      Thread.onSpinWait();
    }
    rig.close();
  }
}
