package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import io.unifiedcache.conformance.subject.FaultInjector;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The rules of memory that a store is given: what becomes of it, and until when. */
public final class MemoryRules {
  private MemoryRules() {}

  @Rule(
      id = "store.memory-in-doubt",
      scope = Scope.STORE,
      alone = true,
      text =
          "A failure tells whether memory is untouched, dirty or still in use; while in use nothing"
              + " frees it, and the stage that ends it does end or is reported.",
      hint =
          "Say UNTOUCHED only before the first write, DIRTY only after the last, and in between"
              + " give a stage that ends when the transfer has let go.")
  static void memoryInDoubt(Trial trial) {
    Lent lent = new Lent(trial);
    Attempts.at(trial, "sizes", name -> wrongSizes(trial, trial.key(name), lent));
    if (trial.has(Capability.RANGED_READ)) {
      Attempts.at(trial, "ranges", name -> wrongRanges(trial, trial.key(name), lent));
    }
    Attempts.at(trial, "late", name -> tooLittleTime(trial, trial.key(name), lent));
    if (trial.has(Capability.REMOVE)) {
      removals(trial, trial.key("removed"), lent);
    }
    Optional<FaultInjector> faults = trial.subject().faults();
    if (faults.isPresent()) {
      for (FaultInjector.Fault fault : FaultInjector.Fault.values()) {
        Attempts.at(
            trial, fault.name(), name -> fault(trial, trial.key(name), fault, faults.get(), lent));
      }
      stall(trial, faults.get(), lent);
    } else {
      trial.note("tried without faults below the store, since none can be injected");
    }
    lent.expectLeftAlone();
  }

  private static void wrongSizes(Trial trial, ObjectKey key, Lent lent) {
    long bytes = Math.max(1, Math.min(5000, trial.limits().objectBytes() / 2));
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    for (long wrong : new long[] {bytes - 1, bytes + 1, 2 * bytes}) {
      Pieces target = Pieces.of(trial, Pieces.split(trial, wrong));
      BatchResult got = get(trial, key, target, trial.soon());
      Attempts.requireThere("get into a target of the wrong size", got, 0);
      lent.back("get of %d bytes into %d".formatted(bytes, wrong), target, got);
    }
    int limit = trial.limits().pieces();
    if (limit < bytes && limit <= 1000) {
      long[] sizes = new long[limit + 1];
      Arrays.fill(sizes, 1);
      sizes[0] = bytes - limit;
      Pieces target = Pieces.of(trial, sizes);
      BatchResult got = get(trial, key, target, trial.soon());
      lent.back("get into too many pieces", target, got);
    }
  }

  private static BatchResult get(Trial trial, ObjectKey key, Pieces target, Deadline by) {
    return trial.store().get(List.of(new GetOp(key, target.writable())), by);
  }

  /** The first range could be read, the second cannot. */
  private static void wrongRanges(Trial trial, ObjectKey key, Lent lent) {
    if (trial.limits().pieces() < 2) {
      return;
    }
    long bytes = Math.min(5000, trial.limits().objectBytes());
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      Attempts.expectOk(trial, "opening an object that was put", session.opened(), 0);
      Pieces target = Pieces.of(trial, bytes, 2);
      List<Memory> pieces = target.writable();
      ReadOp op =
          new ReadOp(0, List.of(new Range(0, pieces.get(0)), new Range(bytes - 1, pieces.get(1))));
      BatchResult read = session.read(List.of(op), trial.soon());
      trial.expectStatus("read of a range past the end", read, 0, ObjectStatus.FAILED);
      lent.back("read of one range within and one past the end", target, read);
    }
  }

  private static void tooLittleTime(Trial trial, ObjectKey key, Lent lent) {
    long bytes = Math.min(256 << 10, trial.limits().objectBytes());
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    for (int i = 0; i < trial.effort().rounds(40); i++) {
      Duration time = Duration.ofNanos(i == 0 ? 0 : trial.random().nextLong(200_000));
      Pieces target = Pieces.of(trial, Pieces.split(trial, bytes));
      BatchResult got = get(trial, key, target, Deadline.after(time));
      Attempts.requireThere("get within " + time, got, 0);
      lent.back("get within " + time, target, got);
      PutOp op =
          new PutOp(trial.key("put-late" + i), Pieces.of(trial, bytes).fill(content).readOnly());
      BatchResult put = trial.store().put(List.of(op), Deadline.after(time));
      lent.awaitRelease("put within " + time, put);
    }
  }

  /** An object that comes and goes while it is read. */
  private static void removals(Trial trial, ObjectKey key, Lent lent) {
    long bytes = Math.min(64 << 10, trial.limits().objectBytes());
    Content content = new Content(trial.random().nextLong());
    CountDownLatch done = new CountDownLatch(1);
    int rounds = trial.effort().rounds(200);
    trial.together(
        2,
        number -> {
          if (number == 0) {
            try {
              for (int i = 0; i < rounds; i++) {
                PutOp op = new PutOp(key, List.of(trial.memory(bytes, content)));
                trial.store().put(List.of(op), trial.soon());
                trial.store().remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
              }
            } finally {
              done.countDown();
            }
          } else {
            Pieces target = Pieces.of(trial, bytes);
            do {
              BatchResult got = get(trial, key, target, trial.soon());
              lent.back("get of an object that is removed", target, got);
            } while (done.getCount() > 0);
          }
        });
  }

  private static void fault(
      Trial trial, ObjectKey key, FaultInjector.Fault fault, FaultInjector faults, Lent lent) {
    long bytes = Math.min(5000, trial.limits().objectBytes());
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    BatchResult there = trial.store().exists(List.of(key), trial.soon());
    Attempts.expectOk(trial, "exists of an object that was put", there, 0);
    if (faults.inject(fault, key)) {
      Pieces target = Pieces.of(trial, Pieces.split(trial, bytes));
      BatchResult got = get(trial, key, target, trial.soon());
      lent.back("get after " + fault, target, got);
    }
  }

  private static void stall(Trial trial, FaultInjector faults, Lent lent) {
    long bytes = Math.min(64 << 10, trial.limits().objectBytes());
    ObjectKey key = trial.key("stalled");
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    Pieces target = Pieces.of(trial, bytes);
    Pieces source = Pieces.of(trial, bytes).fill(content);
    FaultInjector.Stall stall = faults.stall();
    if (stall == null) {
      return;
    }
    Future<BatchResult> get;
    Future<BatchResult> put;
    try (stall) {
      Deadline by = Deadline.after(Duration.ofMillis(20));
      PutOp op = new PutOp(trial.key("stalled-put"), source.readOnly());
      get = trial.start("get", () -> get(trial, key, target, by));
      put = trial.start("put", () -> trial.store().put(List.of(op), by));
      // Whether they are back in time is a rule of its own.
      long end = System.nanoTime() + trial.limits().grace().toNanos();
      while (!(get.isDone() && put.isDone()) && System.nanoTime() - end < 0) {
        LockSupport.parkNanos(1_000_000);
      }
    }
    BatchResult got = trial.await("get during a stall", get);
    lent.back("get during a stall", target, got);
    lent.awaitRelease("put during a stall", trial.await("put during a stall", put));
  }

  /** Memory that was lent to the store and has come back, of which the truth has to be told. */
  private static final class Lent {
    private static final Duration SETTLING = Duration.ofMillis(200);

    private final Trial trial;
    private final List<Pieces> all = new ArrayList<>();

    Lent(Trial trial) {
      this.trial = trial;
    }

    /** Takes back the target of a call, once what the answer says of it is seen to be true. */
    void back(String what, Pieces target, BatchResult result) {
      switch (result.status(0)) {
        case ABSENT -> target.expectUntouched("a " + what + ", which is ABSENT");
        case FAILED -> {
          StoreFailure failure = result.failure(0);
          if (failure.memory() instanceof MemoryState.Untouched) {
            target.expectUntouched(
                "a %s, which failed with %s and says UNTOUCHED".formatted(what, failure.code()));
          }
          awaitRelease(what, result);
        }
        case OK, PRESENT -> {}
      }
      // From now on it is ours.
      target.reset();
      synchronized (all) {
        if (!all.contains(target)) {
          all.add(target);
        }
      }
    }

    /** Waits until the store has let go of memory that is in use after a failure. */
    void awaitRelease(String what, BatchResult result) {
      if (result.status(0) != ObjectStatus.FAILED
          || !(result.failure(0).memory() instanceof MemoryState.InUse use)) {
        return;
      }
      CountDownLatch released = new CountDownLatch(1);
      use.released().whenComplete((value, problem) -> released.countDown());
      Duration longest = trial.effort().quick() ? Duration.ofSeconds(5) : Trial.PATIENCE;
      try {
        if (!released.await(longest.toNanos(), TimeUnit.NANOSECONDS)) {
          throw new Violation(
              "the stage of memory that is in use after a " + what + " to end",
              "it has not ended after " + longest.toSeconds() + " s");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while memory is in use", e);
      }
    }

    /** Fails the rule if memory that has come back was written all the same. */
    void expectLeftAlone() {
      long end = System.nanoTime() + SETTLING.toNanos();
      while (System.nanoTime() - end < 0) {
        LockSupport.parkNanos(end - System.nanoTime());
      }
      synchronized (all) {
        all.forEach(each -> each.expectUntouched("memory that nothing uses any more"));
      }
    }
  }

  // Registration.

  @Rule(
      id = "store.register",
      scope = Scope.STORE,
      text =
          "A failed registration undoes itself; unregister while idle; memory is not touched after"
              + " unregister.",
      hint =
          "Undo in reverse order what a registration did, once however often it is closed, and"
              + " forget the memory.")
  static void register(Trial trial) {
    long bytes = Math.min(64 << 10, trial.limits().objectBytes());
    for (int i = 0; i < trial.effort().rounds(50); i++) {
      Attempts.at(trial, "round" + i, name -> registered(trial, name, bytes));
    }
    Attempts.at(trial, "freed", name -> freedAfterwards(trial, name, bytes));
  }

  private static void registered(Trial trial, String name, long bytes) {
    HostMemory memory = trial.memory(2 * bytes);
    Optional<Registration> all = tryRegister(trial, memory);
    // The same memory again, in parts, as where buffers are interleaved.
    Optional<Registration> half = tryRegister(trial, memory.slice(0, bytes));
    Optional<Registration> nothing = tryRegister(trial, memory.slice(0, 0));
    use(trial, trial.key(name + "-a"), memory.slice(0, bytes));
    half.ifPresent(Registration::close);
    // What is still registered still works.
    use(trial, trial.key(name + "-b"), memory.slice(0, bytes));
    all.ifPresent(Registration::close);
    all.ifPresent(Registration::close);
    half.ifPresent(Registration::close);
    nothing.ifPresent(Registration::close);

    memory.segment().fill(Pieces.UNTOUCHED);
    use(trial, trial.key(name + "-c"), trial.memory(bytes));
    trial.expectFilled("memory that was unregistered", Pieces.UNTOUCHED, memory);
    // It may be used like any other, and registered once more.
    use(trial, trial.key(name + "-d"), memory.slice(0, bytes));
    tryRegister(trial, memory).ifPresent(Registration::close);
  }

  private static Optional<Registration> tryRegister(Trial trial, HostMemory memory) {
    try {
      return Optional.of(trial.store().register(memory));
    } catch (CacheException e) {
      trial.note("register of " + memory.byteSize() + " bytes fails: " + e.getMessage());
      return Optional.empty();
    }
  }

  /** Puts from the memory and gets into it. */
  private static void use(Trial trial, ObjectKey key, HostMemory memory) {
    Content content = new Content(trial.random().nextLong());
    content.fill(memory.segment(), 0);
    CacheStore store = trial.store();
    BatchResult put = store.put(List.of(new PutOp(key, List.of(memory))), trial.soon());
    trial.expectStatus("put from memory that is or was registered", put, 0, ObjectStatus.OK);
    memory.segment().fill((byte) 0);
    BatchResult got = store.get(List.of(new GetOp(key, List.of(memory))), trial.soon());
    Attempts.expectOk(trial, "get into memory that is or was registered", got, 0);
    trial.expectBytes("memory that is or was registered", content, memory, 0);
  }

  /** A store that touches it now takes the JVM down, or is told by an exception. */
  private static void freedAfterwards(Trial trial, String name, long bytes) {
    try (Arena arena = Arena.ofShared()) {
      HostMemory memory =
          HostMemory.of(arena.allocate(bytes, Math.max(64, trial.limits().alignment())));
      Optional<Registration> registration = tryRegister(trial, memory);
      use(trial, trial.key(name + "-a"), memory);
      registration.ifPresent(Registration::close);
    }
    use(trial, trial.key(name + "-b"), trial.memory(bytes));
  }
}
