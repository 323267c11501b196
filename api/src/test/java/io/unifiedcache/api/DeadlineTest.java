package io.unifiedcache.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeadlineTest {
  private final AtomicLong now = new AtomicLong();
  private final MonotonicClock clock = now::get;

  @ParameterizedTest
  @ValueSource(longs = {0, 5, -5, Long.MAX_VALUE - 3, Long.MIN_VALUE})
  void after_passesWhenTheTimeIsOver_whereverTheClockStarts(long start) {
    now.set(start);
    Deadline deadline = Deadline.after(Duration.ofNanos(10), clock);

    assertThat(deadline.remainingNanos()).isEqualTo(10);
    assertThat(deadline).hasToString("Deadline[in PT0.00000001S]");
    now.addAndGet(9);
    assertThat(deadline.remainingNanos()).isEqualTo(1);
    assertThat(deadline.hasPassed()).isFalse();
    now.addAndGet(1);
    assertThat(deadline.remainingNanos()).isZero();
    assertThat(deadline.hasPassed()).isTrue();
    now.addAndGet(1_000_000);
    assertThat(deadline.remainingNanos()).isZero();
    assertThat(deadline.hasPassed()).isTrue();
  }

  @Test
  void after_zero_hasPassed() {
    assertThat(Deadline.after(Duration.ZERO, clock).hasPassed()).isTrue();
    assertThat(Deadline.after(Duration.ZERO).hasPassed()).isTrue();
  }

  @Test
  void never_doesNotPass() {
    assertThat(Deadline.never().hasPassed()).isFalse();
    assertThat(Deadline.never().remainingNanos()).isEqualTo(Long.MAX_VALUE);
    assertThat(Deadline.never()).hasToString("Deadline[never]");
  }

  @Test
  void after_timeBeyondTheClock_isNever() {
    assertThat(Deadline.after(Duration.ofSeconds(Long.MAX_VALUE), clock))
        .isSameAs(Deadline.never());
    assertThat(Deadline.after(Duration.ofNanos(Long.MAX_VALUE / 2 + 1), clock))
        .isSameAs(Deadline.never());

    Deadline longest = Deadline.after(Duration.ofNanos(Long.MAX_VALUE / 2), clock);
    assertThat(longest.remainingNanos()).isEqualTo(Long.MAX_VALUE / 2);
    now.set(Long.MAX_VALUE / 2);
    assertThat(longest.hasPassed()).isTrue();
  }
}
