package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.time.Duration;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the ranks agree on, until one of them is lost; from then on nothing (rule {@code
 * load.ranks-agree}).
 *
 * <p>Used by the engine's thread.
 */
final class Agreement {
  private static final Logger LOG = LoggerFactory.getLogger(Agreement.class);

  private static final StoreFailure ELSEWHERE =
      StoreFailure.of(FailureCode.OTHER_RANK, "another rank failed this page");

  private final RankCollective ranks;
  private final Duration timeout;
  private final MonotonicClock clock;
  private @Nullable StoreFailure lost;

  Agreement(RankCollective ranks, Duration timeout, MonotonicClock clock) {
    this.ranks = ranks;
    this.timeout = timeout;
    this.clock = clock;
  }

  boolean isAlone() {
    return ranks.size() == 1;
  }

  /** Tells whether this rank writes the pages that every rank holds. */
  boolean isOwner() {
    return ranks.rank() == 0;
  }

  /**
   * Returns the bits that are set on every rank; none once a rank is lost.
   *
   * @param head how much later than this rank another may come, beside the timeout: as long as it
   *     may have waited for something of its own first
   */
  BitSet and(BitSet bits, Duration head) {
    if (isAlone()) {
      return bits;
    }
    if (lost == null) {
      try {
        return ranks.and(bits, Deadline.after(timeout.plus(head), clock));
      } catch (RankLostException e) {
        LOG.error("rank {} of {} is on its own from now on", ranks.rank(), ranks.size(), e);
        lost = StoreFailure.of(FailureCode.OTHER_RANK, "a rank is lost: " + e.getMessage());
      }
    }
    return new BitSet();
  }

  boolean isLost() {
    return lost != null;
  }

  /** Returns why a page is not good that is good on this rank. */
  StoreFailure elsewhere() {
    return lost == null ? ELSEWHERE : lost;
  }
}
