package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.ObjectKey;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SuspectObjectsTest {
  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
  private final SuspectObjects suspects = new SuspectObjects(Duration.ofNanos(10), now::get);

  private static ObjectKey key(int i) {
    return new ObjectKey("object-" + i);
  }

  @Test
  void contains_untilCleared() {
    suspects.add(key(1), /* bad= */ true);
    assertThat(suspects.contains(key(1))).isTrue();
    assertThat(suspects.contains(key(2))).isFalse();
    suspects.clear(key(1));
    assertThat(suspects.contains(key(1))).isFalse();
  }

  @Test
  void contains_untilExpiry_whichMayWrapAround() {
    suspects.add(key(1), /* bad= */ true);
    now.addAndGet(9);
    assertThat(suspects.contains(key(1))).isTrue();
    now.addAndGet(1);
    assertThat(suspects.contains(key(1))).isFalse();
    assertThat(suspects.size()).isZero();
  }

  @Test
  void add_manyThatNobodyAsksFor_areDroppedOnceExpired() {
    for (int i = 0; i < 100_000; i++) {
      suspects.add(key(i), /* bad= */ false);
      now.incrementAndGet();
    }
    // Not by size(), which drops them itself.
    assertThat(Leftovers.in(suspects)).isLessThan(2_000);
  }

  @Test
  void isBad_othersComeAndGo_staysTrue() throws Exception {
    suspects.add(key(0), /* bad= */ true);
    AtomicBoolean ended = new AtomicBoolean();
    try (ExecutorService other = Executors.newSingleThreadExecutor()) {
      Future<?> adding =
          other.submit(
              () -> {
                while (!ended.get()) {
                  suspects.add(key(1), /* bad= */ true);
                }
              });
      int wrong = 0;
      for (int i = 0; i < 1_000_000; i++) {
        suspects.clear(key(1));
        wrong += suspects.isBad(key(0)) ? 0 : 1;
      }
      ended.set(true);
      adding.get();
      assertThat(wrong).isZero();
    }
  }
}
