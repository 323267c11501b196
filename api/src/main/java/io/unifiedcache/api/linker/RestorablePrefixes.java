package io.unifiedcache.api.linker;

import java.util.BitSet;
import java.util.NoSuchElementException;
import java.util.PrimitiveIterator;

/**
 * The prefix lengths, in pages, at which an engine can resume: a sparse set of numbers from 1 up
 * (rule {@code restore.every-length}).
 *
 * <p>It is a set and not its maximum because all ranks must resume at one member: the minimum of
 * their maxima need not be one (rule {@code restore.intersection}). An engine that has to compute
 * the last token takes the longest member below its prompt's length.
 *
 * <p>Immutable and thread-safe; one bit per length up to the longest.
 */
public final class RestorablePrefixes implements Iterable<Integer> {
  private static final RestorablePrefixes NONE = new RestorablePrefixes(new BitSet());

  /** Bit {@code i} stands for length {@code i + 1}. */
  private final BitSet bits;

  private RestorablePrefixes(BitSet bits) {
    this.bits = bits;
  }

  /** Returns the empty set: nothing can be restored. */
  public static RestorablePrefixes none() {
    return NONE;
  }

  /**
   * Returns the set of the given lengths.
   *
   * @throws IllegalArgumentException if a length is below 1
   */
  public static RestorablePrefixes of(int... lengths) {
    BitSet bits = new BitSet();
    for (int length : lengths) {
      if (length < 1) {
        throw new IllegalArgumentException("a prefix has at least 1 page, not " + length);
      }
      bits.set(length - 1);
    }
    return new RestorablePrefixes(bits);
  }

  /**
   * Returns the set of all lengths from 1 to {@code longest}.
   *
   * @throws IllegalArgumentException if {@code longest} is negative
   */
  public static RestorablePrefixes upTo(int longest) {
    if (longest < 0) {
      throw new IllegalArgumentException("a prefix cannot have " + longest + " pages");
    }
    BitSet bits = new BitSet(longest);
    bits.set(0, longest);
    return new RestorablePrefixes(bits);
  }

  /** Returns the set in which bit {@code i} of the argument stands for length {@code i + 1}. */
  public static RestorablePrefixes ofBits(BitSet bits) {
    return new RestorablePrefixes((BitSet) bits.clone());
  }

  /** Returns a copy as bits, bit {@code i} standing for length {@code i + 1}. */
  public BitSet toBits() {
    return (BitSet) bits.clone();
  }

  /** Tells whether the engine can resume after the first {@code length} pages. */
  public boolean contains(int length) {
    return length >= 1 && bits.get(length - 1);
  }

  /** Returns the longest member, or 0 if there is none. */
  public int longest() {
    return bits.length();
  }

  /** Returns the longest member that is at most {@code limit}, or 0 if there is none. */
  public int longestAtMost(int limit) {
    return limit < 1 ? 0 : bits.previousSetBit(limit - 1) + 1;
  }

  /** Returns the lengths that are in both sets. */
  public RestorablePrefixes intersect(RestorablePrefixes other) {
    BitSet both = (BitSet) bits.clone();
    both.and(other.bits);
    return new RestorablePrefixes(both);
  }

  /** Returns the number of members. */
  public int size() {
    return bits.cardinality();
  }

  /** Tells whether there is no member. */
  public boolean isEmpty() {
    return bits.isEmpty();
  }

  /** Returns an iterator over the members in ascending order. */
  @Override
  public PrimitiveIterator.OfInt iterator() {
    return new PrimitiveIterator.OfInt() {
      private int next = bits.nextSetBit(0);

      @Override
      public boolean hasNext() {
        return next >= 0;
      }

      @Override
      public int nextInt() {
        if (next < 0) {
          throw new NoSuchElementException();
        }
        int length = next + 1;
        next = bits.nextSetBit(next + 1);
        return length;
      }
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RestorablePrefixes that && bits.equals(that.bits);
  }

  @Override
  public int hashCode() {
    return bits.hashCode();
  }

  /** Returns the members as a list, runs shortened: {@code [1-3, 5]}. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int from = bits.nextSetBit(0); from >= 0; ) {
      int to = bits.nextClearBit(from);
      text.append(text.length() == 1 ? "" : ", ").append(from + 1);
      if (to > from + 1) {
        text.append('-').append(to);
      }
      from = bits.nextSetBit(to);
    }
    return text.append(']').toString();
  }
}
