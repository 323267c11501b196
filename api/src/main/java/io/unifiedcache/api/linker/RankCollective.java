package io.unifiedcache.api.linker;

import io.unifiedcache.api.Deadline;
import java.util.BitSet;

/**
 * The means by which the ranks of one model, pipeline stages included, agree.
 *
 * <p>Every rank calls {@link #and} equally often and in the same order. Used by one thread at a
 * time, but for {@link #leave}. A collective serves one linker of each rank: it is over once one of
 * them has closed or could not be opened.
 */
public interface RankCollective {
  /** The collective of a model that has one rank. */
  RankCollective ALONE =
      new RankCollective() {
        @Override
        public int rank() {
          return 0;
        }

        @Override
        public int size() {
          return 1;
        }

        @Override
        public BitSet and(BitSet bits, Deadline by) {
          return (BitSet) bits.clone();
        }

        @Override
        public void leave(String why) {}
      };

  /** Returns the number of this rank, from 0 to {@code size() - 1}. */
  int rank();

  /** Returns the number of ranks, at least 1. */
  int size();

  /**
   * Returns the bits that are set on every rank. An interrupt does not end the wait, which the
   * deadline bounds, and is kept: a rank that left half way would leave the others in doubt.
   *
   * @param bits of this rank; not changed
   * @throws RankLostException if a rank did not call by the deadline; every later call on this
   *     collective throws, too
   */
  BitSet and(BitSet bits, Deadline by) throws RankLostException;

  /**
   * Leaves the other ranks, for good: their calls of {@link #and} throw at once and say why, those
   * that wait included, and so do those of this rank. Does not wait for any of them. Idempotent,
   * and the first reason stays; any thread may call, also beside one that waits.
   *
   * @param why what the others are told, in a sentence that names this rank
   */
  void leave(String why);
}
