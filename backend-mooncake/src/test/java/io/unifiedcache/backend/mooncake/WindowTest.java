package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WindowTest {
  private final Window window = new Window();

  @Test
  void enter_largeBeforeSmall_keepsItsPlace() throws Exception {
    assertThat(window.enter(1000, new Call())).isEqualTo(1000);
    FutureTask<Long> large = begin(Window.TRANSFERS, new Call());
    FutureTask<Long> small = begin(1, new Call());
    // There is room for the small one, and in all the time it must not be taken.
    assertThatThrownBy(() -> small.get(200, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    window.leave(1000);
    assertThat(large.get()).isEqualTo(Window.TRANSFERS);
    assertThat(small).isNotDone();
    window.leave(Window.TRANSFERS);
    assertThat(small.get()).isEqualTo(1);
  }

  @Test
  void enter_callerStopsWaiting_makesRoomForTheNext() throws Exception {
    assertThat(window.enter(1000, new Call())).isEqualTo(1000);
    Call given = new Call();
    FutureTask<Long> large = begin(Window.TRANSFERS, given);
    FutureTask<Long> small = begin(1, new Call());
    given.setLate();
    assertThat(large.get()).isZero();
    assertThat(small.get()).isEqualTo(1);
  }

  @Test
  void enter_moreThanAll_hasItsTurnAlone() throws Exception {
    assertThat(window.enter(1, new Call())).isEqualTo(1);
    FutureTask<Long> larger = begin(10L * Window.TRANSFERS, new Call());
    assertThatThrownBy(() -> larger.get(100, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    window.leave(1);
    assertThat(larger.get()).isEqualTo(Window.TRANSFERS);
  }

  /** Begins to wait for a turn; returns once it waits. */
  private FutureTask<Long> begin(long cost, Call call) {
    FutureTask<Long> turn = new FutureTask<>(() -> window.enter(cost, call));
    Thread thread = Thread.ofPlatform().daemon().start(turn);
    while (thread.isAlive() && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    return turn;
  }
}
