package io.unifiedcache.cli.replay;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * What a page must hold: each byte is a fixed function of page key, rank, pool, component, layer
 * and byte offset, so that a byte in a wrong place is a wrong byte.
 *
 * <p>Eight bytes at a time: a seed of all but the offset, plus the offset, mixed.
 */
final class PageContent {
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final long STEP = 0x9e3779b97f4a7c15L;

  private PageContent() {}

  /** Returns the part of a seed that comes from the page. */
  static long pageSeed(PageKey page) {
    return text(page.value());
  }

  /** Returns the part of a seed that comes from the place within a page. */
  static long placeSeed(int rank, PoolName pool, String component, int layer) {
    return mix(mix(mix(text(pool.value()) + rank * STEP) ^ text(component)) + layer * STEP);
  }

  /** Returns the seed of a piece. */
  static long seed(long pageSeed, long placeSeed) {
    return mix(pageSeed + placeSeed * STEP);
  }

  /** Writes what a piece must hold. */
  static void fill(long seed, MemorySegment to, long offset, long bytes) {
    long whole = bytes & ~7L;
    for (long at = 0; at < whole; at += 8) {
      to.set(LONG, offset + at, word(seed, at));
    }
    for (long at = whole; at < bytes; at++) {
      to.set(ValueLayout.JAVA_BYTE, offset + at, (byte) (word(seed, whole) >>> (8 * (at - whole))));
    }
  }

  /** Writes the opposite of what a piece must hold: every bit is wrong. */
  static void poison(long seed, MemorySegment to, long offset, long bytes) {
    long whole = bytes & ~7L;
    for (long at = 0; at < whole; at += 8) {
      to.set(LONG, offset + at, ~word(seed, at));
    }
    for (long at = whole; at < bytes; at++) {
      to.set(
          ValueLayout.JAVA_BYTE, offset + at, (byte) ~(word(seed, whole) >>> (8 * (at - whole))));
    }
  }

  /** Returns token {@code index} of a block of a trace: a fixed function of both, 17 bits. */
  static int token(long block, int index) {
    return (int) (mix(block * STEP + index) >>> 47);
  }

  /** Returns the eight bytes from an offset on, the first one lowest. */
  private static long word(long seed, long offset) {
    long mixed = (seed + offset) * 0xff51afd7ed558ccdL;
    mixed ^= mixed >>> 32;
    mixed *= 0xc4ceb9fe1a85ec53L;
    return mixed ^ (mixed >>> 29);
  }

  /** Returns a well-mixed number; different numbers stay different (the finish of SplitMix64). */
  static long mix(long value) {
    long mixed = value + STEP;
    mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }

  private static long text(String text) {
    long hash = text.length();
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
    }
    return mix(hash);
  }
}
