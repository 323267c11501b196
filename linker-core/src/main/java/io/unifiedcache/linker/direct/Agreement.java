package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.time.Duration;
import java.util.BitSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the ranks agree on, until one of them is lost; from then on nothing (rule {@code
 * load.ranks-agree}).
 *
 * <p>Each call carries a fingerprint of its subject. Ranks that are not at the same call, since one
 * of them made a call that another did not, find that out and are lost, instead of taking the
 * answer to one question for that to another.
 *
 * <p>Used by the engine's thread; any may ask whether a rank is lost.
 */
final class Agreement {
  private static final Logger LOG = LoggerFactory.getLogger(Agreement.class);

  private static final StoreFailure ELSEWHERE =
      StoreFailure.of(FailureCode.OTHER_RANK, "another rank failed this page");

  /** Bits of the fingerprint, then of its complement: an AND keeps both only of equal ones. */
  private static final int HEADER = 2 * Integer.SIZE;

  /** Any longer wait is as good as this one, and sums of it do not overflow. */
  private static final Duration LONGEST_WAIT = Duration.ofDays(365);

  private final RankCollective ranks;
  private final Duration timeout;

  /** Written by the engine's thread, read by any. */
  private volatile @Nullable StoreFailure lost;

  /**
   * Begins with all ranks there.
   *
   * @param timeout how much later than this rank another may come
   */
  Agreement(RankCollective ranks, Duration timeout) {
    this.ranks = ranks;
    this.timeout = timeout;
  }

  boolean isAlone() {
    return ranks.size() == 1;
  }

  /**
   * Returns the bits that are set on every rank; none once a rank is lost.
   *
   * @param subject what is asked, equal on every rank
   * @param wait how long another rank may wait for something of its own before it comes
   */
  BitSet and(Supplier<String> subject, BitSet bits, Duration wait) {
    if (isAlone()) {
      return bits;
    }
    if (lost == null) {
      try {
        return askAll(subject.get(), bits, wait);
      } catch (RankLostException e) {
        LOG.error("rank {} of {} is on its own from now on", ranks.rank(), ranks.size(), e);
        lost = StoreFailure.of(FailureCode.OTHER_RANK, "a rank is lost: " + e.getMessage());
      }
    }
    return new BitSet();
  }

  private BitSet askAll(String subject, BitSet bits, Duration wait) throws RankLostException {
    int fingerprint = subject.hashCode();
    BitSet framed = new BitSet(HEADER + bits.length());
    for (int bit = 0; bit < Integer.SIZE; bit++) {
      boolean set = (fingerprint >>> bit & 1) != 0;
      framed.set(set ? bit : Integer.SIZE + bit);
    }
    BitSet header = (BitSet) framed.clone();
    bits.stream().forEach(bit -> framed.set(HEADER + bit));
    Duration bounded = wait.compareTo(LONGEST_WAIT) < 0 ? wait : LONGEST_WAIT;
    BitSet common = ranks.and(framed, Deadline.after(timeout.plus(bounded)));
    if (!common.get(0, HEADER).equals(header)) {
      throw new RankLostException(
          "the ranks are not at the same call: rank " + ranks.rank() + " is at " + subject);
    }
    return common.get(HEADER, Math.max(HEADER, common.length()));
  }

  boolean isLost() {
    return lost != null;
  }

  /** Returns why a page is not good that is good on this rank. */
  StoreFailure elsewhere() {
    StoreFailure why = lost;
    return why == null ? ELSEWHERE : why;
  }
}
