package io.unifiedcache.benchmarks;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * Two threads that copy: the caller and one other.
 *
 * <p>They take pages one by one, so that neither waits long for the other when a neighbour on the
 * machine slows one of them down.
 */
final class TwoThreads implements AutoCloseable {
  private final ExecutorService other =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("other").factory());

  /** Copies the pages from 0 to {@code count - 1}, and returns when both threads are done. */
  void copy(int count, IntConsumer page) {
    AtomicInteger next = new AtomicInteger();
    Runnable work =
        () -> {
          int taken;
          while ((taken = next.getAndIncrement()) < count) {
            page.accept(taken);
          }
        };
    Future<?> help = other.submit(work);
    work.run();
    try {
      help.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException("the other thread failed", e);
    }
  }

  @Override
  public void close() {
    other.shutdown();
  }
}
