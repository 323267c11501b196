package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
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
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** The rules of what goes wrong: it is told in time, truly, and never taken for success. */
public final class FailureRules {
  /** What a busy machine may add to the grace of a store. */
  private static final Duration SLACK = Duration.ofSeconds(2);

  private FailureRules() {}

  // Nothing that goes wrong is taken for success.

  @Rule(
      id = "store.failed-is-not-ok",
      scope = Scope.STORE,
      alone = true,
      text =
          "Whatever goes wrong below (short read, truncation, flipped bit, no space, lost lease,"
              + " dead peer), the entry is not OK; no byte count, hit or metric counts it.",
      hint =
          "Set OK and count after the last byte is seen to be right, and check how many bytes a"
              + " read has brought and whether they are those that were stored.")
  static void failedIsNotOk(Trial trial) {
    long bytes = Math.min(5000, trial.limits().objectBytes());
    Attempts.at(trial, "refused", name -> refusedIsNotOk(trial, trial.key(name), bytes));
    Optional<FaultInjector> faults = trial.subject().faults();
    if (faults.isEmpty()) {
      trial.note("tried without faults below the store, since none can be injected");
      return;
    }
    for (FaultInjector.Fault fault : FaultInjector.Fault.values()) {
      Attempts.at(
          trial,
          fault.name(),
          name -> faultIsNotOk(trial, trial.key(name), bytes, fault, faults.get()));
    }
  }

  private static void refusedIsNotOk(Trial trial, ObjectKey key, long bytes) {
    CacheStore store = trial.store();
    trial.put(store, key, new Content(1), bytes);
    StoreStats before = store.stats();
    Pieces larger = Pieces.of(trial, bytes + 1);
    BatchResult got = store.get(List.of(new GetOp(key, larger.writable())), trial.soon());
    Attempts.requireThere("get into a target that is too large", got, 0);
    trial.expectStatus("get into a target that is too large", got, 0, ObjectStatus.FAILED);
    if (trial.has(Capability.RANGED_READ)) {
      try (ReadSession session = store.openSession(List.of(key), trial.soon())) {
        BatchResult read = session.read(List.of(whole(0, larger)), trial.soon());
        Attempts.requireThere("read past the end", read, 0);
        trial.expectStatus("read past the end", read, 0, ObjectStatus.FAILED);
      }
    }
    expectNotCounted(trial, before, store.stats(), "a read that failed");
  }

  private static void faultIsNotOk(
      Trial trial, ObjectKey key, long bytes, FaultInjector.Fault fault, FaultInjector faults) {
    CacheStore store = trial.store();
    Content content = new Content(trial.random().nextLong());
    ObjectKey neighbour = trial.key(key.value().substring(trial.prefix().value().length()) + "-n");
    trial.put(store, key, content, bytes);
    trial.put(store, neighbour, content, bytes);
    BatchResult there = store.exists(List.of(key), trial.soon());
    Attempts.expectOk(trial, "exists of an object that was put", there, 0);
    if (!faults.inject(fault, key)) {
      trial.note(fault + " cannot be injected");
      return;
    }
    StoreStats before = store.stats();
    Pieces target = Pieces.of(trial, bytes);
    BatchResult got = store.get(List.of(new GetOp(key, target.writable())), trial.soon());
    expectNotTakenForRight("get", fault, got, 0, content, target);
    boolean failed = !got.isOk(0);
    if (trial.has(Capability.RANGED_READ)) {
      target.reset();
      try (ReadSession session = store.openSession(List.of(key), trial.soon())) {
        BatchResult read = session.read(List.of(whole(0, target)), trial.soon());
        expectNotTakenForRight("read", fault, read, 0, content, target);
        failed &= !read.isOk(0);
      }
    }
    if (failed) {
      expectNotCounted(trial, before, store.stats(), "a read of an object after " + fault);
    }
    if (trial.limits().batch() > 1) {
      target.reset();
      Pieces other = Pieces.of(trial, bytes);
      BatchResult both =
          store.get(
              List.of(new GetOp(key, target.writable()), new GetOp(neighbour, other.writable())),
              trial.soon());
      expectNotTakenForRight("get in a batch", fault, both, 0, content, target);
      Attempts.expectOk(trial, "get of the neighbour of an object after " + fault, both, 1);
      other.expectBytes("the neighbour of an object after " + fault, content, 0);
    }
  }

  private static ReadOp whole(int entry, Pieces target) {
    return new ReadOp(entry, List.of(new Range(0, target.writable().getFirst())));
  }

  /** It may be OK all the same: the store may have another copy. */
  private static void expectNotTakenForRight(
      String call,
      FaultInjector.Fault fault,
      BatchResult result,
      int i,
      Content content,
      Pieces target) {
    if (result.isOk(i)) {
      target.expectBytes("a " + call + " that is OK after " + fault, content, 0);
    }
  }

  private static void expectNotCounted(
      Trial trial, StoreStats before, StoreStats after, String what) {
    trial.expect(
        after.found() <= before.found()
            && after.bytesRead() <= before.bytesRead()
            && after.stored() <= before.stored()
            && after.bytesStored() <= before.bytesStored(),
        "nothing that was found, read or stored to be counted for " + what,
        () ->
            "found went from %d to %d, bytesRead from %d to %d, stored from %d to %d, bytesStored from %d to %d"
                .formatted(
                    before.found(),
                    after.found(),
                    before.bytesRead(),
                    after.bytesRead(),
                    before.stored(),
                    after.stored(),
                    before.bytesStored(),
                    after.bytesStored()));
  }

  // What a failure says of the object.

  @Rule(
      id = "store.failure-codes",
      scope = Scope.STORE,
      alone = true,
      text =
          "The code of a failure says where the fault lies: an object whose stored bytes are"
              + " damaged is CORRUPT, SIZE_MISMATCH or ABSENT, and nothing else is CORRUPT or"
              + " SIZE_MISMATCH; a call that ran out of time, and a read of an object that was"
              + " removed, may be tried again.",
      hint =
          "A linker removes an object that is CORRUPT or of the wrong size, even while others read"
              + " it, and stores it anew. So say CORRUPT only after the stored bytes were seen to"
              + " be wrong, and always then; IO, TIMEOUT and UNREACHABLE say nothing about an"
              + " object.")
  static void failureCodes(Trial trial) {
    long bytes = Math.min(5000, trial.limits().objectBytes());
    Attempts.at(trial, "late", name -> lateIsNoProof(trial, trial.key(name), bytes));
    if (trial.has(Capability.RANGED_READ) && trial.has(Capability.REMOVE)) {
      Attempts.at(trial, "removed", name -> removedIsNoProof(trial, trial.key(name), bytes));
    }
    Optional<FaultInjector> faults = trial.subject().faults();
    if (faults.isEmpty()) {
      trial.note("tried without faults below the store, since none can be injected");
      return;
    }
    for (FaultInjector.Fault fault : FaultInjector.Fault.values()) {
      Attempts.at(
          trial,
          fault.name(),
          name -> faultIsProof(trial, trial.key(name), bytes, fault, faults.get()));
    }
    ObjectKey key = trial.key("stalled");
    trial.put(trial.store(), key, new Content(1), bytes);
    FaultInjector.Stall stall = faults.get().stall();
    if (stall == null) {
      trial.note("tried without a stall below the store, since none can be brought about");
      return;
    }
    GetOp op = new GetOp(key, Pieces.of(trial, bytes).writable());
    Duration time = Duration.ofMillis(50);
    Future<BatchResult> got;
    try (stall) {
      got = trial.start("get", () -> trial.store().get(List.of(op), Deadline.after(time)));
      // Whether it returns in time is what another rule asks.
      boolean unused = isDone(got, time.plus(trial.limits().grace()).plus(SLACK).toNanos());
    }
    expectPassing(trial, "get while everything below the store stalls", trial.await("get", got));
  }

  private static void lateIsNoProof(Trial trial, ObjectKey key, long bytes) {
    CacheStore store = trial.store();
    Content content = new Content(trial.random().nextLong());
    trial.put(store, key, content, bytes);
    Pieces target = Pieces.of(trial, bytes);
    GetOp op = new GetOp(key, target.writable());
    expectPassing(
        trial, "get after its deadline", store.get(List.of(op), Deadline.after(Duration.ZERO)));
    BatchResult again = store.get(List.of(op), trial.soon());
    Attempts.expectOk(trial, "get of what was met too late", again, 0);
    target.expectBytes("an object that was met too late", content, 0);
  }

  private static void removedIsNoProof(Trial trial, ObjectKey key, long bytes) {
    CacheStore store = trial.store();
    trial.put(store, key, new Content(1), bytes);
    try (ReadSession session = store.openSession(List.of(key), trial.soon())) {
      Attempts.expectOk(trial, "opening an object that was put", session.opened(), 0);
      if (store.remove(List.of(key), /* evenIfLeased= */ true, trial.soon()).isOk(0)) {
        trial.put(store, key, new Content(2), Math.max(1, bytes / 2));
        Pieces target = Pieces.of(trial, bytes);
        BatchResult read = session.read(List.of(whole(0, target)), trial.soon());
        expectPassing(trial, "read of an object that was removed and put anew", read);
      }
    }
  }

  /** It may also be OK, or ABSENT. */
  private static void expectPassing(Trial trial, String what, BatchResult result) {
    trial.expect(
        result.status(0) != ObjectStatus.FAILED
            || (result.failure(0).retryable() && !result.failure(0).code().provesBadObject()),
        what + " to fail with a code that says that it may be tried again",
        () -> Trial.describe(result, 0));
  }

  private static void faultIsProof(
      Trial trial, ObjectKey key, long bytes, FaultInjector.Fault fault, FaultInjector faults) {
    CacheStore store = trial.store();
    trial.put(store, key, new Content(trial.random().nextLong()), bytes);
    BatchResult there = store.exists(List.of(key), trial.soon());
    Attempts.expectOk(trial, "exists of an object that was put", there, 0);
    if (!faults.inject(fault, key)) {
      return;
    }
    GetOp op = new GetOp(key, Pieces.of(trial, bytes).writable());
    expectProof(trial, "get", fault, store.get(List.of(op), trial.soon()));
    if (trial.has(Capability.RANGED_READ)) {
      try (ReadSession session = store.openSession(List.of(key), trial.soon())) {
        Pieces target = Pieces.of(trial, bytes);
        expectProof(trial, "read", fault, session.read(List.of(whole(0, target)), trial.soon()));
      }
    }
  }

  /** It may be OK all the same: the store may have another copy. */
  private static void expectProof(
      Trial trial, String call, FaultInjector.Fault fault, BatchResult result) {
    trial.expect(
        result.status(0) != ObjectStatus.FAILED
            || result.failure(0).code().provesBadObject()
            || result.failure(0).code() == FailureCode.ABSENT,
        "a %s of an object after %s to be CORRUPT, SIZE_MISMATCH or ABSENT".formatted(call, fault),
        () -> Trial.describe(result, 0));
  }

  // It is told in time.

  @Rule(
      id = "store.deadline",
      scope = Scope.STORE,
      alone = true,
      text = "A call returns by its deadline and the declared grace, whatever happens below.",
      hint =
          "Give every wait of a call (for a lock, a peer, a device) what is left of the deadline,"
              + " and answer TIMEOUT when nothing is.")
  static void deadline(Trial trial) {
    ObjectKey key = trial.key("there");
    long bytes = Math.min(64 << 10, trial.limits().objectBytes());
    trial.put(trial.store(), key, new Content(1), bytes);
    Queue<ReadSession> sessions = new ConcurrentLinkedQueue<>();
    trial.cleanup(() -> sessions.forEach(ReadSession::close));
    Map<String, Consumer<Deadline>> calls = calls(trial, key, bytes, sessions);
    for (long millis : new long[] {0, 1, 20}) {
      expectInTime(trial, calls, Duration.ofMillis(millis), "");
    }
    Optional<FaultInjector.Stall> stall = trial.subject().faults().map(FaultInjector::stall);
    if (stall.isEmpty()) {
      trial.note("tried without a stall below the store, since none can be brought about");
      return;
    }
    FaultInjector.Stall held = stall.get();
    try (held) {
      for (long millis : new long[] {0, trial.effort().quick() ? 50 : 300}) {
        expectInTime(
            trial, calls, Duration.ofMillis(millis), " while everything below the store stalls");
      }
    }
    Attempts.at(
        trial,
        "after",
        name -> {
          trial.put(trial.store(), trial.key(name), new Content(2), bytes);
          Pieces target = Pieces.of(trial, bytes);
          GetOp op = new GetOp(trial.key(name), target.writable());
          BatchResult got = trial.store().get(List.of(op), trial.soon());
          Attempts.expectOk(trial, "get after a stall", got, 0);
          target.expectBytes("an object after a stall", new Content(2), 0);
        });
  }

  /** Returns what can be called with a deadline, by name. */
  private static Map<String, Consumer<Deadline>> calls(
      Trial trial, ObjectKey key, long bytes, Queue<ReadSession> sessions) {
    CacheStore store = trial.store();
    ObjectKey other = trial.key("other");
    Map<String, Consumer<Deadline>> calls = new LinkedHashMap<>();
    calls.put("exists", by -> store.exists(List.of(key), by));
    PutOp put = new PutOp(other, Pieces.of(trial, bytes).readOnly());
    calls.put("put", by -> store.put(List.of(put), by));
    GetOp get = new GetOp(key, Pieces.of(trial, bytes).writable());
    calls.put("get", by -> store.get(List.of(get), by));
    calls.put("probe", store::probe);
    if (trial.has(Capability.RANGED_READ)) {
      calls.put("openSession", by -> sessions.add(store.openSession(List.of(key), by)));
      ReadSession session = store.openSession(List.of(key), trial.soon());
      sessions.add(session);
      ReadOp read = whole(0, Pieces.of(trial, bytes));
      calls.put("read", by -> session.read(List.of(read), by));
    }
    if (trial.has(Capability.REMOVE)) {
      calls.put("remove", by -> store.remove(List.of(other), /* evenIfLeased= */ true, by));
    }
    KeyPrefix nothing = KeyPrefix.of(trial.key("nothing").value());
    if (trial.has(Capability.CLEAR)) {
      calls.put("clear", by -> orTimeout(() -> store.clear(nothing, by)));
    }
    if (trial.has(Capability.LIST)) {
      calls.put("list", by -> orTimeout(() -> store.list(nothing, listed -> true, by)));
    }
    return calls;
  }

  /** These have no entries, and may throw when the deadline passes or nothing can be found out. */
  private static void orTimeout(Runnable call) {
    try {
      call.run();
    } catch (CacheException e) {
      if (e.code() == FailureCode.REFUSED || e.code() == FailureCode.CLOSED) {
        throw e;
      }
    }
  }

  /** Makes all calls at once, each in a thread of its own. */
  private static void expectInTime(
      Trial trial, Map<String, Consumer<Deadline>> calls, Duration time, String circumstance) {
    Duration longest = time.plus(trial.limits().grace()).plus(SLACK);
    long start = System.nanoTime();
    Map<String, Future<Boolean>> started = new LinkedHashMap<>();
    calls.forEach(
        (name, call) ->
            started.put(
                name,
                trial.start(
                    name,
                    () -> {
                      call.accept(Deadline.after(time));
                      return Boolean.TRUE;
                    })));
    started.forEach(
        (name, call) -> {
          long left = longest.toNanos() - (System.nanoTime() - start);
          if (!isDone(call, left)) {
            throw new Violation(
                "%s with a deadline in %d ms to return within the grace of %d ms%s"
                    .formatted(
                        name, time.toMillis(), trial.limits().grace().toMillis(), circumstance),
                "it has not returned after " + longest.toMillis() + " ms");
          }
          trial.await(name, call);
        });
  }

  private static boolean isDone(Future<?> call, long nanos) {
    try {
      call.get(Math.max(0, nanos), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      // Told by whoever awaits it.
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a call", e);
    }
  }
}
