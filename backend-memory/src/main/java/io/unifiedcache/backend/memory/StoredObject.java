package io.unifiedcache.backend.memory;

import io.unifiedcache.api.ObjectKey;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An object and the blocks that its bytes fill in order.
 *
 * <p>Key, size and blocks never change; the rest belongs to {@link ObjectTable}.
 */
final class StoredObject {
  final ObjectKey key;
  final long size;
  final long[] blocks;

  /** For each block, where the next one begins in the object; null if there is one block. */
  private final long @Nullable [] ends;

  /** Readers that hold the object, and a putter that fills it. */
  int pins;

  /** Whether it can be found. */
  boolean visible;

  /** The neighbours in the order of eviction, while it can be evicted. */
  @Nullable StoredObject older;

  @Nullable StoredObject newer;

  StoredObject(ObjectKey key, long size, long[] blocks) {
    this.key = key;
    this.size = size;
    this.blocks = blocks;
    if (blocks.length == 1) {
      ends = null;
    } else {
      ends = new long[blocks.length];
      long end = 0;
      for (int i = 0; i < blocks.length; i++) {
        end += Slabs.bytesOf(blocks[i]);
        ends[i] = end;
      }
    }
  }

  /** Fills part of this object from memory. */
  void write(Slabs slabs, long at, MemorySegment source, long sourceOffset, long bytes) {
    copy(slabs, at, source, sourceOffset, bytes, /* toObject= */ true);
  }

  /** Fills memory from part of this object. */
  void read(Slabs slabs, long at, MemorySegment target, long targetOffset, long bytes) {
    copy(slabs, at, target, targetOffset, bytes, /* toObject= */ false);
  }

  private void copy(
      Slabs slabs, long at, MemorySegment memory, long offset, long bytes, boolean toObject) {
    int i = blockAt(at);
    while (bytes > 0) {
      long begin = begin(i);
      long inBlock = at - begin;
      long length = Math.min(bytes, Slabs.bytesOf(blocks[i]) - inBlock);
      MemorySegment slab = slabs.segmentOf(blocks[i]);
      long slabOffset = slabs.offsetOf(blocks[i]) + inBlock;
      if (toObject) {
        MemorySegment.copy(memory, offset, slab, slabOffset, length);
      } else {
        MemorySegment.copy(slab, slabOffset, memory, offset, length);
      }
      at += length;
      offset += length;
      bytes -= length;
      i++;
    }
  }

  private int blockAt(long at) {
    if (ends == null) {
      return 0;
    }
    int found = Arrays.binarySearch(ends, at);
    return found >= 0 ? found + 1 : -found - 1;
  }

  private long begin(int block) {
    return ends == null || block == 0 ? 0 : ends[block - 1];
  }
}
