package io.unifiedcache.backend.mooncake;

import org.jspecify.annotations.Nullable;

/**
 * What may be moved at once. Mooncake's TCP transport queues a limited number of transfers for each
 * peer, and fails those beyond. Thread-safe.
 */
final class Window {
  /** The transfers in flight; half of what the transport queues. */
  static final int TRANSFERS = 1024;

  /** The bytes that count as one more transfer of a piece. */
  private static final long BYTES_PER_TRANSFER = 256 << 10;

  private final Turns turns = new Turns();

  /** Guarded by the turns. */
  private long free = TRANSFERS;

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
  long enter(long cost, Call call) {
    long wanted = Math.min(TRANSFERS, cost);
    Long taken = turns.await(call, () -> take(wanted));
    return taken == null ? 0 : taken;
  }

  private @Nullable Long take(long wanted) {
    if (free < wanted) {
      return null;
    }
    free -= wanted;
    return wanted;
  }

  /** Gives back what was taken. */
  void leave(long taken) {
    turns.giveBack(() -> free += taken);
  }
}
