package io.unifiedcache.backend.mooncake;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One object of a batch: its memory, and what became of it.
 *
 * <p>An entry that asks for what cannot be has failed from the start. Used by one thread at a time:
 * the caller, then the thread that does the call, then the caller again once that is done.
 */
final class Entry {
  /** Which entry of the batch. */
  final int index;

  final ObjectKey key;

  /** The group to store it in, or null. */
  final @Nullable String group;

  private final boolean toObject;

  /** The pieces that have bytes. */
  private final List<Memory> pieces;

  /** Where in the object each piece begins. */
  private final long[] offsets;

  /** Whether the pieces are ranges of an object, and not all of it. */
  private boolean ranges;

  /** Where the bytes of all pieces are staged, one after the other; null if they are not. */
  @Nullable MemorySegment staged;

  private long size;

  /** The size of the object, if all of it is read for some ranges; -1 otherwise. */
  private long wholeSize = -1;

  private @Nullable ObjectStatus status;
  private @Nullable StoreFailure failure;

  private Entry(int index, ObjectKey key, @Nullable String group, boolean toObject, int pieces) {
    this.index = index;
    this.key = key;
    this.group = group;
    this.toObject = toObject;
    this.pieces = new ArrayList<>(pieces);
    offsets = new long[pieces];
  }

  /** Returns an entry of a put. */
  static Entry of(int index, PutOp op, boolean devices) {
    Entry entry =
        whole(
            index,
            op.key(),
            op.groupHint().orElse(null),
            op.pieces(),
            /* toObject= */ true,
            devices);
    if (entry.failure == null && entry.size == 0) {
      entry.fail(
          Limits.refused(op.key(), "Mooncake stores no objects without bytes, without saying so"));
    }
    return entry;
  }

  /** Returns an entry of a call about keys alone. */
  static Entry of(int index, ObjectKey key) {
    return whole(index, key, null, List.of(), /* toObject= */ false, /* devices= */ false);
  }

  /** Returns an entry of a get. */
  static Entry of(int index, GetOp op, boolean devices) {
    return whole(index, op.key(), null, op.pieces(), /* toObject= */ false, devices);
  }

  /** Returns an entry of a read of a session. */
  static Entry of(int index, ObjectKey key, ReadOp op, boolean devices) {
    List<Range> ranges = op.ranges();
    Entry entry = new Entry(index, key, null, /* toObject= */ false, ranges.size());
    entry.ranges = true;
    entry.fail(Limits.refusal(key, ranges.size()));
    for (int i = 0; i < ranges.size() && entry.failure == null; i++) {
      entry.add(ranges.get(i).target(), ranges.get(i).objectOffset(), devices);
    }
    return entry;
  }

  private static Entry whole(
      int index,
      ObjectKey key,
      @Nullable String group,
      List<Memory> pieces,
      boolean toObject,
      boolean devices) {
    Entry entry = new Entry(index, key, group, toObject, pieces.size());
    entry.fail(Limits.refusal(key, pieces.size()));
    for (int i = 0; i < pieces.size() && entry.failure == null; i++) {
      entry.add(pieces.get(i), entry.size, devices);
    }
    return entry;
  }

  private void add(Memory memory, long offset, boolean devices) {
    if (!memory.isAlive()) {
      failClosedArena();
    } else if (memory instanceof DeviceMemory device && !devices) {
      fail(Limits.refused(key, "memory of device " + device.device() + " is out of reach"));
    } else if (memory instanceof HostMemory host && !toObject && host.segment().isReadOnly()) {
      fail(Limits.refused(key, "a target is read-only"));
    } else if (memory.byteSize() > Long.MAX_VALUE - size) {
      fail(
          toObject ? FailureCode.NO_SPACE : FailureCode.SIZE_MISMATCH,
          "its pieces have more than 2^63 - 1 bytes");
    } else if (memory.byteSize() > 0) {
      offsets[pieces.size()] = offset;
      pieces.add(memory);
      size += memory.byteSize();
    }
  }

  /** Returns the bytes of all pieces. */
  long size() {
    return size;
  }

  /** Says that all of an object is to be read, and its ranges are to be copied from that. */
  void readWhole(long objectSize) {
    wholeSize = objectSize;
  }

  /** Returns whether all of an object is read for some ranges of it. */
  boolean isWhole() {
    return wholeSize >= 0;
  }

  /** Returns whether the object is read, and not stored. */
  boolean isRead() {
    return !toObject;
  }

  /** Returns the bytes that Mooncake moves. */
  long movedBytes() {
    return isWhole() ? wholeSize : size;
  }

  /** Returns the pieces that have bytes. */
  List<Memory> pieces() {
    return pieces;
  }

  /** Returns the address of a piece. */
  static long addressOf(Memory piece) {
    return switch (piece) {
      case HostMemory host -> host.segment().address();
      case DeviceMemory device -> device.address();
    };
  }

  /** Tells whether what is asked for can be read from an object of a size. */
  boolean fits(long objectSize) {
    if (!ranges) {
      return size == objectSize;
    }
    for (int i = 0; i < pieces.size(); i++) {
      if (offsets[i] > objectSize || pieces.get(i).byteSize() > objectSize - offsets[i]) {
        return false;
      }
    }
    return true;
  }

  /** Tells whether all memory can be read and written by the JVM. */
  boolean isOnHost() {
    for (Memory piece : pieces) {
      if (piece instanceof DeviceMemory) {
        return false;
      }
    }
    return true;
  }

  /** Fails the entry if an arena of its memory has been closed; tells whether it has not. */
  boolean isAlive() {
    for (Memory piece : pieces) {
      if (!piece.isAlive()) {
        failClosedArena();
        return false;
      }
    }
    return true;
  }

  /** Adds the object with its pieces, or the one that they are staged in. */
  void addWholeTo(Transfer transfer) {
    transfer.object(key.value());
    if (group != null) {
      transfer.group(group);
    }
    if (staged != null) {
      transfer.piece(staged.address(), size);
    } else {
      for (int i = 0; i < pieces.size(); i++) {
        transfer.piece(addressOf(pieces.get(i)), pieces.get(i).byteSize());
      }
    }
  }

  /** Adds the object with its ranges. */
  void addRangesTo(Transfer transfer) {
    transfer.object(key.value());
    if (isWhole()) {
      transfer.piece(requireNonNull(staged).address(), wholeSize);
      return;
    }
    long at = staged == null ? 0 : staged.address();
    for (int i = 0; i < pieces.size(); i++) {
      long bytes = pieces.get(i).byteSize();
      transfer.range(offsets[i], staged == null ? addressOf(pieces.get(i)) : at, bytes);
      at += bytes;
    }
  }

  /** Copies all pieces to where they are staged. */
  void copyIn() {
    MemorySegment target = requireNonNull(staged);
    long at = 0;
    for (Memory piece : pieces) {
      MemorySegment.copy(((HostMemory) piece).segment(), 0, target, at, piece.byteSize());
      at += piece.byteSize();
    }
  }

  /** Fills all pieces from where they are staged. */
  void copyOut() {
    MemorySegment source = requireNonNull(staged);
    if (isWhole()) {
      copyRangesOf(source);
      return;
    }
    long at = 0;
    for (Memory piece : pieces) {
      MemorySegment.copy(source, at, ((HostMemory) piece).segment(), 0, piece.byteSize());
      at += piece.byteSize();
    }
  }

  /** Fills all pieces with their ranges of the bytes of the object. */
  void copyRangesOf(MemorySegment object) {
    for (int i = 0; i < pieces.size(); i++) {
      Memory piece = pieces.get(i);
      MemorySegment.copy(object, offsets[i], ((HostMemory) piece).segment(), 0, piece.byteSize());
    }
  }

  /** Tells whether it is not known yet what becomes of it. */
  boolean isOpen() {
    return status == null && failure == null;
  }

  /** Returns what became of it, or null if it has failed or is not known yet. */
  @Nullable ObjectStatus status() {
    return status;
  }

  /** Returns why it failed, or null if it has not. */
  @Nullable StoreFailure failure() {
    return failure;
  }

  /** Says what became of it; the first word stays. */
  void settle(ObjectStatus outcome) {
    if (isOpen()) {
      status = outcome;
    }
  }

  /** Fails the entry; the first word stays. */
  void fail(@Nullable StoreFailure why) {
    if (why != null && isOpen()) {
      failure = why;
    }
  }

  /** Fails the entry, with nothing written to memory. */
  void fail(FailureCode code, String message) {
    fail(StoreFailure.of(code, Limits.about(key, message)));
  }

  /** Returns the failure of an entry whose deadline passed before anything was done. */
  StoreFailure late() {
    return StoreFailure.of(FailureCode.TIMEOUT, Limits.about(key, "the deadline passed first"));
  }

  /** Fails an entry as Mooncake's number says. */
  void failAnswered(String call, long number, MemoryState memory) {
    fail(Answers.failure(key, call, number).withMemory(toObject ? sourceState(memory) : memory));
  }

  /** A source that is not in use any more is as it was. */
  private static MemoryState sourceState(MemoryState memory) {
    return memory instanceof MemoryState.InUse ? memory : MemoryState.UNTOUCHED;
  }

  private void failClosedArena() {
    fail(FailureCode.REFUSED, "the arena of a piece of memory is closed");
  }
}
