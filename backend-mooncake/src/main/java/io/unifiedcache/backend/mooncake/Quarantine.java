package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.MemoryState;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Memory that the transport may still be at after a call has failed. Mooncake does not say when it
 * has let go: that is taken for granted when as much time has passed as the transport gives a
 * transfer that makes no progress, or when the client has been closed. Thread-safe.
 */
final class Quarantine {
  private final Duration period;
  private final Map<Long, CompletableFuture<@Nullable Void>> kept = new ConcurrentHashMap<>();
  private final AtomicLong begun = new AtomicLong();

  Quarantine(Duration period) {
    this.period = period;
  }

  /** Begins a quarantine. */
  MemoryState.InUse begin() {
    CompletableFuture<@Nullable Void> released = new CompletableFuture<>();
    long number = begun.incrementAndGet();
    kept.put(number, released);
    CompletionStage<?> stage =
        released
            .completeOnTimeout(null, period.toNanos(), TimeUnit.NANOSECONDS)
            .whenComplete((nothing, never) -> kept.remove(number));
    return new MemoryState.InUse(stage);
  }

  /** Ends every quarantine: the client is gone. */
  void end() {
    kept.values().forEach(released -> released.complete(null));
  }
}
