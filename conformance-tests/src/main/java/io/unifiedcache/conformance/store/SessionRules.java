package io.unifiedcache.conformance.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The rule of sessions: objects that are held open and read range by range. */
public final class SessionRules {
  private static final long LONGEST_NAP = TimeUnit.MILLISECONDS.toNanos(20);

  private SessionRules() {}

  @Rule(
      id = "store.session",
      scope = Scope.STORE,
      needs = Capability.RANGED_READ,
      text =
          "A session resolves each key once; ranged reads return exactly the range; past the end is"
              + " a mismatch; an entry that the session has not is refused; the size of each object"
              + " is told, as it was when it was opened; an object removed meanwhile is read whole"
              + " or FAILED; close releases; use after close is refused.",
      hint =
          "Look keys up when the session is opened and never again, check each range against the"
              + " size of its object, and remember that the session was closed.")
  static void session(Trial trial) {
    long bytes = Math.min(10_000, trial.limits().objectBytes());
    Attempts.at(trial, "ranges", name -> ranges(trial, trial.key(name), bytes));
    if (bytes > 1) {
      Attempts.at(trial, "end", name -> pastTheEnd(trial, trial.key(name), bytes));
    }
    Attempts.at(trial, "size", name -> sizes(trial, name, bytes));
    resolvesOnce(trial, trial.key("put-later"), bytes);
    noSuchEntry(trial, trial.key("alone"), bytes);
    Attempts.at(trial, "closed", name -> afterClose(trial, trial.key(name), bytes));
    if (trial.has(Capability.REMOVE)) {
      Attempts.at(trial, "removed", name -> removedMeanwhile(trial, trial.key(name), bytes));
      Attempts.at(trial, "released", name -> closeReleases(trial, trial.key(name), bytes));
    }
  }

  private static void ranges(Trial trial, ObjectKey key, long bytes) {
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    try (ReadSession session = open(trial, key)) {
      expectRange(trial, session, content, 0, bytes);
      expectRange(trial, session, content, 0, 1);
      expectRange(trial, session, content, bytes - 1, 1);
      expectRange(trial, session, content, 0, 0);
      for (int i = 0; i < trial.effort().rounds(100); i++) {
        long offset = trial.random().nextLong(bytes);
        expectRange(trial, session, content, offset, 1 + trial.random().nextLong(bytes - offset));
        expectRanges(trial, session, content, bytes);
      }
    }
  }

  private static void expectRange(
      Trial trial, ReadSession session, Content content, long offset, long length) {
    Pieces target = Pieces.of(trial, length);
    String what = "read of " + length + " bytes at " + offset;
    trial.expectStatus(what, read(trial, session, target, offset), 0, ObjectStatus.OK);
    target.expectBytes("a " + what, content, offset);
  }

  /** Several ranges of one entry: in any order, apart, touching or overlapping. */
  private static void expectRanges(Trial trial, ReadSession session, Content content, long bytes) {
    int count = Math.min(5, trial.limits().pieces());
    List<Pieces> targets = new ArrayList<>();
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long offset = trial.random().nextLong(bytes);
      targets.add(Pieces.of(trial, trial.random().nextLong(bytes - offset + 1)));
      ranges.add(new Range(offset, targets.get(i).writable().getFirst()));
    }
    BatchResult read = session.read(List.of(new ReadOp(0, ranges)), trial.soon());
    trial.expectStatus("read of " + count + " ranges", read, 0, ObjectStatus.OK);
    for (int i = 0; i < count; i++) {
      targets
          .get(i)
          .expectBytes("range " + i + " of a read", content, ranges.get(i).objectOffset());
    }
  }

  private static void pastTheEnd(Trial trial, ObjectKey key, long bytes) {
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    try (ReadSession session = open(trial, key)) {
      for (long[] range :
          new long[][] {{0, bytes + 1}, {1, bytes}, {bytes - 1, 2}, {bytes, 1}, {bytes + 1, 1}}) {
        Pieces target = Pieces.of(trial, range[1]);
        String what =
            "read of %d bytes at %d of an object of %d".formatted(range[1], range[0], bytes);
        trial.expectFailure(
            what, read(trial, session, target, range[0]), 0, FailureCode.SIZE_MISMATCH);
        target.expectUntouchedFrom("a " + what, Math.max(0, bytes - range[0]));
      }
      // A failure ends nothing.
      expectRange(trial, session, content, 0, bytes);
    }
  }

  /** Entries in an order of their own, so that a size is not told of a neighbour. */
  private static void sizes(Trial trial, String name, long bytes) {
    List<Long> expected = new ArrayList<>(List.of(bytes, 1L, Math.max(1, bytes - 1)));
    List<ObjectKey> keys = new ArrayList<>();
    for (int i = 0; i < expected.size(); i++) {
      keys.add(trial.key(name + "-" + i));
      trial.put(trial.store(), keys.get(i), new Content(i), expected.get(i));
    }
    if (trial.limits().batch() > keys.size()) {
      keys.add(1, trial.key(name + "-absent"));
      expected.add(1, -1L);
    }
    int limit = Math.min(trial.limits().batch(), keys.size());
    try (ReadSession session = trial.store().openSession(keys.subList(0, limit), trial.soon())) {
      for (int i = 0; i < limit; i++) {
        if (expected.get(i) >= 0) {
          Attempts.expectOk(trial, "opening an object that was put", session.opened(), i);
        }
        expectSize(trial, session, i, expected.get(i), "entry " + i);
      }
      if (trial.has(Capability.REMOVE)
          && trial
              .store()
              .remove(keys.subList(0, 1), /* evenIfLeased= */ true, trial.soon())
              .isOk(0)) {
        trial.put(trial.store(), keys.get(0), new Content(9), Math.max(1, bytes / 2));
        expectSize(trial, session, 0, bytes, "an object that was put anew since it was opened");
      }
    }
  }

  private static void expectSize(
      Trial trial, ReadSession session, int entry, long expected, String what) {
    long size = session.size(entry);
    trial.expect(
        size == expected,
        "the session to say that the size of " + what + " is " + expected,
        () -> Long.toString(size));
  }

  /** Needs no remove: a key that was absent when the session was opened stays so. */
  private static void resolvesOnce(Trial trial, ObjectKey key, long bytes) {
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      trial.expectStatus("opening an absent key", session.opened(), 0, ObjectStatus.ABSENT);
      trial.put(trial.store(), key, new Content(1), bytes);
      Pieces target = Pieces.of(trial, bytes);
      BatchResult read = read(trial, session, target, 0);
      trial.expectStatus(
          "read of a key that was put after it was opened", read, 0, ObjectStatus.ABSENT);
      target.expectUntouched("a read of a key that was put after it was opened");
      trial.expectStatus(
          "opened() after the key was put", session.opened(), 0, ObjectStatus.ABSENT);
    }
  }

  private static void noSuchEntry(Trial trial, ObjectKey key, long bytes) {
    trial.put(trial.store(), key, new Content(1), bytes);
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      for (int entry : new int[] {1, 2, Integer.MAX_VALUE}) {
        Pieces target = Pieces.of(trial, bytes);
        Range range = new Range(0, target.writable().getFirst());
        ReadOp read = new ReadOp(entry, List.of(range));
        String what = "read of entry " + entry + " of a session of one key";
        trial.expectFailure(
            what, session.read(List.of(read), trial.soon()), 0, FailureCode.REFUSED);
        target.expectUntouched("a " + what);
      }
    }
  }

  private static void removedMeanwhile(Trial trial, ObjectKey key, long bytes) {
    Content old = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, old, bytes);
    try (ReadSession session = open(trial, key)) {
      BatchResult removed =
          trial.store().remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
      if (!removed.isOk(0)) {
        trial.note("remove of an object that is held answers " + Trial.describe(removed, 0));
        return;
      }
      expectOldOrFailed(trial, session, old, bytes, "was removed");
      trial.put(trial.store(), key, new Content(trial.random().nextLong()), bytes);
      expectOldOrFailed(trial, session, old, bytes, "was removed and put anew");
    }
  }

  private static void expectOldOrFailed(
      Trial trial, ReadSession session, Content old, long bytes, String became) {
    Pieces target = Pieces.of(trial, bytes);
    BatchResult read = read(trial, session, target, 0);
    trial.expectStatus(
        "read of an object that " + became + " since it was opened",
        read,
        0,
        ObjectStatus.OK,
        ObjectStatus.FAILED);
    if (read.isOk(0)) {
      target.expectBytes("an object that " + became + " since it was opened", old, 0);
    }
  }

  private static void closeReleases(Trial trial, ObjectKey key, long bytes) {
    trial.put(trial.store(), key, new Content(1), bytes);
    open(trial, key).close();
    Duration lease = trial.limits().busy();
    if (trial.subject().clock().isPresent()) {
      trial.subject().clock().get().accept(lease);
      lease = Duration.ZERO;
    }
    long end = System.nanoTime() + lease.toNanos();
    BatchResult removed;
    boolean late;
    do {
      late = System.nanoTime() - end > 0;
      removed = trial.store().remove(List.of(key), /* evenIfLeased= */ false, trial.soon());
      if (isBusy(removed)) {
        LockSupport.parkNanos(Math.min(LONGEST_NAP, lease.toNanos() / 8));
      }
    } while (!late && isBusy(removed));
    trial.expectStatus(
        "remove after the session is closed and the lease over",
        removed,
        0,
        ObjectStatus.OK,
        ObjectStatus.ABSENT);
  }

  private static boolean isBusy(BatchResult result) {
    return result.status(0) == ObjectStatus.FAILED && result.failure(0).code() == FailureCode.BUSY;
  }

  private static void afterClose(Trial trial, ObjectKey key, long bytes) {
    trial.put(trial.store(), key, new Content(1), bytes);
    ReadSession session = open(trial, key);
    session.close();
    session.close();
    Pieces target = Pieces.of(trial, bytes);
    trial.expectRefused(
        "read after close", FailureCode.CLOSED, () -> read(trial, session, target, 0));
    target.expectUntouched("a read after close");
    trial.expectRefused("opened() after close", FailureCode.CLOSED, session::opened);
    trial.expectRefused("size() after close", FailureCode.CLOSED, () -> session.size(0));
  }

  private static ReadSession open(Trial trial, ObjectKey key) {
    ReadSession session = trial.store().openSession(List.of(key), trial.soon());
    Attempts.expectOk(trial, "opening an object that was put", session.opened(), 0);
    return session;
  }

  private static BatchResult read(Trial trial, ReadSession session, Pieces target, long offset) {
    Range range = new Range(offset, target.writable().getFirst());
    return session.read(List.of(new ReadOp(0, List.of(range))), trial.soon());
  }
}
