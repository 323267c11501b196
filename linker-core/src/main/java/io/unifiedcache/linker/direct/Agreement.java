package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.linker.config.LinkerOptions;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the ranks agree on, until one of them is lost; from then on nothing (rule {@code
 * load.ranks-agree}).
 *
 * <p>Each call carries a digest of its subject. Ranks that are not at the same call, since one of
 * them made a call that another did not, find that out and are lost, instead of taking the answer
 * to one question for that to another.
 *
 * <p>Used by the engine's thread; any may ask whether a rank is lost.
 */
final class Agreement {
  private static final Logger LOG = LoggerFactory.getLogger(Agreement.class);

  private static final StoreFailure ELSEWHERE =
      StoreFailure.of(FailureCode.OTHER_RANK, "another rank failed this page");

  /** Bits of the digest, then of its complement: an AND keeps both only of equal ones. */
  private static final int HEADER = 2 * Long.SIZE;

  /** Any longer wait is as good as this one, and sums of it do not overflow. */
  private static final Duration LONGEST_WAIT = Duration.ofDays(365);

  private final RankCollective ranks;
  private final Duration timeout;

  /** Written by the engine's thread, read by any. */
  private volatile @Nullable StoreFailure lost;

  /** Whether this rank is the one that left, which is no error. */
  private volatile boolean left;

  /**
   * Begins with all ranks there.
   *
   * @param timeout how much later than this rank another may come
   */
  Agreement(RankCollective ranks, Duration timeout) {
    this.ranks = ranks;
    this.timeout = timeout;
  }

  /**
   * Returns how much later than one rank another may come: it may still be waiting for a call to
   * its store.
   */
  static Duration patience(LinkerOptions options) {
    Duration longest = options.lookupTimeout();
    for (Duration each : List.of(options.loadTimeout(), options.offloadTimeout())) {
      longest = longest.compareTo(each) < 0 ? each : longest;
    }
    return longest.plus(options.rankTimeout());
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
        Duration bounded = wait.compareTo(LONGEST_WAIT) < 0 ? wait : LONGEST_WAIT;
        return askAll(ranks, subject.get(), bits, Deadline.after(timeout.plus(bounded)));
      } catch (RankLostException e) {
        if (!left) {
          LOG.error("rank {} of {} is on its own from now on", ranks.rank(), ranks.size(), e);
        }
        lost = StoreFailure.of(FailureCode.OTHER_RANK, "a rank is lost: " + e.getMessage());
      }
    }
    return new BitSet();
  }

  /**
   * Returns the bits that are set on every rank.
   *
   * @throws RankLostException also if a rank asks something else
   */
  static BitSet askAll(RankCollective ranks, String subject, BitSet bits, Deadline by)
      throws RankLostException {
    long digest = digest(subject.getBytes(StandardCharsets.UTF_8));
    BitSet header = BitSet.valueOf(new long[] {digest, ~digest});
    BitSet framed = (BitSet) header.clone();
    bits.stream().forEach(bit -> framed.set(HEADER + bit));
    BitSet common = ranks.and(framed, by);
    if (!common.get(0, HEADER).equals(header)) {
      throw new RankLostException(
          "the ranks are not at the same call: rank " + ranks.rank() + " is at " + subject);
    }
    return common.get(HEADER, Math.max(HEADER, common.length()));
  }

  /** Returns 64 bits that tell texts apart, however they were chosen. */
  static long digest(byte[] text) {
    try {
      return ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(text)).getLong();
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JVM has SHA-256", e);
    }
  }

  /** Leaves the others, which learn of it at once. */
  void leave(String why) {
    left = true;
    try {
      ranks.leave(why);
    } catch (RuntimeException | Error e) {
      LOG.warn("rank {} of {} cannot tell the others that {}", ranks.rank(), ranks.size(), why, e);
    }
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
