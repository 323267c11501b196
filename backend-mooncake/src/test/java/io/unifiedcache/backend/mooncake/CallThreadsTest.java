package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CallThreadsTest {
  private final AtomicInteger begun = new AtomicInteger();
  private final CallThreads threads =
      new CallThreads(
          8,
          work ->
              Thread.ofPlatform().daemon().name("call-" + begun.incrementAndGet()).unstarted(work));

  @AfterEach
  void end() {
    threads.shutdown();
    assertThat(threads.awaitEnd(TimeUnit.SECONDS.toNanos(60))).isTrue();
  }

  @Test
  void run_oneCaller_hasOneThread() {
    Set<Thread> used = new HashSet<>();
    for (int i = 0; i < 10_000; i++) {
      Call call = threads.run(Deadline.never(), running -> used.add(Thread.currentThread()));
      assertThat(call.isDone()).isTrue();
    }
    assertThat(used).hasSize(1);
    assertThat(begun).hasValue(1);
  }

  @Test
  void run_whoeverWaitsForTheRelease_mayCallAgain() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    Thread caller = Thread.currentThread();
    Call late =
        threads.runUnlessInterrupted(
            running -> {
              caller.interrupt();
              await(go);
            });
    assertThat(Thread.interrupted()).isTrue();
    assertThat(late.isDone()).isFalse();
    assertThat(late.giveUp()).isFalse();
    CompletableFuture<Boolean> again = new CompletableFuture<>();
    late.released()
        .thenRun(() -> again.complete(threads.run(Deadline.never(), running -> {}).isDone()));
    go.countDown();
    assertThat(again.get(60, TimeUnit.SECONDS)).isTrue();
    assertThat(late.isDone()).isTrue();
  }

  @Test
  void run_workThatThrows_isOverAndItsThreadServesOn() {
    Set<Thread> used = new HashSet<>();
    Error thrown = new AssertionError("as asked");
    Call failed =
        threads.run(
            Deadline.never(),
            running -> {
              used.add(Thread.currentThread());
              throw thrown;
            });
    assertThat(failed.isDone()).isTrue();
    assertThat(failed.problem()).isSameAs(thrown);
    Call next = threads.run(Deadline.never(), running -> used.add(Thread.currentThread()));
    assertThat(next.problem()).isNull();
    assertThat(used).hasSize(1);
  }

  @Test
  void leave_workThatEnds_isFinishedOrLeft() {
    Call finished = new Call();
    assertThat(finished.begin()).isTrue();
    assertThat(finished.finish()).isTrue();
    assertThat(finished.leave()).isFalse();
    finished.end();
    assertThat(finished.leave()).isFalse();
    Call left = new Call();
    assertThat(left.begin()).isTrue();
    assertThat(left.leave()).isTrue();
    assertThat(left.finish()).isFalse();
  }

  private static void await(CountDownLatch go) {
    try {
      assertThat(go.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
