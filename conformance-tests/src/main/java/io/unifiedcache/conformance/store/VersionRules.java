package io.unifiedcache.conformance.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import io.unifiedcache.conformance.subject.FaultInjector;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The rules of one key that is put more than once: which bytes it has, and when. */
public final class VersionRules {
  private static final int WRITERS = 3;
  private static final int READERS = 2;

  private VersionRules() {}

  @Rule(
      id = "store.first-wins",
      scope = Scope.STORE,
      text =
          "A put of a key that is there leaves the first bytes and says PRESENT (OK without"
              + " REPORTS_PRESENT); under races every reader sees one complete version or none, and"
              + " once the writers have finished all readers agree on one.",
      hint =
          "Make an object findable in one atomic step that fails if there is one of its key"
              + " already.")
  static void firstWins(Trial trial) {
    Attempts.at(trial, "again", name -> putAgain(trial, trial.key(name)));
    for (int i = 0; i < trial.effort().rounds(40); i++) {
      Attempts.at(trial, "race" + i, name -> race(trial, trial.key(name)));
    }
  }

  private static void putAgain(Trial trial, ObjectKey key) {
    long bytes = Math.min(5000, trial.limits().objectBytes());
    Content first = new Content(trial.random().nextLong());
    long evicted = evicted(trial);
    trial.put(trial.store(), key, first, bytes);
    for (long size : new long[] {bytes, Math.max(1, bytes / 2), bytes}) {
      expectVersion(trial, key, first, bytes, evicted);
      Content later = new Content(trial.random().nextLong());
      BatchResult put =
          trial
              .store()
              .put(List.of(new PutOp(key, List.of(trial.memory(size, later)))), trial.soon());
      if (put.isOk(0) && trial.has(Capability.REPORTS_PRESENT)) {
        throw broken(
            trial, evicted, "put of a key that is there to answer PRESENT", "it answered OK");
      }
      trial.expectStatus(
          "put of a key that is there", put, 0, ObjectStatus.PRESENT, ObjectStatus.OK);
    }
    expectVersion(trial, key, first, bytes, evicted);
  }

  private static void expectVersion(
      Trial trial, ObjectKey key, Content content, long bytes, long evicted) {
    HostMemory target = trial.memory(bytes);
    BatchResult got = trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
    Attempts.requireThere("get of a key that was put", got, 0);
    Optional<String> difference =
        got.isOk(0) ? content.difference(target.segment(), 0) : Optional.of(Trial.describe(got, 0));
    if (difference.isPresent()) {
      throw broken(
          trial, evicted, "a key that is put again to keep its first bytes", difference.get());
    }
  }

  /** Writers of different bytes, and readers that see the versions come. */
  private static void race(Trial trial, ObjectKey key) {
    long bytes = Math.min(64 << 10, trial.limits().objectBytes());
    List<Content> versions = List.of(new Content(0x1001), new Content(0x2002), new Content(0x3003));
    long evicted = evicted(trial);
    CountDownLatch ready = new CountDownLatch(WRITERS + READERS);
    AtomicInteger writing = new AtomicInteger(WRITERS);
    Queue<Content> seen = new ConcurrentLinkedQueue<>();
    trial.together(
        WRITERS + READERS,
        number -> {
          HostMemory memory = trial.memory(bytes);
          meet(ready);
          if (number < WRITERS) {
            try {
              versions.get(number).fill(memory.segment(), 0);
              BatchResult put =
                  trial.store().put(List.of(new PutOp(key, List.of(memory))), trial.soon());
              trial.expectStatus("put in a race", put, 0, ObjectStatus.OK, ObjectStatus.PRESENT);
            } finally {
              writing.decrementAndGet();
            }
          } else {
            boolean last;
            do {
              last = writing.get() == 0;
              readVersion(trial, key, versions, memory).ifPresent(seen::add);
            } while (!last);
          }
        });
    HostMemory memory = trial.memory(bytes);
    Content winner =
        readVersion(trial, key, versions, memory)
            .orElseThrow(() -> Attempts.gone("a key that was put in a race to be there"));
    for (Content each : seen) {
      if (!each.equals(winner)) {
        throw broken(
            trial,
            evicted,
            "a key that was read in a race to keep the bytes of writer " + versions.indexOf(each),
            "later it has those of writer " + versions.indexOf(winner));
      }
    }
  }

  private static void meet(CountDownLatch all) throws InterruptedException {
    all.countDown();
    if (!all.await(Trial.PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      throw new IllegalStateException("the threads of the rule did not start");
    }
  }

  /** Returns which version a reader sees, if any. */
  private static Optional<Content> readVersion(
      Trial trial, ObjectKey key, List<Content> versions, HostMemory memory) {
    memory.segment().fill((byte) 0);
    BatchResult got = trial.store().get(List.of(new GetOp(key, List.of(memory))), trial.soon());
    if (!isOkNow(trial, "get in a race", got)) {
      return Optional.empty();
    }
    for (Content each : versions) {
      if (each.difference(memory.segment(), 0).isEmpty()) {
        return Optional.of(each);
      }
    }
    throw new Violation(
        "a reader in a race to see one complete version",
        "bytes of none, beginning with 0x%02x"
            .formatted(memory.segment().get(ValueLayout.JAVA_BYTE, 0)));
  }

  /** Tells whether a reader was served; it may find nothing yet, or fail for the moment. */
  private static boolean isOkNow(Trial trial, String what, BatchResult result) {
    boolean passes =
        result.status(0) == ObjectStatus.FAILED
            && result.failure(0).retryable()
            && result.failure(0).code() != FailureCode.SIZE_MISMATCH
            && result.failure(0).code() != FailureCode.CORRUPT;
    if (!passes) {
      trial.expectStatus(what, result, 0, ObjectStatus.OK, ObjectStatus.ABSENT);
    }
    return result.isOk(0);
  }

  private static long evicted(Trial trial) {
    return trial.store().stats().evicted();
  }

  /** Only an eviction excuses that the bytes of a key have changed. */
  private static RuntimeException broken(
      Trial trial, long evictedBefore, String expected, String observed) {
    boolean mayEvict = evictedBefore == StoreStats.UNKNOWN || evicted(trial) != evictedBefore;
    if (trial.has(Capability.SHARED) || (trial.has(Capability.BOUNDED) && mayEvict)) {
      return Attempts.gone(expected);
    }
    throw new Violation(expected, observed);
  }

  @Rule(
      id = "store.reports-present",
      scope = Scope.STORE,
      needs = Capability.REPORTS_PRESENT,
      text = "A put of a key that is there says PRESENT.",
      hint = "Tell a put that has stored its bytes from one that found others in its place.")
  static void reportsPresent(Trial trial) {
    Attempts.at(
        trial,
        "there",
        name -> {
          ObjectKey key = trial.key(name);
          trial.put(trial.store(), key, new Content(1), 1);
          long evicted = evicted(trial);
          BatchResult there = trial.store().exists(List.of(key), trial.soon());
          Attempts.expectOk(trial, "exists of an object that was put", there, 0);
          PutOp again = new PutOp(key, List.of(trial.memory(1, new Content(1))));
          BatchResult put = trial.store().put(List.of(again), trial.soon());
          if (put.isOk(0)) {
            throw broken(trial, evicted, "a second put to answer PRESENT", "it answered OK");
          }
          trial.expectStatus("a second put", put, 0, ObjectStatus.PRESENT);
        });
  }

  @Rule(
      id = "store.atomic-visibility",
      scope = Scope.STORE,
      text =
          "A reader sees a whole object or none, whatever a concurrent put, failed put, eviction or"
              + " crash does.",
      hint =
          "Make an object findable only after its last byte is in place, and let nothing of a put"
              + " that fails be found.")
  static void atomicVisibility(Trial trial) {
    long bytes = Math.min(512 << 10, trial.limits().objectBytes());
    for (int i = 0; i < trial.effort().rounds(40); i++) {
      Content content = new Content(trial.random().nextLong());
      Attempts.at(trial, "put" + i, name -> readDuringPut(trial, trial.key(name), content, bytes));
    }
    for (int i = 0; i < trial.effort().rounds(40); i++) {
      Content content = new Content(trial.random().nextLong());
      Duration time = Duration.ofNanos(i == 0 ? 0 : trial.random().nextLong(500_000));
      putInTooLittleTime(trial, trial.key("late" + i), content, bytes, time);
    }
  }

  private static void readDuringPut(Trial trial, ObjectKey key, Content content, long bytes) {
    CountDownLatch ready = new CountDownLatch(1 + READERS);
    CountDownLatch done = new CountDownLatch(1);
    trial.together(
        1 + READERS,
        number -> {
          if (number == 0) {
            try {
              HostMemory source = trial.memory(bytes, content);
              meet(ready);
              BatchResult put =
                  trial.store().put(List.of(new PutOp(key, List.of(source))), trial.soon());
              trial.expectStatus("put of " + bytes + " bytes", put, 0, ObjectStatus.OK);
            } finally {
              done.countDown();
            }
            return;
          }
          meet(ready);
          HostMemory target = trial.memory(bytes);
          boolean last;
          do {
            last = done.getCount() == 0;
            if (number % 2 == 0 && trial.has(Capability.RANGED_READ)) {
              expectWholeInSession(trial, key, content, target);
            } else {
              expectWhole(trial, key, content, target);
            }
          } while (!last);
        });
  }

  private static void expectWhole(Trial trial, ObjectKey key, Content content, HostMemory target) {
    BatchResult exists = trial.store().exists(List.of(key), trial.soon());
    BatchResult got = trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
    if (isOkNow(trial, "get while the object is put", got)) {
      trial.expectBytes("an object that a reader sees while it is put", content, target, 0);
    } else if (isOkNow(trial, "exists while the object is put", exists)
        && got.status(0) == ObjectStatus.ABSENT) {
      throw Attempts.gone("an object that exists while it is put to be readable");
    }
  }

  private static void expectWholeInSession(
      Trial trial, ObjectKey key, Content content, HostMemory target) {
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      if (isOkNow(trial, "open while the object is put", session.opened())) {
        ReadOp op = new ReadOp(0, List.of(new Range(0, target)));
        BatchResult read = session.read(List.of(op), trial.soon());
        if (isOkNow(trial, "read while the object is put", read)) {
          trial.expectBytes("an object that is read while it is put", content, target, 0);
        }
      }
    }
  }

  private static void putInTooLittleTime(
      Trial trial, ObjectKey key, Content content, long bytes, Duration time) {
    HostMemory memory = trial.memory(bytes, content);
    PutOp op = new PutOp(key, List.of(memory));
    BatchResult put = trial.store().put(List.of(op), Deadline.after(time));
    HostMemory target = trial.memory(bytes);
    String what = "an object whose put within " + time + " is " + Trial.describe(put, 0);
    BatchResult got = trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
    if (isOkNow(trial, "get of " + what, got)) {
      trial.expectBytes(what, content, target, 0);
    }
    if (put.status(0) == ObjectStatus.FAILED
        && put.failure(0).memory() instanceof io.unifiedcache.api.MemoryState.InUse) {
      return;
    }
    // Whatever became of it stands in nobody's way.
    BatchResult again = trial.store().put(List.of(op), trial.soon());
    trial.expectStatus("a further put of " + what, again, 0, ObjectStatus.OK, ObjectStatus.PRESENT);
  }

  @Rule(
      id = "store.restore-anew",
      scope = Scope.STORE,
      needs = Capability.REMOVE,
      text =
          "A remove with evenIfLeased drops an object that was seen corrupt or of the wrong size,"
              + " and it can be stored anew and is then read right by everyone.",
      hint =
          "Let a forced remove end leases, and forget whatever is cached of the object: its size,"
              + " its place, its checksum.")
  static void restoreAnew(Trial trial) {
    long bytes = Math.min(5000, trial.limits().objectBytes());
    Attempts.at(
        trial,
        "wrong-size",
        name -> {
          ObjectKey key = trial.key(name);
          trial.put(trial.store(), key, new Content(1), Math.max(1, bytes / 2));
          HostMemory target = trial.memory(bytes);
          BatchResult got =
              trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
          Attempts.requireThere("get of an object of the wrong size", got, 0);
          if (bytes > 1) {
            trial.expectFailure(
                "get of an object of the wrong size", got, 0, FailureCode.SIZE_MISMATCH);
          }
          if (trial.has(Capability.RANGED_READ)) {
            // Somebody else still reads what is to go.
            try (ReadSession held = trial.store().openSession(List.of(key), trial.soon())) {
              Attempts.expectOk(trial, "opening an object", held.opened(), 0);
              storeAnew(trial, key, bytes);
            }
          } else {
            storeAnew(trial, key, bytes);
          }
        });
    Optional<FaultInjector> faults = trial.subject().faults();
    if (faults.isEmpty()) {
      trial.note("tried on an object of the wrong size only, since no faults can be injected");
      return;
    }
    for (FaultInjector.Fault fault : FaultInjector.Fault.values()) {
      Attempts.at(trial, fault.name(), name -> repair(trial, trial.key(name), fault, faults.get()));
    }
  }

  private static void repair(
      Trial trial, ObjectKey key, FaultInjector.Fault fault, FaultInjector faults) {
    long bytes = Math.min(5000, trial.limits().objectBytes());
    trial.put(trial.store(), key, new Content(1), bytes);
    BatchResult there = trial.store().exists(List.of(key), trial.soon());
    Attempts.expectOk(trial, "exists of an object that was put", there, 0);
    if (faults.inject(fault, key)) {
      HostMemory target = trial.memory(bytes);
      BatchResult seen = trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
      trial.note(fault + ": get answers " + seen.status(0));
      storeAnew(trial, key, bytes);
    }
  }

  private static void storeAnew(Trial trial, ObjectKey key, long bytes) {
    BatchResult removed =
        trial.store().remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
    trial.expectStatus(
        "remove of a bad object even if it is leased",
        removed,
        0,
        ObjectStatus.OK,
        ObjectStatus.ABSENT);
    BatchResult exists = trial.store().exists(List.of(key), trial.soon());
    trial.expectStatus("exists of a bad object that was removed", exists, 0, ObjectStatus.ABSENT);
    Content anew = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, anew, bytes);
    trial.together(
        READERS,
        number -> {
          HostMemory target = trial.memory(bytes);
          GetOp op = new GetOp(key, List.of(target));
          BatchResult got = trial.store().get(List.of(op), trial.soon());
          Attempts.expectOk(trial, "get of an object that was stored anew", got, 0);
          trial.expectBytes("an object that was stored anew", anew, target, 0);
        });
    if (trial.has(Capability.RANGED_READ)) {
      HostMemory target = trial.memory(bytes);
      try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
        Attempts.expectOk(trial, "opening an object stored anew", session.opened(), 0);
        ReadOp op = new ReadOp(0, List.of(new Range(0, target)));
        BatchResult read = session.read(List.of(op), trial.soon());
        trial.expectStatus("read of an object stored anew", read, 0, ObjectStatus.OK);
        trial.expectBytes("a read of an object stored anew", anew, target, 0);
      }
    }
  }
}
