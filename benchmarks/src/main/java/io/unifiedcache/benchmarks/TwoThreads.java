package io.unifiedcache.benchmarks;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Two threads that copy: the caller and one other, each a half of what there is. */
final class TwoThreads implements AutoCloseable {
  /** Copies the part of the work from {@code from} to {@code to}. */
  @FunctionalInterface
  interface Part {
    void copy(int from, int to);
  }

  private final ExecutorService other =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("other-half").factory());

  /** Copies everything, and returns when both threads are done. */
  void copy(int count, Part part) {
    Future<?> half = other.submit(() -> part.copy(count / 2, count));
    part.copy(0, count / 2);
    try {
      half.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException("the other half failed", e);
    }
  }

  @Override
  public void close() {
    other.shutdown();
  }
}
