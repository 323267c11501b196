package io.unifiedcache.linker.direct;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerHealth.State;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreHealth;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Asks a store for its health and does not rely on it to answer.
 *
 * <p>Thread-safe. One question is asked at a time, on a thread of its own: while a store does not
 * answer, whoever asks waits for the same answer, and no thread is added.
 */
final class StoreProbe {
  private final String instance;
  private @Nullable CompletableFuture<StoreHealth> running;

  StoreProbe(String instance) {
    this.instance = instance;
  }

  /** Returns what a store says of itself, or that it does not by the deadline. */
  LinkerHealth ask(CacheStore store, Deadline by) {
    try {
      StoreHealth health = probe(store, by).get(by.remainingNanos(), TimeUnit.NANOSECONDS);
      return new LinkerHealth(
          health.state() == StoreHealth.State.UP ? State.UP : State.DEGRADED, health.detail());
    } catch (TimeoutException e) {
      return new LinkerHealth(State.DEGRADED, "the store does not say by the deadline how it is");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new LinkerHealth(State.DEGRADED, "interrupted while asking the store how it is");
    } catch (ExecutionException e) {
      boolean closed =
          e.getCause() instanceof CacheException refusal && refusal.code() == FailureCode.CLOSED;
      return closed
          ? new LinkerHealth(State.DOWN, "the store is closed")
          : new LinkerHealth(State.DEGRADED, "the store does not say how it is: " + e.getCause());
    }
  }

  private synchronized CompletableFuture<StoreHealth> probe(CacheStore store, Deadline by) {
    if (running == null || running.isDone()) {
      CompletableFuture<StoreHealth> answer = new CompletableFuture<>();
      running = answer;
      try {
        Thread.ofPlatform()
            .daemon()
            .name(instance + "-probe")
            .start(
                () -> {
                  try {
                    answer.complete(requireNonNull(store.probe(by), "health"));
                  } catch (Throwable problem) {
                    answer.completeExceptionally(problem);
                  }
                });
      } catch (RuntimeException | Error e) {
        answer.completeExceptionally(Workers.cannotStart(e));
      }
    }
    return running;
  }
}
