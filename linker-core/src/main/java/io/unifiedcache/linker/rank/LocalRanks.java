package io.unifiedcache.linker.rank;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The ranks of one process, which agree through memory.
 *
 * <p>Each collective is used by one thread; the ranks' threads meet in {@code and}. A rank that
 * does not come by the deadline of another, or leaves, is lost, for good and for all.
 */
public final class LocalRanks {
  /** How long to sleep at most before looking again at a deadline whose clock is not the JVM's. */
  private static final long LONGEST_NAP = TimeUnit.MILLISECONDS.toNanos(50);

  private final int size;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** The round that is being collected, and which ranks have come to it. */
  private Round current = new Round();

  private @Nullable String lost;

  private LocalRanks(int size) {
    this.size = size;
  }

  /**
   * Returns the collectives of {@code size} ranks, by rank.
   *
   * @throws IllegalArgumentException if there is not at least one rank
   */
  public static List<RankCollective> of(int size) {
    if (size < 1) {
      throw new IllegalArgumentException("there must be at least 1 rank, not " + size);
    }
    LocalRanks ranks = new LocalRanks(size);
    List<RankCollective> members = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      members.add(ranks.new Member(rank));
    }
    return List.copyOf(members);
  }

  private BitSet and(int rank, BitSet bits, Deadline by) throws RankLostException {
    boolean interrupted = false;
    lock.lock();
    try {
      throwIfLost();
      Round round = current;
      round.come(rank, bits);
      if (round.present.cardinality() == size) {
        round.complete = true;
        current = new Round();
        changed.signalAll();
      }
      while (!round.complete) {
        throwIfLost();
        if (by.hasPassed()) {
          BitSet missing = new BitSet();
          missing.set(0, size);
          missing.andNot(round.present);
          lost = "of " + size + " ranks, these did not come by the deadline: " + missing;
          changed.signalAll();
          throw new RankLostException(lost);
        }
        try {
          long unused = changed.awaitNanos(Math.min(by.remainingNanos(), LONGEST_NAP));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return (BitSet) round.common.clone();
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void leave(String why) {
    lock.lock();
    try {
      if (lost == null) {
        lost = why;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private void throwIfLost() throws RankLostException {
    if (lost != null) {
      throw new RankLostException(lost);
    }
  }

  /** One collective operation. */
  private static final class Round {
    private final BitSet present = new BitSet();
    private BitSet common = new BitSet();
    private boolean complete;

    private void come(int rank, BitSet bits) {
      if (present.isEmpty()) {
        common = (BitSet) bits.clone();
      } else {
        common.and(bits);
      }
      present.set(rank);
    }
  }

  private final class Member implements RankCollective {
    private final int rank;

    private Member(int rank) {
      this.rank = rank;
    }

    @Override
    public int rank() {
      return rank;
    }

    @Override
    public int size() {
      return size;
    }

    @Override
    public BitSet and(BitSet bits, Deadline by) throws RankLostException {
      return LocalRanks.this.and(rank, bits, by);
    }

    @Override
    public void leave(String why) {
      LocalRanks.this.leave(why);
    }

    @Override
    public String toString() {
      return "rank " + rank + " of " + size;
    }
  }
}
