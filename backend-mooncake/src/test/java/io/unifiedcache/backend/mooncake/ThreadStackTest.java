package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ThreadStackTest {
  private static final long LONG = TimeUnit.SECONDS.toNanos(60);

  private final AtomicInteger begun = new AtomicInteger();
  private final ThreadFactory factory =
      work -> Thread.ofPlatform().daemon().name("stack-" + begun.incrementAndGet()).unstarted(work);
  private final ThreadStack stack = new ThreadStack(2, factory);

  @AfterEach
  void end() {
    stack.shutdown();
    assertThat(stack.awaitEnd(LONG)).isTrue();
  }

  @Test
  void execute_oneAfterTheOther_allOnThreadsThatWait() throws Exception {
    Set<String> names = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      names.add(nameOfThread().get());
    }
    assertThat(names).hasSizeBetween(1, 2);
    assertThat(begun).hasValue(names.size());
  }

  @Test
  void execute_severalWait_takesTheOneThatWasAtWorkLast() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    CountDownLatch second = new CountDownLatch(1);
    CompletableFuture<Thread> held = new CompletableFuture<>();
    CompletableFuture<Thread> last = new CompletableFuture<>();
    assertThat(execute(() -> holdUntil(first, held))).isTrue();
    Thread waiting = held.get();
    assertThat(execute(() -> holdUntil(second, last))).isTrue();
    Thread latest = last.get();
    first.countDown();
    awaitParked(waiting);
    second.countDown();
    awaitParked(latest);
    assertThat(nameOfThread().get()).isEqualTo(latest.getName()).isNotEqualTo(waiting.getName());
  }

  @Test
  void execute_moreThanThreads_areDoneInOrderByNoMoreThreads() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    List<Integer> done = Collections.synchronizedList(new ArrayList<>());
    CompletableFuture<Thread> one = new CompletableFuture<>();
    CompletableFuture<Thread> other = new CompletableFuture<>();
    CountDownLatch never = new CountDownLatch(1);
    assertThat(execute(() -> holdUntil(go, one))).isTrue();
    assertThat(execute(() -> holdUntil(never, other))).isTrue();
    CountDownLatch all = new CountDownLatch(10);
    for (int i = 0; i < 10; i++) {
      int number = i;
      assertThat(
              execute(
                  () -> {
                    done.add(number);
                    all.countDown();
                  }))
          .isTrue();
    }
    assertThat(done).isEmpty();
    go.countDown();
    assertThat(all.await(60, TimeUnit.SECONDS)).isTrue();
    never.countDown();
    assertThat(done).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    assertThat(begun).hasValue(2);
  }

  @Test
  void shutdown_doesWhatWasTakenAndNoMore() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    CompletableFuture<Thread> one = new CompletableFuture<>();
    CompletableFuture<Thread> other = new CompletableFuture<>();
    assertThat(execute(() -> holdUntil(go, one))).isTrue();
    assertThat(execute(() -> holdUntil(go, other))).isTrue();
    CompletableFuture<String> queued = nameOfThread();
    stack.shutdown();
    assertThat(execute(() -> {})).isFalse();
    assertThat(stack.awaitEnd(TimeUnit.MILLISECONDS.toNanos(1))).isFalse();
    go.countDown();
    assertThat(stack.awaitEnd(LONG)).isTrue();
    assertThat(queued).isCompleted();
  }

  @Test
  void execute_fromManyThreads_losesNoTask() throws Exception {
    AtomicInteger done = new AtomicInteger();
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      callers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int j = 0; j < 20_000; j++) {
                      boolean unused = execute(done::incrementAndGet);
                    }
                  }));
    }
    for (Thread caller : callers) {
      caller.join();
    }
    stack.shutdown();
    assertThat(stack.awaitEnd(LONG)).isTrue();
    assertThat(done).hasValue(80_000);
  }

  @Test
  void execute_byWhoIsToldOfTheEnd_takesTheSameThread() throws Exception {
    CompletableFuture<Thread> first = new CompletableFuture<>();
    CompletableFuture<Thread> second = new CompletableFuture<>();
    assertThat(
            stack.execute(
                () -> {
                  first.complete(Thread.currentThread());
                  return () -> execute(() -> second.complete(Thread.currentThread()));
                }))
        .isTrue();
    assertThat(second.get()).isSameAs(first.get());
    assertThat(begun).hasValue(1);
  }

  @Test
  void shutdown_tellsOfTheEndOfTheLast() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    CompletableFuture<Thread> held = new CompletableFuture<>();
    AtomicInteger told = new AtomicInteger();
    assertThat(
            stack.execute(
                () -> {
                  holdUntil(go, held);
                  return told::incrementAndGet;
                }))
        .isTrue();
    Thread thread = held.get();
    stack.shutdown();
    go.countDown();
    thread.join();
    assertThat(told).hasValue(1);
  }

  /** Has something done of whose end nobody is told. */
  private boolean execute(Runnable work) {
    return stack.execute(
        () -> {
          work.run();
          return () -> {};
        });
  }

  private CompletableFuture<String> nameOfThread() {
    CompletableFuture<String> name = new CompletableFuture<>();
    assertThat(execute(() -> name.complete(Thread.currentThread().getName()))).isTrue();
    return name;
  }

  private static void holdUntil(CountDownLatch go, CompletableFuture<Thread> begun) {
    begun.complete(Thread.currentThread());
    try {
      if (!go.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("never let go");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Waits until a thread that was let go waits for its next task. */
  private static void awaitParked(Thread thread) {
    while (!isParked(thread)) {
      Thread.onSpinWait();
    }
  }

  private static boolean isParked(Thread thread) {
    if (thread.getState() != Thread.State.WAITING) {
      return false;
    }
    for (StackTraceElement frame : thread.getStackTrace()) {
      if (frame.getMethodName().equals("holdUntil")) {
        return false;
      }
    }
    return true;
  }
}
