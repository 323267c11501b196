package io.unifiedcache.conformance.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.store.Linearizability.Call;
import io.unifiedcache.conformance.store.Linearizability.Effect;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** The rules of calls at the same time, and of threads that are interrupted. */
public final class ConcurrencyRules {
  private static final int THREADS = 3;
  private static final int KEYS = 2;
  private static final int CALLS = 6;

  private ConcurrencyRules() {}

  @Rule(
      id = "store.concurrent",
      scope = Scope.STORE,
      text =
          "Histories of parallel put, get, exists and remove on few keys are linearisable per key:"
              + " some order of the calls, as if one came after the other, explains all answers. An"
              + " eviction may happen at any time, and a put answered OK without being readable yet"
              + " counts as evicted; a write that failed may have happened or not.",
      hint =
          "Let one step under one lock, or one atomic change, decide each answer; a cache beside"
              + " the objects, or a check apart from the change that it is for, is a second truth.")
  static void concurrent(Trial trial) {
    if (trial.limits().objectBytes() < Long.BYTES) {
      throw trial.notApplicable("objects of so few bytes cannot be told apart");
    }
    int count = trial.effort().rounds(600);
    List<Round> rounds = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long bytes = Math.min(trial.limits().objectBytes(), i % 4 == 0 ? 16 << 10 : 64);
      rounds.add(new Round(trial, trial.store(), i, bytes, trial.random().nextLong()));
    }
    CyclicBarrier barrier = new CyclicBarrier(THREADS);
    trial.together(
        THREADS,
        thread -> {
          try {
            for (Round round : rounds) {
              barrier.await(Trial.PATIENCE.toSeconds(), TimeUnit.SECONDS);
              round.callsOf(thread);
              barrier.await(Trial.PATIENCE.toSeconds(), TimeUnit.SECONDS);
              if (thread == 0) {
                round.lastLook();
              }
            }
          } catch (BrokenBarrierException | TimeoutException e) {
            // Another thread has found something out, and says what.
            return;
          } finally {
            barrier.reset();
          }
        });
    for (Round round : rounds) {
      round.expectExplained();
    }
  }

  /** Calls of several threads on a few keys of their own, and what was answered. */
  private static final class Round {
    private final Trial trial;
    private final CacheStore store;
    private final int number;
    private final long bytes;
    private final long seed;
    private final List<ObjectKey> keys;
    private final List<List<Call>> calls = new ArrayList<>();

    Round(Trial trial, CacheStore store, int number, long bytes, long seed) {
      this.trial = trial;
      this.store = store;
      this.number = number;
      this.bytes = bytes;
      this.seed = seed;
      this.keys = trial.keys("round-" + number + "-", KEYS);
      for (int i = 0; i < KEYS; i++) {
        calls.add(new ArrayList<>());
      }
    }

    void callsOf(int thread) {
      Random random = new Random(seed + thread);
      HostMemory source = trial.memory(bytes);
      HostMemory target = trial.memory(bytes);
      for (int i = 0; i < CALLS; i++) {
        int key = random.nextInt(KEYS);
        int choice = random.nextInt(trial.has(Capability.REMOVE) ? 10 : 8);
        if (choice < 3) {
          put(thread, key, 1 + thread * CALLS + i, source);
        } else if (choice < 6) {
          get(thread, key, target);
        } else if (choice < 8) {
          exists(thread, key);
        } else {
          remove(thread, key);
        }
      }
    }

    /** Reads what all the calls have left. */
    void lastLook() {
      HostMemory target = trial.memory(bytes);
      for (int key = 0; key < KEYS; key++) {
        get(0, key, target);
      }
    }

    private Content content(int value) {
      return new Content(1_000L * number + value);
    }

    private void put(int thread, int key, int value, HostMemory source) {
      content(value).fill(source.segment(), 0);
      List<PutOp> ops = List.of(new PutOp(keys.get(key), List.of(source)));
      long began = System.nanoTime();
      BatchResult result = store.put(ops, trial.soon());
      long returned = System.nanoTime();
      Effect effect =
          switch (result.status(0)) {
            case PRESENT -> Effect.FINDS_ANY;
            case FAILED -> Effect.MAY_STORE;
            default ->
                trial.has(Capability.REPORTS_PRESENT) ? Effect.STORES : Effect.STORES_OR_KEEPS;
          };
      record(
          key, new Call(thread, effect, effect == Effect.FINDS_ANY ? 0 : value, began, returned));
    }

    private void get(int thread, int key, HostMemory target) {
      List<GetOp> ops = List.of(new GetOp(keys.get(key), List.of(target)));
      long began = System.nanoTime();
      BatchResult result = store.get(ops, trial.soon());
      long returned = System.nanoTime();
      switch (result.status(0)) {
        case OK -> record(key, new Call(thread, Effect.FINDS, valueIn(target), began, returned));
        case ABSENT -> record(key, new Call(thread, Effect.FINDS_NONE, 0, began, returned));
        default -> {
          // It says nothing about the object.
        }
      }
    }

    private int valueIn(HostMemory target) {
      Optional<String> difference = Optional.empty();
      for (int value = 1; value <= THREADS * CALLS; value++) {
        difference = content(value).difference(target.segment(), 0);
        if (difference.isEmpty()) {
          return value;
        }
      }
      trial.expect(false, "get to read the bytes of one of the puts", difference::orElseThrow);
      return 0;
    }

    private void exists(int thread, int key) {
      long began = System.nanoTime();
      BatchResult result = store.exists(List.of(keys.get(key)), trial.soon());
      long returned = System.nanoTime();
      switch (result.status(0)) {
        case OK -> record(key, new Call(thread, Effect.FINDS_ANY, 0, began, returned));
        case ABSENT -> record(key, new Call(thread, Effect.FINDS_NONE, 0, began, returned));
        default -> {
          // It says nothing about the object.
        }
      }
    }

    private void remove(int thread, int key) {
      long began = System.nanoTime();
      BatchResult result =
          store.remove(List.of(keys.get(key)), /* evenIfLeased= */ true, trial.soon());
      long returned = System.nanoTime();
      Effect effect =
          switch (result.status(0)) {
            case OK -> Effect.REMOVES;
            case ABSENT -> Effect.FINDS_NONE;
            default -> Effect.MAY_REMOVE;
          };
      record(key, new Call(thread, effect, 0, began, returned));
    }

    private synchronized void record(int key, Call call) {
      calls.get(key).add(call);
    }

    synchronized void expectExplained() {
      for (int key = 0; key < KEYS; key++) {
        List<Call> history = calls.get(key);
        trial.expect(
            Linearizability.holds(history, trial.has(Capability.BOUNDED)),
            "an order of the calls on one key that explains all answers",
            () ->
                "none does, of (times in microseconds): "
                    + history.stream()
                        .sorted(Comparator.comparingLong(Call::began))
                        .map(call -> call.describe(history.getFirst().began()))
                        .collect(Collectors.joining("; ")));
      }
    }
  }

  @Rule(
      id = "store.interrupt",
      scope = Scope.STORE,
      alone = true,
      text =
          "The interrupt of a thread fails at most the entries of its own calls: nothing is thrown"
              + " for it, the thread stays interrupted, and later calls are served as before.",
      hint =
          "A FileChannel is closed for good by the interrupt of a thread that uses it: use it on"
              + " threads of the store's own. A wait that was interrupted has cleared the status of"
              + " its thread: set it again.")
  static void interrupt(Trial trial) {
    CacheStore store = trial.open();
    long bytes = Math.min(trial.limits().objectBytes(), 16 << 10);
    for (int i = 0; i < trial.effort().rounds(40); i++) {
      Attempts.at(trial, "interrupted" + i, name -> interrupted(trial, store, name, bytes));
    }
  }

  private static void interrupted(Trial trial, CacheStore store, String name, long bytes) {
    Content content = new Content(7);
    ObjectKey there = trial.key(name + "-there");
    trial.put(store, there, content, bytes);
    Future<Boolean> caller =
        trial.start(
            "a caller that is interrupted",
            () -> {
              Thread.currentThread().interrupt();
              use(trial, store, there, trial.key(name + "-new"), content, bytes);
              return Thread.currentThread().isInterrupted();
            });
    boolean stays = trial.await("a caller that is interrupted", caller);
    trial.expect(stays, "the thread to stay interrupted", () -> "it is not");

    AtomicReference<Thread> user = new AtomicReference<>();
    Future<Boolean> calls =
        trial.start(
            "a caller that is interrupted in the middle",
            () -> {
              user.set(Thread.currentThread());
              for (int i = 0; i < 10; i++) {
                use(trial, store, there, trial.key(name + "-later-" + i), content, bytes);
              }
              return true;
            });
    Deadline patience = trial.soon();
    while (!calls.isDone() && !patience.hasPassed()) {
      Thread thread = user.get();
      if (thread != null) {
        thread.interrupt();
      }
      LockSupport.parkNanos(50_000);
    }
    trial.await("a caller that is interrupted in the middle", calls);

    HostMemory target = trial.memory(bytes);
    BatchResult got = store.get(List.of(new GetOp(there, List.of(target))), trial.soon());
    Attempts.expectOk(trial, "get after others were interrupted", got, 0);
    trial.expectBytes("an object that is read after others were interrupted", content, target, 0);
    trial.put(store, trial.key(name + "-after"), content, bytes);
  }

  /** Calls the store; entries may fail, and what is OK is right. */
  private static void use(
      Trial trial,
      CacheStore store,
      ObjectKey there,
      ObjectKey fresh,
      Content content,
      long bytes) {
    HostMemory target = trial.memory(bytes);
    store.exists(List.of(there), trial.soon());
    if (store.get(List.of(new GetOp(there, List.of(target))), trial.soon()).isOk(0)) {
      trial.expectBytes("an object that an interrupted thread reads", content, target, 0);
    }
    HostMemory source = trial.memory(bytes, content);
    store.put(List.of(new PutOp(fresh, List.of(source))), trial.soon());
    if (trial.has(Capability.RANGED_READ)) {
      try (ReadSession session = store.openSession(List.of(there), trial.soon())) {
        HostMemory ranged = trial.memory(bytes);
        ReadOp read = new ReadOp(0, List.of(new Range(0, ranged)));
        if (session.read(List.of(read), trial.soon()).isOk(0)) {
          trial.expectBytes("a range that an interrupted thread reads", content, ranged, 0);
        }
      }
    }
  }
}
