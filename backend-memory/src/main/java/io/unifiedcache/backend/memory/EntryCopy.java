package io.unifiedcache.backend.memory;

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
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The copying that one entry of a batch asks for: pieces of memory, and where in its object the
 * bytes of each are.
 *
 * <p>An entry that asks for what cannot be has failed from the start. Several threads may copy
 * different parts; whoever looks at the outcome has waited for them.
 */
final class EntryCopy {
  private static final String CLOSED_ARENA = "the arena of a piece of memory is closed";

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

  /** The object, once it is found or reserved. */
  private @Nullable StoredObject object;

  private volatile boolean begun;

  /** Why it was refused, before anything was copied. */
  private @Nullable StoreFailure failure;

  /**
   * What went wrong while it was copied; of several one. Its description is made by the thread that
   * asks for it: a copying thread must be able to say this whatever it has run out of.
   */
  private volatile @Nullable Throwable thrown;

  private volatile boolean late;

  private EntryCopy(int entry, ObjectKey key, boolean toObject, int pieces, boolean inOrder) {
    this.entry = entry;
    this.key = key;
    this.toObject = toObject;
    failure = MemoryStore.refusal(key, pieces);
    int count = failure == null ? pieces : 0;
    segments = new MemorySegment[count];
    starts = new long[count];
    objectOffsets = inOrder ? starts : new long[count];
  }

  /** Returns the copying of an entry of a put. */
  static EntryCopy of(int entry, PutOp op) {
    return whole(entry, op.key(), op.pieces(), /* toObject= */ true);
  }

  /** Returns the copying of an entry of a get. */
  static EntryCopy of(int entry, GetOp op) {
    return whole(entry, op.key(), op.pieces(), /* toObject= */ false);
  }

  /** Returns the copying of an entry of a session's read. */
  static EntryCopy of(int entry, ReadOp op, StoredObject object) {
    List<Range> ranges = op.ranges();
    EntryCopy copy =
        new EntryCopy(
            entry, object.key, /* toObject= */ false, ranges.size(), /* inOrder= */ false);
    copy.object = object;
    for (int i = 0; i < ranges.size() && copy.failure == null; i++) {
      long offset = ranges.get(i).objectOffset();
      Memory target = ranges.get(i).target();
      copy.add(i, target, offset);
      if (offset > object.size || target.byteSize() > object.size - offset) {
        copy.fail(
            FailureCode.SIZE_MISMATCH,
            "%d bytes at %d are not within its %d"
                .formatted(target.byteSize(), offset, object.size));
      }
    }
    return copy;
  }

  private static EntryCopy whole(int entry, ObjectKey key, List<Memory> pieces, boolean toObject) {
    EntryCopy copy = new EntryCopy(entry, key, toObject, pieces.size(), /* inOrder= */ true);
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
          fail(FailureCode.REFUSED, CLOSED_ARENA);
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
    if (object == null) {
      throw new IllegalStateException(about(key, "not found or reserved yet"));
    }
    return object;
  }

  /** Copies the bytes from {@code from} to {@code to} of the segments laid end to end. */
  // Whatever goes wrong here is a failure of this entry; it must not end a copying thread.
  void copy(Slabs slabs, long from, long to) {
    if (thrown != null || late) {
      return;
    }
    begun = true;
    try {
      int i = Arrays.binarySearch(starts, from);
      if (i < 0) {
        i = -i - 2;
      }
      while (from < to) {
        // An empty segment begins where the next one does, so the search may end on it.
        long offset = from - starts[i];
        long length = Math.min(to - from, segments[i].byteSize() - offset);
        if (toObject) {
          object().write(slabs, objectOffsets[i] + offset, segments[i], offset, length);
        } else {
          object().read(slabs, objectOffsets[i] + offset, segments[i], offset, length);
        }
        from += length;
        i++;
      }
    } catch (RuntimeException | Error e) {
      fail(e);
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

  /** Returns why the entry failed, or null if it has not, with nobody copying any more. */
  @Nullable StoreFailure failure() {
    StoreFailure failed = failure;
    Throwable cause = thrown;
    if (failed == null && cause != null) {
      failed = segmentsAreAlive() ? unforeseen(cause) : failure(FailureCode.REFUSED, CLOSED_ARENA);
    } else if (failed == null && late) {
      failed = late();
    }
    return failed != null && begun && !toObject ? failed.withMemory(MemoryState.DIRTY) : failed;
  }

  /** Fails the entry because the deadline passed. */
  void failLate() {
    late = true;
  }

  /** Returns the failure of an entry whose deadline passed. */
  StoreFailure late() {
    return failure(FailureCode.TIMEOUT, "the deadline passed first");
  }

  /** Returns the failure of an entry because of something unforeseen. */
  StoreFailure unforeseen(Throwable cause) {
    return failure(FailureCode.INTERNAL, cause.toString());
  }

  /** Returns the failure of an entry that finds no room. */
  StoreFailure noRoom(long capacity) {
    return size > capacity
        ? failure(
            FailureCode.NO_SPACE, "its %d bytes pass the capacity %d".formatted(size, capacity))
        : failure(
                FailureCode.NO_SPACE,
                "its %d bytes find no room beside what is in use".formatted(size))
            .asRetryable();
  }

  /** Returns the failure of an entry whose targets do not have the size of the object. */
  StoreFailure wrongSize(long objectSize) {
    return failure(
        FailureCode.SIZE_MISMATCH,
        "it has %d bytes and the targets %d".formatted(objectSize, size));
  }

  /** Fails the entry because of something unforeseen. Takes no memory, and never throws. */
  void fail(Throwable cause) {
    thrown = cause;
  }

  private void fail(FailureCode code, String message) {
    failure = failure(code, message);
  }

  private StoreFailure failure(FailureCode code, String message) {
    return StoreFailure.of(code, about(key, message));
  }

  /** Returns a message about a key, which is shortened. */
  static String about(ObjectKey key, String message) {
    String value = key.value();
    return "object "
        + (value.length() <= 80 ? value : value.substring(0, 80) + "...")
        + ": "
        + message;
  }
}
