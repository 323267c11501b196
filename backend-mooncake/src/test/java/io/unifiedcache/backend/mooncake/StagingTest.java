package io.unifiedcache.backend.mooncake;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagingTest {
  private static final long ALL = 1 << 20;

  private final Staging staging = new Staging(new Registrations(new ScriptedClient()), ALL);

  @AfterEach
  void end() {
    staging.end();
  }

  @Test
  void take_largeBeforeSmall_keepsItsPlace() throws Exception {
    Staging.Block half = take(ALL / 2);
    FutureTask<Staging.@Nullable Block> large = begin(ALL, new Call());
    FutureTask<Staging.@Nullable Block> small = begin(1, new Call());
    // There is room for the small one, and in all the time it must not be taken.
    assertThatThrownBy(() -> small.get(200, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    half.free();
    Staging.Block all = requireNonNull(large.get());
    assertThat(all.segment.byteSize()).isEqualTo(ALL);
    assertThat(small).isNotDone();
    all.free();
    assertThat(small.get()).isNotNull();
  }

  @Test
  void take_callerStopsWaiting_makesRoomForTheNext() throws Exception {
    Staging.Block half = take(ALL / 2);
    Call given = new Call();
    FutureTask<Staging.@Nullable Block> large = begin(ALL, given);
    FutureTask<Staging.@Nullable Block> small = begin(1, new Call());
    given.setLate();
    assertThat(large.get()).isNull();
    assertThat(requireNonNull(small.get()).segment.address())
        .isEqualTo(half.segment.address() + half.segment.byteSize());
  }

  @Test
  void free_inAnyOrder_joinsTheParts() {
    Staging.Block first = take(ALL / 4);
    Staging.Block second = take(ALL / 4);
    Staging.Block third = take(ALL / 4);
    third.segment.fill((byte) 3);
    first.free();
    third.free();
    second.free();
    assertThat(take(ALL).segment.byteSize()).isEqualTo(ALL);
  }

  private Staging.Block take(long bytes) {
    return requireNonNull(staging.take(bytes, bytes, new Call()));
  }

  /** Begins to wait for a block; returns once it waits. */
  private FutureTask<Staging.@Nullable Block> begin(long bytes, Call call) {
    FutureTask<Staging.@Nullable Block> taking =
        new FutureTask<>(() -> staging.take(bytes, bytes, call));
    Thread thread = Thread.ofPlatform().daemon().start(taking);
    while (thread.isAlive() && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    return taking;
  }
}
