package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An object and where it lies: an extent of a segment file, which holds a header and the payload.
 *
 * <p>What is final never changes; the rest belongs to {@link Index} and its lock.
 */
final class StoredObject {
  final ObjectKey key;

  /** The unique number of the put that stored it. */
  final long generation;

  final int segment;
  final long offset;
  final int headerBytes;
  final long size;

  /** When it was stored, in seconds since 1970 without a sign. */
  final int stored;

  /**
   * The checksums of the blocks of the payload, empty if it has none; null until the header was
   * read and seen to be that of this object.
   */
  private volatile int @Nullable [] sums;

  private volatile int blockBytes;

  /** Readers in this process. */
  int pins;

  /** Whether this process has made it findable, so that its extent is no longer the putter's. */
  volatile boolean published;

  /** How often its segment could not be forced before it was written. */
  int failures;

  /**
   * Whether its extent has been this process's own since it was live, so that nobody else has given
   * it to another object.
   */
  boolean own;

  /** Whether it can be found. */
  boolean live;

  /** Whether its extent is not its own, as only a damaged log says: it frees nothing. */
  boolean overlaps;

  /** Whether a record is being written that evicts it. */
  boolean leaving;

  /** Whether it was used since its recency was last written down. */
  boolean touched;

  /** The neighbours in the order of eviction, while it is live. */
  @Nullable StoredObject older;

  @Nullable StoredObject newer;

  StoredObject(
      ObjectKey key,
      long generation,
      int segment,
      long offset,
      int headerBytes,
      long size,
      int stored) {
    this.key = key;
    this.generation = generation;
    this.segment = segment;
    this.offset = offset;
    this.headerBytes = headerBytes;
    this.size = size;
    this.stored = stored;
  }

  /** Returns when it was stored, by the clock of whoever did. */
  Instant storedAt() {
    return Instant.ofEpochSecond(Integer.toUnsignedLong(stored));
  }

  /** Tells whether the header is known, and so the checksums are. */
  boolean hasSums() {
    return sums != null;
  }

  /** Says what the header says. */
  void know(int blockSize, int[] blockSums) {
    blockBytes = blockSize;
    sums = blockSums;
  }

  /** Returns the checksums of the blocks, which are known. */
  int[] sums() {
    int[] known = sums;
    if (known == null) {
      throw new IllegalStateException("the header of " + key + " was not read");
    }
    return known;
  }

  /** Returns the size of a block, 0 if there are no checksums; known where they are. */
  int blockBytes() {
    return blockBytes;
  }

  /** Returns where the payload begins in the segment. */
  long payloadOffset() {
    return offset + ExtentHeader.padded(headerBytes);
  }

  /** Returns the bytes of the extent. */
  long extentBytes() {
    return ExtentHeader.extentBytes(headerBytes, size);
  }

  /** Returns where the bytes that were written end in the segment. */
  long end() {
    return size == 0 ? offset + headerBytes : payloadOffset() + size;
  }
}
