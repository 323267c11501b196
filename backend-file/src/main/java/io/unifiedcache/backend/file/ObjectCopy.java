package io.unifiedcache.backend.file;

import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The copying that one entry of a batch asks for: pieces of memory, and where in its object the
 * bytes of each are.
 *
 * <p>An entry that asks for what cannot be has failed from the start. Several threads may copy
 * different parts; whoever looks at the outcome has waited for them.
 */
final class ObjectCopy {
  /** Which entry of the batch. */
  final int entry;

  final ObjectKey key;

  private final boolean toObject;
  private final MemorySegment[] segments;

  /** Where each segment begins when they are laid end to end. */
  private final long[] starts;

  /** Where each segment begins in the object; {@link #starts} if they fill it in order. */
  private final long[] objectOffsets;

  private long size;

  /** The object, once it is found or has a place. */
  private @Nullable StoredObject object;

  /** Parts that are not copied yet. */
  final AtomicInteger partsLeft = new AtomicInteger();

  private boolean legal;
  private volatile boolean begun;
  private volatile boolean damaged;
  private volatile boolean missing;
  private volatile @Nullable StoreFailure failure;

  private ObjectCopy(int entry, ObjectKey key, boolean toObject, int pieces, boolean inOrder) {
    this.entry = entry;
    this.key = key;
    this.toObject = toObject;
    failure = Limits.refusal(key, pieces);
    int count = failure == null ? pieces : 0;
    segments = new MemorySegment[count];
    starts = new long[count];
    objectOffsets = inOrder ? starts : new long[count];
  }

  /** Returns the copying of an entry of a put. */
  static ObjectCopy of(int entry, PutOp op) {
    return whole(entry, op.key(), op.pieces(), /* toObject= */ true).judged();
  }

  /** Returns the copying of an entry of a get. */
  static ObjectCopy of(int entry, GetOp op) {
    return whole(entry, op.key(), op.pieces(), /* toObject= */ false).judged();
  }

  /** Returns the copying of an entry of a session's read. */
  static ObjectCopy of(int entry, ReadOp op, StoredObject object) {
    ObjectCopy copy = of(entry, op, object.key, object.size);
    copy.object = object;
    return copy;
  }

  /** Returns the same of an object of so many bytes. */
  static ObjectCopy of(int entry, ReadOp op, ObjectKey key, long objectSize) {
    List<Range> ranges = op.ranges();
    ObjectCopy copy =
        new ObjectCopy(entry, key, /* toObject= */ false, ranges.size(), /* inOrder= */ false);
    for (int i = 0; i < ranges.size() && copy.failure == null; i++) {
      long offset = ranges.get(i).objectOffset();
      Memory target = ranges.get(i).target();
      copy.add(i, target, offset);
      if (offset > objectSize || target.byteSize() > objectSize - offset) {
        copy.fail(
            FailureCode.SIZE_MISMATCH,
            "%d bytes at %d are not within its %d"
                .formatted(target.byteSize(), offset, objectSize));
      }
    }
    return copy.judged();
  }

  private ObjectCopy judged() {
    legal = failure == null;
    return this;
  }

  private static ObjectCopy whole(int entry, ObjectKey key, List<Memory> pieces, boolean toObject) {
    ObjectCopy copy = new ObjectCopy(entry, key, toObject, pieces.size(), /* inOrder= */ true);
    for (int i = 0; i < pieces.size() && copy.failure == null; i++) {
      copy.add(i, pieces.get(i), copy.size);
    }
    return copy;
  }

  private void add(int i, Memory memory, long objectOffset) {
    switch (memory) {
      case DeviceMemory device ->
          fail(FailureCode.REFUSED, "memory of device " + device.device() + " is out of reach");
      case HostMemory host -> {
        MemorySegment segment = host.segment();
        if (!host.isAlive()) {
          failClosedArena();
        } else if (!toObject && segment.isReadOnly()) {
          fail(FailureCode.REFUSED, "a target is read-only");
        } else if (segment.byteSize() > Long.MAX_VALUE - size) {
          fail(
              toObject ? FailureCode.NO_SPACE : FailureCode.SIZE_MISMATCH,
              "its pieces have more than 2^63 - 1 bytes");
        } else {
          segments[i] = segment;
          starts[i] = size;
          objectOffsets[i] = objectOffset;
          size += segment.byteSize();
        }
      }
    }
  }

  /** Tells whether it asks for what can be. */
  boolean isLegal() {
    return legal;
  }

  /** Returns the bytes to copy. */
  long size() {
    return size;
  }

  /** Says which object to copy. */
  void with(StoredObject found) {
    object = found;
  }

  /** Returns the object. */
  StoredObject object() {
    StoredObject found = object;
    if (found == null) {
      throw new IllegalStateException(Limits.about(key, "neither found nor placed yet"));
    }
    return found;
  }

  /** A part of the segments laid end to end whose bytes follow each other in the object. */
  record Part(ObjectCopy copy, long from, long to, long objectOffset) {
    long bytes() {
      return to - from;
    }
  }

  /**
   * Cuts the copying into parts.
   *
   * @param most the bytes of a part; where the object is cut, it is at multiples of this
   */
  void cut(long most, List<Part> parts) {
    int before = parts.size();
    int i = 0;
    while (i < segments.length) {
      int next = i + 1;
      long bytes = segments[i].byteSize();
      while (next < segments.length && objectOffsets[next] == objectOffsets[i] + bytes) {
        bytes += segments[next].byteSize();
        next++;
      }
      long objectOffset = objectOffsets[i];
      for (long done = 0; done < bytes; ) {
        long length = Math.min(bytes - done, most - (objectOffset + done) % most);
        parts.add(new Part(this, starts[i] + done, starts[i] + done + length, objectOffset + done));
        done += length;
      }
      i = next;
    }
    if (parts.size() == before) {
      parts.add(new Part(this, 0, 0, 0));
    }
    partsLeft.set(parts.size() - before);
  }

  /** Does something with a run of memory. */
  interface Visitor {
    void visit(ByteBuffer memory) throws java.io.IOException;
  }

  /** Passes on the memory between two places of the segments laid end to end, in order. */
  void visit(long from, long to, Visitor visitor) throws java.io.IOException {
    int i = Arrays.binarySearch(starts, from);
    if (i < 0) {
      i = -i - 2;
    }
    while (from < to) {
      // An empty segment begins where the next one does, so the search may end on it.
      long offset = from - starts[i];
      long length = Math.min(Math.min(to - from, segments[i].byteSize() - offset), 1 << 30);
      if (length > 0) {
        visitor.visit(segments[i].asSlice(offset, length).asByteBuffer());
        from += length;
      }
      if (from - starts[i] >= segments[i].byteSize()) {
        i++;
      }
    }
  }

  /** Says that memory is about to be written. */
  void begin() {
    begun = true;
  }

  /** Tells whether the object is not what was put, so that it is no use to anybody. */
  boolean isDamaged() {
    return damaged || missing;
  }

  /** Tells whether the object was found to be gone before any memory was written. */
  boolean isMissing() {
    return missing && !begun;
  }

  /** Tells whether memory may have been written. */
  boolean isDirty() {
    return begun;
  }

  /** Tells whether the entry has failed because there was no room. */
  boolean foundNoRoom() {
    StoreFailure failed = failure;
    return failed != null && failed.code() == FailureCode.NO_SPACE;
  }

  /** Forgets that the entry has failed, to try again. */
  void retry() {
    failure = null;
  }

  /** Tells whether the entry has failed. */
  boolean hasFailed() {
    return failure != null;
  }

  /** Returns why the entry failed, or null if it has not, with nobody copying any more. */
  @Nullable StoreFailure failure() {
    StoreFailure failed = failure;
    return failed != null && begun && !toObject ? failed.withMemory(MemoryState.DIRTY) : failed;
  }

  /** Fails the entry because the deadline passed. */
  void failLate() {
    if (failure == null) {
      failure = late();
    }
  }

  /** Returns the failure of an entry whose deadline passed. */
  StoreFailure late() {
    return failure(FailureCode.TIMEOUT, "the deadline passed first");
  }

  /** Fails the entry because the object is not what was put. */
  void failDamaged(String how) {
    damaged = true;
    fail(FailureCode.CORRUPT, how);
  }

  /** Fails the entry because the object's file is gone. */
  void failMissing() {
    missing = true;
    fail(FailureCode.CORRUPT, "its segment file is gone");
  }

  /** Fails the entry because its object was removed, and its room given to another, meanwhile. */
  void failOvertaken() {
    damaged = false;
    missing = false;
    failure = failure(FailureCode.LEASE_EXPIRED, "it was removed while it was read");
  }

  /** Fails the entry because of something unforeseen. */
  void fail(Throwable cause) {
    if (segmentsAreAlive()) {
      fail(FailureCode.INTERNAL, cause.toString());
    } else {
      failClosedArena();
    }
  }

  /** Fails the entry. */
  void fail(StoreFailure why) {
    if (failure == null) {
      failure = why;
    }
  }

  private boolean segmentsAreAlive() {
    for (MemorySegment segment : segments) {
      if (!segment.scope().isAlive()) {
        return false;
      }
    }
    return true;
  }

  private void failClosedArena() {
    fail(FailureCode.REFUSED, "the arena of a piece of memory is closed");
  }

  private void fail(FailureCode code, String message) {
    fail(failure(code, message));
  }

  /** Returns a failure of this entry. */
  StoreFailure failure(FailureCode code, String message) {
    return StoreFailure.of(code, Limits.about(key, message));
  }
}
