package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.MemoryState;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Memory that the transport may still be at after a call has failed. Mooncake does not say when it
 * has let go: that is taken for granted when as much time has passed as the transport gives a
 * transfer that makes no progress, or when the client has been closed. Thread-safe.
 */
final class Quarantine {
  private final Executor afterPeriod;
  private final Set<Hold> kept = ConcurrentHashMap.newKeySet();

  private static final class Hold {
    final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();
  }

  /**
   * Creates it.
   *
   * @param period how long memory is kept
   * @param threads ends quarantines, and does what follows, which may wait for Mooncake; what it
   *     does not do is done by {@link #end}
   */
  Quarantine(Duration period, Executor threads) {
    afterPeriod =
        CompletableFuture.delayedExecutor(period.toNanos(), TimeUnit.NANOSECONDS, threads);
  }

  /** Begins a quarantine. */
  MemoryState.InUse begin() {
    Hold hold = new Hold();
    kept.add(hold);
    afterPeriod.execute(() -> end(hold));
    return new MemoryState.InUse(hold.released.minimalCompletionStage());
  }

  private void end(Hold hold) {
    kept.remove(hold);
    hold.released.complete(null);
  }

  /** Ends every quarantine: the client is gone. */
  void end() {
    kept.forEach(this::end);
  }
}
