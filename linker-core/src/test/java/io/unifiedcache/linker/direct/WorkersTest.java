package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorkersTest {
  @Test
  void start_aThreadCannotBeStarted_isAnErrorAndLeavesNone() throws Exception {
    for (ThreadFactory failing :
        List.<ThreadFactory>of(
            work -> null,
            work -> {
              throw new OutOfMemoryError("unable to create native thread");
            })) {
      List<Thread> started = new ArrayList<>();
      assertThatThrownBy(
              () ->
                  Workers.start(
                      2,
                      work -> {
                        if (started.size() == 1) {
                          return failing.newThread(work);
                        }
                        started.add(Thread.ofPlatform().daemon().unstarted(work));
                        return started.getFirst();
                      }))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("cannot be started");
      started.getFirst().join();
    }
  }

  @Test
  void execute_taskThrowsOrLeavesItsThreadInterrupted_nextRunsUndisturbed() throws Exception {
    Workers workers = Workers.start(1, Thread.ofPlatform().daemon().factory());
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    assertThat(
            workers.execute(
                () -> {
                  Thread.currentThread().interrupt();
                  throw new AssertionError("thrown on purpose");
                }))
        .isTrue();
    assertThat(workers.execute(() -> interrupted.complete(Thread.currentThread().isInterrupted())))
        .isTrue();
    assertThat(interrupted.get(20, TimeUnit.SECONDS)).isFalse();
    workers.end();
    assertThat(workers.execute(() -> {})).isFalse();
  }
}
