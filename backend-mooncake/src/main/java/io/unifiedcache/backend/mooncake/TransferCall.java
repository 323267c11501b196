package io.unifiedcache.backend.mooncake;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.ObjectStatus;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One call that moves objects: in rounds of different keys, each in chunks that Mooncake can take,
 * directly or by a staged copy.
 *
 * <p>Used by the one thread that does the call. Every entry is settled, or has failed.
 */
final class TransferCall {
  /** The most objects that are passed to Mooncake at once. */
  private static final int OBJECTS = 512;

  /** How often an object is put that finds no room. */
  private static final int ATTEMPTS = 6;

  private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

  /** How often an object is looked for that another writer is at: more than half a second. */
  private static final int LOOKS = 8;

  /** The pause before the second look. */
  private static final Duration LOOK_PAUSE = Duration.ofMillis(5);

  /**
   * The shortest time for which Mooncake can be told to wait for a transfer. When it answers sooner
   * that bytes could not be moved, all transfers of the call have ended.
   */
  private static final long LEAST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final StoreParts parts;
  private final Call call;

  /** What is read from, if ranges are read. */
  private OpenObjects.@Nullable Opening opening;

  /** What can only be read as a whole of what is read from. */
  private final List<Entry> onlyWhole = new ArrayList<>();

  /** When the current chunk of such began to be read. */
  private long wholesSince;

  /** How long Mooncake took to move the current chunk. */
  private long movedNanos;

  /** Since when no object may have been removed that is read. */
  private long since;

  /** The memory of the current chunk that Mooncake may still be at. */
  private MemoryState.@Nullable InUse doubt;

  TransferCall(StoreParts parts, Call call) {
    this.parts = parts;
    this.call = call;
  }

  /** What is done with a chunk. */
  interface Step {
    void run(List<Entry> chunk);
  }

  /** Stores objects. */
  void put(List<Entry> entries) {
    inRounds(entries, round -> inChunks(round, this::stage, this::putChunk));
  }

  /** Reads whole objects. */
  void get(List<Entry> entries) {
    since = parts.removals().beginReading();
    try {
      inRounds(
          entries,
          round -> {
            List<Entry> wanted = new ArrayList<>(round.size());
            List<Entry> empty = new ArrayList<>();
            for (Entry entry : round) {
              (entry.size() == 0 ? empty : wanted).add(entry);
            }
            findSizes(empty, Answers.INVALID_PARAMS);
            inChunks(wanted, entry -> {}, this::getChunk);
          });
    } finally {
      parts.removals().endReading();
    }
  }

  /** Reads ranges of objects that are held open. */
  void read(OpenObjects.Opening opening, List<Entry> entries) {
    this.opening = opening;
    since = opening.since;
    List<Entry> wanted = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      if (entry.size() == 0) {
        entry.settle(ObjectStatus.OK);
      } else {
        wanted.add(entry);
      }
    }
    inRounds(wanted, round -> inChunks(round, entry -> {}, chunk -> readChunk(opening, chunk)));
    inRounds(onlyWhole, round -> readWholes(opening, round));
  }

  /** Reads ranges of objects that Mooncake moves only as a whole, since they are not in memory. */
  private void readWholes(OpenObjects.Opening opening, List<Entry> entries) {
    List<Entry> unread = new ArrayList<>(entries.size());
    BitSet over = opening.over(keys(entries));
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      long size = opening.size(entry.key.value());
      MemorySegment copy = opening.copy(entry.key.value());
      if (over.get(i)) {
        failGone(entry, MemoryState.UNTOUCHED);
      } else if (!entry.fits(size)) {
        failSize(entry, size, MemoryState.UNTOUCHED);
      } else if (!entry.isOnHost()) {
        entry.fail(
            Limits.refused(
                entry.key,
                "it is not in memory, and its ranges cannot be copied to memory of a device"));
      } else if (copy == null) {
        entry.readWhole(size);
        unread.add(entry);
      } else if (call.isLate()) {
        entry.fail(entry.late());
      } else if (entry.isAlive()) {
        entry.copyRangesOf(copy);
        entry.settle(ObjectStatus.OK);
      }
    }
    inChunks(
        unread,
        entry -> {},
        chunk ->
            judgeRead(
                chunk,
                "get",
                move(
                    chunk,
                    "get",
                    transfer -> {
                      // By its key another object may be read that is as large.
                      opening.beginReading(transfer.keys());
                      wholesSince = opening.now();
                      return opening.client().get(transfer);
                    })));
  }

  /** Does entries of equal keys one after the other: Mooncake would mix them up. */
  static void inRounds(List<Entry> entries, Step step) {
    List<Entry> left = entries;
    while (!left.isEmpty()) {
      Set<ObjectKey> keys = HashSet.newHashSet(left.size());
      List<Entry> round = new ArrayList<>(left.size());
      List<Entry> rest = new ArrayList<>();
      for (Entry entry : left) {
        (keys.add(entry.key) ? round : rest).add(entry);
      }
      step.run(round);
      left = rest;
    }
  }

  /** What is done with the memory of an entry before its chunk is moved. */
  private interface Preparation {
    void prepare(Entry entry);
  }

  private void stage(Entry entry) {
    if (entry.staged != null) {
      entry.copyIn();
    }
  }

  private void inChunks(List<Entry> entries, Preparation preparation, Step step) {
    List<Entry> chunk = new ArrayList<>(Math.min(entries.size(), OBJECTS));
    List<Entry> staged = new ArrayList<>();
    long cost = 0;
    for (Entry entry : entries) {
      if (!isDirect(entry)) {
        staged.add(entry);
        continue;
      }
      long more = cost(entry, /* staged= */ false);
      if (!chunk.isEmpty() && (chunk.size() == OBJECTS || cost + more > Window.TRANSFERS)) {
        runChunk(chunk, step);
        chunk = new ArrayList<>();
        cost = 0;
      }
      chunk.add(entry);
      cost += more;
    }
    if (!chunk.isEmpty()) {
      runChunk(chunk, step);
    }
    int at = 0;
    while (at < staged.size()) {
      at = runStaged(staged, at, preparation, step);
    }
  }

  /** Tells whether Mooncake can take the memory of an entry as it is. */
  private boolean isDirect(Entry entry) {
    List<Memory> pieces = entry.pieces();
    if (entry.isWhole()) {
      return false;
    }
    if (pieces.size() > 1 && !(parts.client() instanceof MooncakeClient.Scattering)) {
      return false;
    }
    if (parts.onlyRegistered()) {
      for (Memory piece : pieces) {
        if (!parts.registrations().covers(piece)) {
          return false;
        }
      }
    }
    return true;
  }

  private long cost(Entry entry, boolean staged) {
    if (staged && (opening == null || entry.isWhole())) {
      return Window.cost(entry.movedBytes());
    }
    long cost = 0;
    for (Memory piece : entry.pieces()) {
      cost += Window.cost(piece.byteSize());
    }
    return cost;
  }

  private void runChunk(List<Entry> chunk, Step step) {
    List<Entry> alive = new ArrayList<>(chunk.size());
    for (Entry entry : chunk) {
      if (call.isLate()) {
        entry.fail(entry.late());
      } else if (entry.isAlive()) {
        alive.add(entry);
      }
    }
    if (!alive.isEmpty()) {
      doubt = null;
      step.run(alive);
    }
  }

  /** Moves as many entries as find room in a block, from one on; returns where to go on. */
  private int runStaged(List<Entry> entries, int from, Preparation preparation, Step step) {
    Entry first = entries.get(from);
    if (!first.isOnHost()) {
      first.fail(
          Limits.refused(
              first.key,
              "its device memory has several pieces, or is not registered, and cannot be copied"));
      return from + 1;
    }
    if (first.movedBytes() > parts.staging().capacity()) {
      failTooLarge(first);
      return from + 1;
    }
    long wanted = 0;
    for (int i = from; i < entries.size() && i - from < OBJECTS; i++) {
      wanted =
          Math.min(Long.MAX_VALUE / 2, wanted + Math.min(entries.get(i).movedBytes(), 1L << 60));
    }
    Staging.Block block;
    try {
      block = parts.staging().take(first.movedBytes(), wanted, call);
    } catch (CacheException e) {
      first.fail(e.code(), String.valueOf(e.getMessage()));
      return from + 1;
    }
    if (block == null) {
      entries.subList(from, entries.size()).forEach(entry -> entry.fail(entry.late()));
      return entries.size();
    }
    boolean done = false;
    List<Entry> chunk = new ArrayList<>();
    try {
      MemorySegment room = block.segment;
      int next = from;
      long cost = 0;
      while (next < entries.size()
          && chunk.size() < OBJECTS
          && entries.get(next).movedBytes() <= room.byteSize()
          && entries.get(next).isOnHost()) {
        Entry entry = entries.get(next);
        cost += cost(entry, /* staged= */ true);
        if (next > from && cost > Window.TRANSFERS) {
          break;
        }
        next++;
        if (entry.isAlive()) {
          entry.staged = room.asSlice(0, entry.movedBytes());
          preparation.prepare(entry);
          room = room.asSlice(entry.movedBytes());
          chunk.add(entry);
        }
      }
      doubt = null;
      runChunk(chunk, step);
      done = true;
      return next;
    } finally {
      chunk.forEach(entry -> entry.staged = null);
      if (!done) {
        doubt = parts.quarantine().begin();
      }
      if (doubt == null) {
        block.free();
      } else {
        block.freeAfter(doubt.released());
      }
    }
  }

  /**
   * Fails an entry that does not fit the memory to copy through, or says that it has no such size.
   */
  private void failTooLarge(Entry entry) {
    if (entry.isRead() && !entry.isWhole()) {
      try {
        long size = parts.client().sizes(keys(List.of(entry)))[0];
        if (Answers.isAbsent(size)) {
          entry.settle(ObjectStatus.ABSENT);
        } else if (size >= 0 && !entry.fits(size)) {
          failSize(entry, size, MemoryState.UNTOUCHED);
        }
      } catch (ClientException e) {
        entry.fail(FailureCode.INTERNAL, "its size is not known: " + reason(e));
      }
    }
    entry.fail(
        FailureCode.NO_SPACE,
        "its %d bytes are more than the %d through which objects are copied; set staging to more"
            .formatted(entry.movedBytes(), parts.staging().capacity()));
  }

  // Chunks.

  private void putChunk(List<Entry> chunk) {
    List<Entry> toPut = chunk;
    List<Entry> toFind = List.of();
    for (int attempt = 1; !toPut.isEmpty() || !toFind.isEmpty(); attempt++) {
      if (attempt > 1 && !pause(attempt, toPut.isEmpty() ? LOOK_PAUSE : FIRST_PAUSE)) {
        toPut.forEach(entry -> entry.fail(entry.late()));
        toFind.forEach(entry -> entry.fail(entry.late()));
        return;
      }
      boolean again = attempt < ATTEMPTS;
      List<Entry> answered = new ArrayList<>(toFind);
      toPut = toPut.isEmpty() ? toPut : putOnce(toPut, answered, again);
      toFind = answered.isEmpty() ? answered : findOnce(answered, attempt < LOOKS);
    }
  }

  /** Waits a moment, longer each time; false if the caller has stopped waiting. */
  private boolean pause(int attempt, Duration first) {
    long end = System.nanoTime() + (first.toNanos() << (attempt - 2));
    long left;
    while (!call.isLate() && (left = end - System.nanoTime()) > 0) {
      LockSupport.parkNanos(this, Math.min(left, TimeUnit.MILLISECONDS.toNanos(20)));
    }
    return !call.isLate();
  }

  /**
   * Puts objects once.
   *
   * @param answered takes those that Mooncake says are stored
   * @return those to put again, if there is to be another time
   */
  private List<Entry> putOnce(List<Entry> chunk, List<Entry> answered, boolean again) {
    long[] answers = move(chunk, "put", parts.client()::put);
    if (answers == null) {
      return List.of();
    }
    List<Entry> left = new ArrayList<>();
    for (int i = 0; i < answers.length; i++) {
      Entry entry = chunk.get(i);
      if (answers[i] >= 0 || answers[i] == Answers.OBJECT_EXISTS) {
        answered.add(entry);
      } else if (Answers.isFull(answers[i]) && again) {
        left.add(entry);
      } else {
        fail(entry, "put", answers[i], MemoryState.UNTOUCHED);
      }
    }
    return left;
  }

  /**
   * Looks whether those are there that Mooncake says are stored: it says so too while another
   * writer is at one, or has died at it. One that is not there is not put again: it may have been
   * stored and then removed, and would be stored twice.
   *
   * @return those to look for again, if there is to be another time
   */
  private List<Entry> findOnce(List<Entry> stored, boolean again) {
    long[] there;
    try {
      there = parts.client().exists(keys(stored));
    } catch (ClientException e) {
      failUnknown(stored, e);
      return List.of();
    }
    List<Entry> missing = new ArrayList<>();
    for (int i = 0; i < there.length; i++) {
      Entry entry = stored.get(i);
      if (there[i] > 0) {
        entry.settle(ObjectStatus.OK);
      } else if (there[i] < 0) {
        fail(entry, "exists after put", there[i], MemoryState.UNTOUCHED);
      } else {
        missing.add(entry);
      }
    }
    return missing.isEmpty() ? missing : underWay(missing, again);
  }

  /**
   * Finds out by their sizes what has become of objects that are not there: only so does Mooncake
   * tell one that is being written from one that was removed.
   *
   * @return those that another writer is at, if there is to be another time
   */
  private List<Entry> underWay(List<Entry> missing, boolean again) {
    long[] sizes;
    try {
      sizes = parts.client().sizes(keys(missing));
    } catch (ClientException e) {
      failUnknown(missing, e);
      return List.of();
    }
    List<Entry> left = new ArrayList<>();
    for (int i = 0; i < sizes.length; i++) {
      Entry entry = missing.get(i);
      if (sizes[i] >= 0) {
        entry.settle(ObjectStatus.OK);
      } else if (sizes[i] == Answers.REPLICA_NOT_READY && again) {
        left.add(entry);
      } else if (sizes[i] == Answers.REPLICA_NOT_READY) {
        failNotThere(entry, "another writer is at it or has died");
      } else if (sizes[i] == Answers.OBJECT_NOT_FOUND) {
        failNotThere(entry, "it was removed or evicted at once, or its writer has given up");
      } else {
        fail(entry, "get_size after put", sizes[i], MemoryState.UNTOUCHED);
      }
    }
    return left;
  }

  private static void failNotThere(Entry entry, String why) {
    entry.fail(
        StoreFailure.of(
            FailureCode.BUSY,
            Limits.about(entry.key, "put answered 0, but it is not there: " + why)));
  }

  private static void failUnknown(List<Entry> entries, ClientException e) {
    for (Entry entry : entries) {
      entry.fail(FailureCode.INTERNAL, "it is not known whether it was stored: " + reason(e));
    }
  }

  private void getChunk(List<Entry> chunk) {
    judgeRead(chunk, "get", move(chunk, "get", parts.client()::get));
  }

  private void readChunk(OpenObjects.Opening opening, List<Entry> chunk) {
    List<String> keys = keys(chunk);
    long[] answers;
    try {
      answers = opening.renew(keys);
    } catch (ClientException e) {
      chunk.forEach(entry -> entry.fail(FailureCode.INTERNAL, "it is not held open: " + reason(e)));
      return;
    }
    BitSet over = opening.over(keys);
    List<Entry> open = new ArrayList<>(chunk.size());
    for (int i = 0; i < answers.length; i++) {
      Entry entry = chunk.get(i);
      if (over.get(i)) {
        failGone(entry, MemoryState.UNTOUCHED);
      } else if (answers[i] < 0) {
        fail(entry, "open", answers[i], MemoryState.UNTOUCHED);
      } else if (opening.isWhole(entry.key.value())) {
        onlyWhole.add(entry);
      } else {
        open.add(entry);
      }
    }
    if (open.isEmpty()) {
      return;
    }
    judgeRead(open, "read of ranges", move(open, "read of ranges", opening.client()::readRanges));
  }

  private void judgeRead(List<Entry> chunk, String what, long @Nullable [] answers) {
    if (answers == null) {
      return;
    }
    List<Entry> refused = new ArrayList<>();
    List<Entry> unmoved = new ArrayList<>();
    // What was read may be of another object, whatever Mooncake answers of what it knows by the
    // key.
    BitSet over = opening == null ? new BitSet() : opening.over(keys(chunk));
    for (int i = 0; i < answers.length; i++) {
      Entry entry = chunk.get(i);
      long answer = answers[i];
      if (over.get(i)
          || (answer == entry.movedBytes()
              && parts.removals().happened(entry.key.value(), since))) {
        failGone(entry, isInDoubt(answer) ? inDoubt(entry) : written(entry));
      } else if (answer == entry.movedBytes()) {
        if (entry.staged != null && !copyOut(entry)) {
          continue;
        }
        entry.settle(ObjectStatus.OK);
      } else if (entry.isWhole() && (answer >= 0 || answer == Answers.INVALID_PARAMS)) {
        // By its key there is an object of another size.
        failGone(entry, MemoryState.UNTOUCHED);
      } else if (answer >= 0) {
        failSize(entry, answer, written(entry));
      } else if (Answers.isAbsent(answer)) {
        entry.settle(ObjectStatus.ABSENT);
      } else if (answer == Answers.INVALID_PARAMS) {
        refused.add(entry);
      } else if (answer == Answers.TRANSFER_FAILED && entry.pieces().size() > 1) {
        // So it answers at once, too, if the pieces are larger than the object.
        unmoved.add(entry);
      } else {
        fail(entry, what, answer, written(entry));
      }
    }
    findSizes(refused, Answers.INVALID_PARAMS);
    findSizes(unmoved, Answers.TRANSFER_FAILED);
  }

  private static void failGone(Entry entry, MemoryState memory) {
    entry.fail(
        StoreFailure.of(
                FailureCode.LEASE_EXPIRED,
                Limits.about(
                    entry.key,
                    "it was removed while it was read, or the lease of its session has run out"))
            .withMemory(memory));
  }

  /** Copies what was staged to where it belongs, unless its caller has stopped waiting. */
  private boolean copyOut(Entry entry) {
    if (call.isLate()) {
      entry.fail(entry.late());
      return false;
    }
    if (!entry.isAlive()) {
      return false;
    }
    entry.copyOut();
    if (opening != null && entry.isWhole()) {
      opening.wasRead(entry.key.value(), requireNonNull(entry.staged), wholesSince);
    }
    return true;
  }

  /** What a call that wrote to the memory it was given has done to that of the caller. */
  private static MemoryState written(Entry entry) {
    return entry.staged == null ? MemoryState.DIRTY : MemoryState.UNTOUCHED;
  }

  /**
   * Finds out whether Mooncake did not read objects because their targets do not fit, and whether
   * objects are there that are to be read into no memory at all.
   *
   * @param number what it answered
   */
  private void findSizes(List<Entry> refused, long number) {
    if (refused.isEmpty()) {
      return;
    }
    long[] sizes;
    try {
      sizes = parts.client().sizes(keys(refused));
    } catch (ClientException e) {
      refused.forEach(entry -> fail(entry, "get", number, MemoryState.UNTOUCHED));
      return;
    }
    for (int i = 0; i < sizes.length; i++) {
      Entry entry = refused.get(i);
      if (Answers.isAbsent(sizes[i]) && number == Answers.INVALID_PARAMS) {
        entry.settle(ObjectStatus.ABSENT);
      } else if (sizes[i] < 0) {
        fail(entry, "get", number, MemoryState.UNTOUCHED);
      } else if (!entry.fits(sizes[i])) {
        failSize(entry, sizes[i], MemoryState.UNTOUCHED);
      } else {
        fail(entry, "get", number, MemoryState.UNTOUCHED);
      }
    }
  }

  private static void failSize(Entry entry, long size, MemoryState memory) {
    entry.fail(
        StoreFailure.of(
                FailureCode.SIZE_MISMATCH,
                Limits.about(
                    entry.key,
                    "it has %d bytes, which do not fit the %d that were asked for"
                        .formatted(size, entry.size())))
            .withMemory(memory));
  }

  /** A call to Mooncake that moves a chunk. */
  private interface Mover {
    long[] move(Transfer transfer) throws ClientException;
  }

  /**
   * Has Mooncake move a chunk when it is its turn.
   *
   * @return its answers, or null if all entries have failed
   */
  private long @Nullable [] move(List<Entry> chunk, String what, Mover mover) {
    Transfer transfer = new Transfer(chunk.size(), chunk.size());
    long cost = 0;
    for (Entry entry : chunk) {
      cost += cost(entry, entry.staged != null);
      if (opening != null) {
        entry.addRangesTo(transfer);
      } else {
        entry.addWholeTo(transfer);
      }
    }
    long turn = parts.window().enter(cost, call);
    if (turn == 0) {
      chunk.forEach(entry -> entry.fail(entry.late()));
      return null;
    }
    long began = System.nanoTime();
    try {
      long[] answers = mover.move(transfer);
      if (answers.length == chunk.size()) {
        return answers;
      }
      throw new ClientException(
          "%d answers for %d objects".formatted(answers.length, chunk.size()));
    } catch (ClientException e) {
      for (Entry entry : chunk) {
        entry.fail(
            StoreFailure.of(
                    FailureCode.INTERNAL, Limits.about(entry.key, what + " failed: " + reason(e)))
                .withMemory(inDoubt(entry)));
      }
      return null;
    } finally {
      movedNanos = System.nanoTime() - began;
      parts.window().leave(turn);
    }
  }

  private static String reason(ClientException e) {
    return String.valueOf(e.getMessage());
  }

  /** Tells whether Mooncake may still be at memory: if it has waited for a transfer in vain. */
  private boolean isInDoubt(long number) {
    return number == Answers.TRANSFER_FAILED && movedNanos > LEAST_WAIT_NANOS;
  }

  private void fail(Entry entry, String what, long number, MemoryState memory) {
    entry.failAnswered(what, number, isInDoubt(number) ? inDoubt(entry) : memory);
  }

  /**
   * Says that Mooncake may still be at the memory it was given; returns the state of the caller's.
   */
  private MemoryState inDoubt(Entry entry) {
    MemoryState.InUse inUse = doubt;
    if (inUse == null) {
      inUse = parts.quarantine().begin();
      doubt = inUse;
    }
    if (entry.staged != null) {
      return MemoryState.UNTOUCHED;
    }
    call.keepInUse(inUse.released());
    return inUse;
  }

  private static List<String> keys(List<Entry> entries) {
    List<String> keys = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      keys.add(entry.key.value());
    }
    return keys;
  }
}
