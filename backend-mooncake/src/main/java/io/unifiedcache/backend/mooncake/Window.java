package io.unifiedcache.backend.mooncake;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * What may be moved at once. Mooncake's TCP transport queues a limited number of transfers for each
 * peer, and fails those beyond. Thread-safe.
 */
final class Window {
  /** The transfers in flight; half of what the transport queues. */
  static final int TRANSFERS = 1024;

  /** The bytes that count as one more transfer of a piece. */
  private static final long BYTES_PER_TRANSFER = 256 << 10;

  private static final long NAP_MILLIS = 20;

  private final Semaphore free = new Semaphore(TRANSFERS, /* fair= */ true);

  /** Returns what a piece counts for. */
  static long cost(long bytes) {
    return 1 + (bytes - 1) / BYTES_PER_TRANSFER;
  }

  /**
   * Waits until a call has its turn, unless the caller stops waiting first.
   *
   * @param cost what it counts for; one that counts for more than all has its turn alone
   * @return what was taken, to be given back; 0 if the caller has stopped waiting
   */
  int enter(long cost, Call call) {
    int permits = (int) Math.min(TRANSFERS, cost);
    while (!call.isLate()) {
      try {
        if (free.tryAcquire(permits, NAP_MILLIS, TimeUnit.MILLISECONDS)) {
          return permits;
        }
      } catch (InterruptedException e) {
        // Only the executor's end interrupts its threads, and it does not: nothing asks for it.
        Thread.currentThread().interrupt();
        return 0;
      }
    }
    return 0;
  }

  /** Gives back what was taken. */
  void leave(int permits) {
    free.release(permits);
  }
}
