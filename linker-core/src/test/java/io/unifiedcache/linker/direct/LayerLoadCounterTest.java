package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.linker.direct.LayerLoadCounter.Batch;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LayerLoadCounterTest {
  private static final StoreFailure BROKEN = StoreFailure.of(FailureCode.IO, "broken");
  private static final StoreFailure LATER = StoreFailure.of(FailureCode.TIMEOUT, "later");
  private static final Duration NOW = Duration.ZERO;

  private final LayerLoadCounter counter = new LayerLoadCounter(4);

  @Test
  void complete_layer_impliesTheLayersBelow() {
    Batch batch = counter.begin(List.of("a"));
    batch.complete(2);
    for (int layer = 0; layer <= 2; layer++) {
      assertThat(batch.awaitLayer(layer, NOW).layer()).isEqualTo(layer);
    }
    batch.complete(0);
    assertThat(batch.awaitLayer(2, NOW).failed()).isEmpty();
  }

  @Test
  void fail_request_firstCauseStays() {
    Batch batch = counter.begin(List.of("a", "b"));
    assertThat(batch.fail(0, BROKEN)).isTrue();
    assertThat(batch.fail(0, LATER)).isFalse();
    assertThat(batch.present().get(0)).isFalse();
    assertThat(batch.present().get(1)).isTrue();
    batch.complete(3);
    assertThat(batch.awaitLayer(3, NOW).failed()).containsEntry("a", BROKEN).hasSize(1);
    assertThat(batch.finish(LATER)).containsExactly(BROKEN, null);
  }

  @Test
  void finish_layersMissing_failsWhoIsLeft() {
    Batch batch = counter.begin(List.of("a", "b"));
    batch.complete(2);
    batch.fail(1, BROKEN);
    assertThat(batch.finish(LATER)).containsExactly(LATER, BROKEN);
  }

  @Test
  void fail_afterFinish_changesNothing() {
    Batch batch = counter.begin(List.of("a"));
    batch.complete(3);
    List<@Nullable StoreFailure> verdicts = batch.finish(LATER);
    assertThat(verdicts).containsOnlyNulls();
    assertThat(batch.fail(0, BROKEN)).isFalse();
    counter.reset(BROKEN);
    assertThat(batch.awaitLayer(3, NOW).failed()).isEmpty();
  }

  @Test
  void complete_deserted_announcesNothing() {
    Batch batch = counter.begin(List.of("a"));
    batch.complete(0);
    batch.fail(0, BROKEN);
    batch.complete(1);
    assertThat(batch.awaitLayer(0, NOW).failed()).containsKey("a");
    assertThatThrownBy(() -> batch.awaitLayer(1, NOW))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("broken");
  }

  @Test
  void awaitLayer_timeOut_failsEveryoneFinally() {
    Batch batch = counter.begin(List.of("a", "b"));
    batch.complete(1);
    assertThatThrownBy(() -> batch.awaitLayer(2, Duration.ofNanos(1)))
        .extracting(e -> ((CacheException) e).code())
        .isEqualTo(FailureCode.TIMEOUT);
    batch.complete(3);
    assertThat(batch.awaitLayer(1, NOW).failed()).containsOnlyKeys("a", "b");
    assertThat(batch.finish(BROKEN))
        .allSatisfy(cause -> assertThat(cause).isNotNull())
        .extracting(cause -> cause == null ? null : cause.code())
        .containsOnly(FailureCode.TIMEOUT);
  }

  @Test
  void reset_batches_failsAllAndForgetsFinished() {
    Batch first = counter.begin(List.of("a"));
    Batch second = counter.begin(List.of("b"));
    assertThat(counter.unfinished()).isEqualTo(2);
    counter.reset(BROKEN);
    assertThat(first.isDeserted()).isTrue();
    assertThat(second.finish(LATER)).containsExactly(BROKEN);
    assertThat(counter.unfinished()).isEqualTo(1);
    first.finish(LATER);
    assertThat(counter.unfinished()).isZero();
  }

  @Test
  void verdict_underRaces_agreesWithWhatWaitersSaw() throws Exception {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      for (int round = 0; round < 2_000; round++) {
        Batch batch = counter.begin(List.of("a", "b", "c"));
        int failing = random.nextInt(3);
        Future<?> loader =
            threads.submit(
                () -> {
                  for (int layer = 0; layer < 4; layer++) {
                    batch.complete(layer);
                  }
                });
        Future<Boolean> failer = threads.submit(() -> batch.fail(failing, BROKEN));
        Future<Integer> waiter =
            threads.submit(() -> batch.awaitLayer(3, Duration.ofSeconds(20)).failed().size());
        loader.get();
        int seen = waiter.get();
        boolean failed = failer.get();
        List<@Nullable StoreFailure> verdicts = batch.finish(LATER);
        long lost = verdicts.stream().filter(cause -> cause != null).count();
        assertThat(failed).as("seed %d", seed).isTrue();
        assertThat(lost).as("seed %d", seed).isEqualTo(1);
        assertThat(seen).as("seed %d", seed).isLessThanOrEqualTo(1);
      }
    }
    assertThat(counter.unfinished()).isZero();
  }
}
