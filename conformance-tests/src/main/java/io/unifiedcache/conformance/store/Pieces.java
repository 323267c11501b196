package io.unifiedcache.conformance.store;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Trial;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Memory in pieces that lie apart, with bytes before, between and behind them that are nobody's.
 */
final class Pieces {
  /** What every byte is at first. */
  static final byte UNTOUCHED = 0x5a;

  private static final long LEAST_GAP = 16;

  private final Trial trial;
  private final HostMemory block;
  private final List<HostMemory> pieces;

  private Pieces(Trial trial, HostMemory block, List<HostMemory> pieces) {
    this.trial = trial;
    this.block = block;
    this.pieces = List.copyOf(pieces);
  }

  /** Returns pieces of the given sizes, at addresses that are no more aligned than they must be. */
  static Pieces of(Trial trial, long... sizes) {
    long alignment = trial.limits().alignment();
    long gap = Math.max(alignment, LEAST_GAP);
    long[] starts = new long[sizes.length];
    long end = gap;
    for (int i = 0; i < sizes.length; i++) {
      // Odd and even multiples of the alignment in turn.
      long start = (end + alignment - 1) / alignment;
      starts[i] = (start + ((start + i + 1) & 1)) * alignment;
      end = starts[i] + sizes[i] + gap;
    }
    HostMemory block = trial.memory(end);
    block.segment().fill(UNTOUCHED);
    List<HostMemory> pieces = new ArrayList<>();
    for (int i = 0; i < sizes.length; i++) {
      pieces.add(block.slice(starts[i], sizes[i]));
    }
    return new Pieces(trial, block, pieces);
  }

  /** Splits so many bytes by chance into a few sizes, as many as one object may have at most. */
  static long[] split(Trial trial, long bytes) {
    int count = 1 + trial.random().nextInt(Math.min(7, trial.limits().pieces()));
    long[] cuts = new long[count + 1];
    for (int i = 1; i < count; i++) {
      // Every fourth piece is empty.
      cuts[i] = i % 4 == 2 ? cuts[i - 1] : trial.random().nextLong(bytes + 1);
    }
    cuts[count] = bytes;
    Arrays.sort(cuts);
    long[] sizes = new long[count];
    for (int i = 0; i < count; i++) {
      sizes[i] = cuts[i + 1] - cuts[i];
    }
    return sizes;
  }

  /** Returns the pieces. */
  List<Memory> writable() {
    return List.copyOf(pieces);
  }

  /** Returns the pieces as memory that cannot be written. */
  List<Memory> readOnly() {
    return pieces.stream()
        .<Memory>map(piece -> HostMemory.of(piece.segment().asReadOnly()))
        .toList();
  }

  /** Writes the first bytes of some content to the pieces, in order. */
  Pieces fill(Content content) {
    long offset = 0;
    for (HostMemory piece : pieces) {
      content.fill(piece.segment(), offset);
      offset += piece.byteSize();
    }
    return this;
  }

  /** Makes every byte what it was at first. */
  void reset() {
    block.segment().fill(UNTOUCHED);
  }

  /** Fails the rule unless the pieces hold the bytes from {@code offset} on, and nothing else. */
  void expectBytes(String what, Content content, long offset) {
    long at = offset;
    for (HostMemory piece : pieces) {
      trial.expectBytes(what, content, piece, at);
      at += piece.byteSize();
    }
    expectUntouchedFrom(what, at - offset);
  }

  /** Fails the rule if a byte was touched. */
  void expectUntouched(String what) {
    expectUntouchedFrom(what, 0);
  }

  /** Fails the rule if a byte was touched but the first so many of the pieces. */
  void expectUntouchedFrom(String what, long bytes) {
    MemorySegment all = block.segment();
    long end = 0;
    long left = bytes;
    for (HostMemory piece : pieces) {
      long start = piece.segment().address() - all.address();
      expectUntouched("the memory before a piece: " + what, end, start);
      long mine = Math.min(left, piece.byteSize());
      end = start + mine;
      left -= mine;
      expectUntouched("the target: " + what, end, start + piece.byteSize());
      end = start + piece.byteSize();
    }
    expectUntouched("the memory behind the pieces: " + what, end, all.byteSize());
  }

  private void expectUntouched(String what, long from, long to) {
    trial.expectFilled(what, UNTOUCHED, block.slice(from, to - from));
  }
}
