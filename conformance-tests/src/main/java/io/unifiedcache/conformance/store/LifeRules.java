package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The rules of how objects and stores end, and of what a store tells about itself. */
public final class LifeRules {
  private LifeRules() {}

  // Remove.

  @Rule(
      id = "store.remove",
      scope = Scope.STORE,
      needs = Capability.REMOVE,
      text =
          "Remove is idempotent: removing an absent key is ABSENT, not a failure. BUSY (a lease) is"
              + " legal and passes within the declared bound. Readers in flight finish whole or"
              + " fail.",
      hint =
          "Look at what remove answers for an absent key, whether the object is out of view when"
              + " remove returns, and who may use its memory while a reader still copies it.")
  static void remove(Trial trial) {
    removeOfAbsent(trial);
    trial.despiteEviction(attempt -> removeOfPresent(trial, attempt));
    trial.despiteEviction(attempt -> removeAfterReads(trial, attempt));
    removeUnderReaders(trial);
  }

  private static void removeOfAbsent(Trial trial) {
    for (boolean evenIfLeased : new boolean[] {false, true}) {
      BatchResult result =
          trial.store().remove(List.of(trial.key("never-put")), evenIfLeased, trial.soon());
      trial.expectStatus(
          "remove of a key that was never put, evenIfLeased " + evenIfLeased,
          result,
          0,
          ObjectStatus.ABSENT);
    }
  }

  private static void removeOfPresent(Trial trial, int attempt) {
    CacheStore store = trial.store();
    String name = "present-" + attempt;
    List<ObjectKey> keys =
        List.of(trial.key(name + "/a"), trial.key(name + "/b"), trial.key(name + "/b/c"));
    long bytes = usualBytes(trial);
    for (int i = 0; i < 3; i++) {
      trial.put(store, keys.get(i), new Content(i), bytes);
    }
    Removal.untilDone(trial, store, keys.get(1));
    BatchResult exists = store.exists(List.of(keys.get(1)), trial.soon());
    trial.expectStatus("exists of a removed object", exists, 0, ObjectStatus.ABSENT);
    BatchResult got =
        store.get(List.of(new GetOp(keys.get(1), List.of(trial.memory(bytes)))), trial.soon());
    trial.expectStatus("get of a removed object", got, 0, ObjectStatus.ABSENT);
    BatchResult again = store.remove(List.of(keys.get(1)), false, trial.soon());
    trial.expectStatus("a second remove", again, 0, ObjectStatus.ABSENT);
    trial.expectObject(store, keys.get(0), new Content(0), bytes);
    trial.expectObject(store, keys.get(2), new Content(2), bytes);
    trial.put(store, keys.get(1), new Content(7), bytes);
    trial.expectObject(store, keys.get(1), new Content(7), bytes);
  }

  private static void removeAfterReads(Trial trial, int attempt) {
    CacheStore store = trial.store();
    ObjectKey key = trial.key("read-" + attempt);
    long bytes = usualBytes(trial);
    trial.put(store, key, new Content(1), bytes);
    trial.expectObject(store, key, new Content(1), bytes);
    if (Removal.canWait(trial)) {
      Removal.untilDone(trial, store, key);
      BatchResult exists = store.exists(List.of(key), trial.soon());
      trial.expectStatus("exists of a removed object", exists, 0, ObjectStatus.ABSENT);
    }
  }

  /** Puts others once an object is removed, so that memory that was freed too early is used. */
  private static void removeUnderReaders(Trial trial) {
    CacheStore store = trial.store();
    int rounds = trial.effort().rounds(60);
    long bytes = Math.min(trial.limits().objectBytes(), 256 << 10);
    HostMemory source = trial.memory(bytes);
    HostMemory other = trial.memory(bytes, new Content(-1));
    List<HostMemory> targets = List.of(trial.memory(bytes), trial.memory(bytes));
    for (int round = 0; round < rounds; round++) {
      ObjectKey key = trial.key("in-flight-" + round);
      ObjectKey next = trial.key("next-" + round);
      Content content = new Content(round);
      content.fill(source.segment(), 0);
      store.put(List.of(new PutOp(key, List.of(source))), trial.soon());
      CountDownLatch reading = new CountDownLatch(2);
      AtomicBoolean over = new AtomicBoolean();
      trial.together(
          3,
          part -> {
            if (part == 2) {
              reading.await();
              store.remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
              store.put(List.of(new PutOp(next, List.of(other))), trial.soon());
              over.set(true);
              return;
            }
            HostMemory target = targets.get(part);
            boolean goOn = true;
            while (goOn) {
              reading.countDown();
              goOn = !over.get();
              BatchResult got = store.get(List.of(new GetOp(key, List.of(target))), trial.soon());
              if (got.isOk(0)) {
                trial.expectBytes("an object read while it is removed", content, target, 0);
              }
            }
          });
      for (ObjectKey each : List.of(key, next)) {
        store.remove(List.of(each), /* evenIfLeased= */ true, trial.soon());
      }
    }
  }

  // Clear.

  private static final List<String> PATTERNS =
      List.of(".", "*", "?", "_", "%", "[ab]", "{a,b}", "(", "+", "^", "$", "|", "\\", "#");

  @Rule(
      id = "store.clear",
      scope = Scope.STORE,
      needs = Capability.CLEAR,
      alone = true,
      text =
          "Clear removes the objects under the prefix and nothing else (neither foreign files, nor"
              + " objects under other prefixes, nor keys that a pattern character in the prefix"
              + " would match), and says how many, or what it could not remove; it removes"
              + " everything only when asked for that explicitly.",
      hint =
          "Compare the prefix with each key character by character; quote it if it becomes part of"
              + " a pattern or a query, and count what was removed, not what was looked at.")
  static void clear(Trial trial) {
    ClearResult none =
        trial.store().clear(KeyPrefix.of(trial.key("never-put/").value()), trial.soon());
    trial.expectEqual("clear of a prefix that no key has", new ClearResult(0, 0), none);
    trial.despiteEviction(attempt -> clearEach(trial, attempt));
    if (trial.ownsStore() && !trial.has(Capability.SHARED)) {
      trial.despiteEviction(attempt -> clearEverything(trial, attempt));
    }
  }

  /**
   * What is to go when a prefix is cleared, and what is to stay.
   *
   * @param prefix the prefix
   * @param under the objects under it
   * @param beside objects that look as if they were
   */
  private record Clearing(String prefix, List<ObjectKey> under, List<ObjectKey> beside) {}

  private static void clearEach(Trial trial, int attempt) {
    CacheStore store = trial.store();
    Removal.clear(trial, store, KeyPrefix.of(trial.key("clear-").value()));
    // All is put first, so that leases which puts leave are waited for once.
    List<Clearing> clearings = new ArrayList<>();
    String tree = "clear-" + attempt + "-tree/";
    clearings.add(
        new Clearing(
            tree + "a",
            putAccepted(
                trial,
                store,
                List.of(tree + "a", tree + "a/1", tree + "a/b/2", tree + "ab", tree + "a 3")),
            putAccepted(
                trial,
                store,
                List.of(
                    tree.substring(0, tree.length() - 1),
                    tree,
                    tree + "A/1",
                    tree + "b/a",
                    tree.replace("tree", "Tree") + "a/1",
                    "clear-x/" + tree + "a"))));
    for (String pattern : PATTERNS) {
      String at = "clear-%d-%d/p".formatted(attempt, clearings.size());
      clearings.add(
          new Clearing(
              at + pattern + "q",
              putAccepted(trial, store, List.of(at + pattern + "q1", at + pattern + "q/2")),
              putAccepted(
                  trial,
                  store,
                  List.of(
                      at + "q1", at + "aq1", at + "bq/2", at + "abq1", at + "ppq1", at + "/q1"))));
    }
    clearings.forEach(clearing -> clear(trial, clearing));
  }

  private static void clear(Trial trial, Clearing clearing) {
    CacheStore store = trial.store();
    if (clearing.under().isEmpty()) {
      // The store refuses such keys, so that nothing can be under the prefix.
      return;
    }
    ObjectKey prefix = trial.key(clearing.prefix());
    String what = "clear of " + Trial.name(prefix);
    ClearResult result = Removal.clear(trial, store, KeyPrefix.of(prefix.value()));
    for (ObjectKey key : clearing.under()) {
      trial.expectStatus(
          "exists of " + Trial.name(key) + " after " + what,
          store.exists(List.of(key), trial.soon()),
          0,
          ObjectStatus.ABSENT);
    }
    for (ObjectKey key : clearing.beside()) {
      trial.expectStatus(
          "exists of " + Trial.name(key) + " after " + what,
          store.exists(List.of(key), trial.soon()),
          0,
          ObjectStatus.OK);
    }
    trial.expectEqual(what, new ClearResult(clearing.under().size(), 0), result);
  }

  private static void clearEverything(Trial trial, int attempt) {
    CacheStore store = trial.store();
    Removal.clear(trial, store, KeyPrefix.EVERYTHING);
    List<ObjectKey> keys =
        putAccepted(trial, store, List.of("all-" + attempt + "/1", "all-" + attempt + "/2"));
    ClearResult result = Removal.clear(trial, store, KeyPrefix.EVERYTHING);
    for (ObjectKey key : keys) {
      trial.expectStatus(
          "exists after clear of everything",
          store.exists(List.of(key), trial.soon()),
          0,
          ObjectStatus.ABSENT);
    }
    trial.expectEqual("clear of everything", new ClearResult(keys.size(), 0), result);
  }

  /** Puts a small object under each name that the store takes for a new one; returns their keys. */
  private static List<ObjectKey> putAccepted(Trial trial, CacheStore store, List<String> names) {
    long bytes = Math.min(trial.limits().objectBytes(), 64);
    List<ObjectKey> accepted = new ArrayList<>();
    for (String name : names) {
      ObjectKey key = trial.key(name);
      BatchResult result =
          store.put(
              List.of(new PutOp(key, List.of(trial.memory(bytes, new Content(1))))), trial.soon());
      boolean refused =
          result.status(0) == ObjectStatus.FAILED
              && result.failure(0).code() == FailureCode.REFUSED;
      if (refused || result.status(0) == ObjectStatus.PRESENT) {
        // Whether that is right is for the rules of keys to say.
        continue;
      }
      trial.expectStatus("put of " + Trial.name(key), result, 0, ObjectStatus.OK);
      accepted.add(key);
    }
    return accepted;
  }

  // List.

  @Rule(
      id = "store.list",
      scope = Scope.STORE,
      needs = Capability.LIST,
      text = "List passes on every live key under the prefix once, no temporary, no foreign one.",
      hint =
          "Take the keys from what makes objects readable, not from all that is stored, and stop"
              + " when the callback answers false.")
  static void list(Trial trial) {
    trial.despiteEviction(attempt -> listSettled(trial, attempt));
    trial.despiteEviction(attempt -> listWhilePutting(trial, attempt));
  }

  private static void listSettled(Trial trial, int attempt) {
    CacheStore store = trial.store();
    String at = "settled-" + attempt + "/";
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      names.add(at + "a" + (i % 4 == 0 ? "/b/" : "-") + i);
    }
    names.add(at + "a");
    Set<ObjectKey> live = new HashSet<>(putAccepted(trial, store, names));
    putAccepted(trial, store, List.of(at + "A", at + "b/a", at.substring(0, at.length() - 1)));
    putTooLarge(trial, store, trial.key(at + "a-too-large"));
    if (trial.has(Capability.REMOVE)) {
      ObjectKey gone = trial.key(at + "a-1");
      Removal.untilDone(trial, store, gone);
      live.remove(gone);
    }
    expectListed(trial, "list of settled keys", trial.key(at + "a"), live, live);

    List<ObjectKey> first = new ArrayList<>();
    store.list(
        KeyPrefix.of(trial.key(at + "a").value()),
        key -> {
          first.add(key);
          return first.size() < 3;
        },
        trial.soon());
    trial.expectEqual("keys passed on to a callback that wants three", 3, first.size());
  }

  /** Puts an object that is refused for its size, if that can be had without much memory. */
  private static void putTooLarge(Trial trial, CacheStore store, ObjectKey key) {
    long bytes = trial.limits().objectBytes();
    if (bytes < 8 << 20) {
      store.put(List.of(new PutOp(key, List.of(trial.memory(bytes + 1)))), trial.soon());
    }
  }

  private static void listWhilePutting(Trial trial, int attempt) {
    CacheStore store = trial.store();
    String at = "putting-" + attempt + "/";
    int puts = trial.effort().rounds(200);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      names.add(at + "steady-" + i);
    }
    Set<ObjectKey> steady = new HashSet<>(putAccepted(trial, store, names));
    Set<ObjectKey> possible = new HashSet<>(steady);
    List<ObjectKey> passing = trial.keys(at + "passing-", 4);
    possible.addAll(passing);
    HostMemory source =
        trial.memory(Math.min(trial.limits().objectBytes(), 64 << 10), new Content(3));
    AtomicBoolean over = new AtomicBoolean();
    trial.together(
        2,
        part -> {
          if (part == 0) {
            while (!over.get()) {
              expectListed(trial, "list while others put", trial.key(at), steady, possible);
            }
            return;
          }
          try {
            for (int i = 0; i < puts; i++) {
              ObjectKey key = passing.get(i % passing.size());
              store.put(List.of(new PutOp(key, List.of(source))), trial.soon());
              if (trial.has(Capability.REMOVE)) {
                store.remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
              }
            }
          } finally {
            over.set(true);
          }
        });
  }

  /** Tells whether a key that nobody has removed is gone all the same. */
  private static boolean wasEvicted(Trial trial, ObjectKey key) {
    return trial.has(Capability.BOUNDED)
        && trial.store().exists(List.of(key), trial.soon()).status(0) == ObjectStatus.ABSENT;
  }

  private static void expectListed(
      Trial trial, String what, ObjectKey prefix, Set<ObjectKey> least, Set<ObjectKey> most) {
    List<ObjectKey> passed = new ArrayList<>();
    trial
        .store()
        .list(
            KeyPrefix.of(prefix.value()),
            key -> {
              passed.add(key);
              // A store that passes on keys for ever is stopped.
              return passed.size() < 10_000;
            },
            trial.soon());
    Set<ObjectKey> seen = new HashSet<>();
    for (ObjectKey key : passed) {
      trial.expect(
          seen.add(key),
          what + " to pass on each key once",
          () -> Trial.name(key) + " was passed on again");
      trial.expect(
          most.contains(key),
          what + " to pass on live keys under the prefix only",
          () -> Trial.name(key) + " was passed on");
    }
    for (ObjectKey key : least) {
      trial.expect(
          seen.contains(key) || wasEvicted(trial, key),
          what + " to pass on every live key",
          () -> Trial.name(key) + " was not passed on");
    }
  }

  // Stats.

  @Rule(
      id = "store.stats",
      scope = Scope.STORE,
      alone = true,
      text =
          "The counters equal a script with known answers: each entry of each batch counts once, as"
              + " what it was answered.",
      hint =
          "Count where the status of an entry is decided, once, and the bytes of OK entries only;"
              + " exists, list and opening a session count nothing but failures.")
  static void stats(Trial trial) {
    CacheStore store = trial.store();
    Script script = new Script(trial, store);
    long bytes = usualBytes(trial);
    List<ObjectKey> keys = trial.keys("counted-", 4);

    script.expect("opening", store.stats());
    script.put(keys.get(0), bytes);
    script.put(keys.get(1), bytes / 2);
    script.put(keys.get(2), 1);
    script.expect("three puts", store.stats());
    script.put(keys.get(0), bytes);
    script.expect("a put of a key that is there", store.stats());
    script.get(keys.get(0), bytes);
    script.get(keys.get(2), 1);
    script.expect("two gets", store.stats());
    script.get(keys.get(3), bytes);
    script.expect("a get of an absent object", store.stats());
    script.get(keys.get(1), bytes);
    script.expect("a get with a target of the wrong size", store.stats());
    script.exists(keys);
    script.expect("exists", store.stats());
    if (trial.limits().objectBytes() < 8 << 20) {
      script.put(trial.key("too-large"), trial.limits().objectBytes() + 1);
      script.expect("a put over the limit of objectBytes", store.stats());
    }
    if (trial.limits().keyBytes() < 1 << 20) {
      ObjectKey tooLong = trial.key("k".repeat(trial.limits().keyBytes()));
      script.exists(List.of(tooLong));
      script.put(tooLong, 1);
      script.get(tooLong, 1);
      if (trial.has(Capability.RANGED_READ)) {
        script.session(List.of(tooLong), 2);
      }
      if (trial.has(Capability.REMOVE)) {
        script.remove(List.of(tooLong));
      }
      script.expect("calls with a key over the limit of keyBytes", store.stats());
    }
    if (trial.has(Capability.LIST)) {
      store.list(trial.prefix(), key -> true, trial.soon());
      script.expect("list", store.stats());
    }
    if (trial.has(Capability.RANGED_READ)) {
      script.session(List.of(keys.get(0), keys.get(3)), bytes);
      script.expect("a session with a read of a present and of an absent object", store.stats());
    }
    if (trial.has(Capability.RANGED_READ) && trial.has(Capability.REMOVE)) {
      try (ReadSession session = store.openSession(keys.subList(2, 3), trial.soon())) {
        script.remove(keys.subList(2, 3));
        session.opened();
      }
      script.expect("a remove of an object that a session held open", store.stats());
    }
    if (trial.has(Capability.REMOVE)) {
      script.remove(
          List.of(keys.get(1), keys.get(3)).subList(0, trial.limits().batch() > 1 ? 2 : 1));
      script.expect("a remove of a present and of an absent object", store.stats());
    }
    if (trial.has(Capability.CLEAR)) {
      script.clear(trial.prefix());
      script.expect("clear", store.stats());
    }
  }

  /** Counts what a store answers, and holds its counters against that. */
  private static final class Script {
    private final Trial trial;
    private final CacheStore store;
    private final StoreStats before;
    private final Map<ObjectKey, Long> live = new HashMap<>();
    private long stored;
    private long present;
    private long found;
    private long absent;
    private long failed;
    private long removed;
    private long bytesStored;
    private long bytesRead;

    Script(Trial trial, CacheStore store) {
      this.trial = trial;
      this.store = store;
      this.before = store.stats();
    }

    void put(ObjectKey key, long bytes) {
      BatchResult result =
          store.put(
              List.of(new PutOp(key, List.of(trial.memory(bytes, new Content(bytes))))),
              trial.soon());
      switch (result.status(0)) {
        case OK -> {
          stored++;
          bytesStored += bytes;
          live.putIfAbsent(key, bytes);
        }
        case PRESENT -> present++;
        case FAILED -> failed++;
        case ABSENT -> throw new IllegalStateException("put answered ABSENT");
      }
    }

    void get(ObjectKey key, long bytes) {
      countRead(
          store.get(List.of(new GetOp(key, List.of(trial.memory(bytes)))), trial.soon()).status(0),
          bytes);
    }

    private void countRead(ObjectStatus status, long bytes) {
      switch (status) {
        case OK -> {
          found++;
          bytesRead += bytes;
        }
        case ABSENT -> absent++;
        case FAILED -> failed++;
        case PRESENT -> throw new IllegalStateException("a read answered PRESENT");
      }
    }

    void exists(List<ObjectKey> keys) {
      for (ObjectKey key : keys) {
        failed += store.exists(List.of(key), trial.soon()).count(ObjectStatus.FAILED);
      }
    }

    void session(List<ObjectKey> keys, long bytes) {
      for (ObjectKey key : keys) {
        try (ReadSession session = store.openSession(List.of(key), trial.soon())) {
          failed += session.opened().count(ObjectStatus.FAILED);
          List<Range> half = List.of(new Range(0, trial.memory(bytes / 2)));
          countRead(session.read(List.of(new ReadOp(0, half)), trial.soon()).status(0), bytes / 2);
        }
      }
    }

    void remove(List<ObjectKey> keys) {
      BatchResult result = store.remove(keys, /* evenIfLeased= */ true, trial.soon());
      for (int i = 0; i < keys.size(); i++) {
        switch (result.status(i)) {
          case OK -> {
            removed++;
            live.remove(keys.get(i));
          }
          case ABSENT -> {}
          case FAILED -> failed++;
          case PRESENT -> throw new IllegalStateException("remove answered PRESENT");
        }
      }
    }

    void clear(KeyPrefix prefix) {
      ClearResult result = store.clear(prefix, trial.soon());
      boolean evicted = store.stats().evicted() != before.evicted();
      removed += evicted || result.kept() > 0 ? result.removed() : live.size();
      if (result.kept() == 0) {
        live.clear();
      }
    }

    void expect(String after, StoreStats now) {
      counted(after, "stored", stored, now.stored() - before.stored());
      counted(after, "present", present, now.present() - before.present());
      counted(after, "found", found, now.found() - before.found());
      counted(after, "absent", absent, now.absent() - before.absent());
      counted(after, "failed", failed, now.failed() - before.failed());
      counted(after, "removed", removed, now.removed() - before.removed());
      counted(after, "bytesStored", bytesStored, now.bytesStored() - before.bytesStored());
      counted(after, "bytesRead", bytesRead, now.bytesRead() - before.bytesRead());
      long evicted = now.evicted() - before.evicted();
      trial.expect(
          evicted >= 0 && (evicted == 0 || trial.has(Capability.BOUNDED)),
          "evicted not to rise without BOUNDED after " + after,
          () -> "it rose by " + evicted);
      if (evicted > 0 || !trial.ownsStore()) {
        return;
      }
      if (now.objects() != StoreStats.UNKNOWN) {
        counted(after, "objects", live.size(), now.objects() - before.objects());
      }
      if (now.liveBytes() != StoreStats.UNKNOWN) {
        long bytes = live.values().stream().mapToLong(Long::longValue).sum();
        counted(after, "liveBytes", bytes, now.liveBytes() - before.liveBytes());
      }
    }

    private void counted(String after, String counter, long expected, long observed) {
      trial.expect(
          expected == observed,
          counter + " to have risen by " + expected + " after " + after,
          () -> "it rose by " + observed);
    }
  }

  // Close.

  @Rule(
      id = "store.close",
      scope = Scope.STORE,
      alone = true,
      text =
          "Close is idempotent and waits for calls in flight or stops them, within a bound."
              + " Afterwards no target memory changes and every call is CLOSED. 200 opens and"
              + " closes (as many as fit in 20 s, at least 20, where one takes long) leave threads,"
              + " descriptors and native memory level.",
      hint =
          "Count the calls in flight, refuse new ones first, then wait for the count to be zero,"
              + " and only then free what they use; end every thread and descriptor that open"
              + " made.")
  static void close(Trial trial) {
    closeWhileInUse(trial);
    closedIsClosed(trial);
    opensAndCloses(trial);
  }

  private static final byte SCRIBBLE = 0x5a;

  private static void closeWhileInUse(Trial trial) {
    int rounds = trial.effort().rounds(10);
    long bytes = Math.min(trial.limits().objectBytes(), 256 << 10);
    int threads = 3;
    List<HostMemory> targets = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      targets.add(trial.memory(bytes));
    }
    HostMemory source = trial.memory(bytes, new Content(5));
    for (int round = 0; round < rounds; round++) {
      CacheStore store = trial.open();
      List<ObjectKey> keys = trial.keys("in-use-" + round + "-", threads);
      CountDownLatch busy = new CountDownLatch(threads);
      List<Future<?>> users = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        ObjectKey key = keys.get(i);
        HostMemory target = targets.get(i);
        users.add(
            trial.start(
                "user " + i, () -> useUntilClosed(trial, store, key, source, target, busy)));
      }
      awaitAll(trial, busy);
      Future<Boolean> closing =
          trial.start(
              "close",
              () -> {
                store.close();
                return true;
              });
      awaitClose(trial, "close of a store in use", closing);
      // Nobody but a call that close should have waited for writes to them from now on.
      targets.forEach(target -> target.segment().fill(SCRIBBLE));
      for (Future<?> user : users) {
        trial.await("a call in flight when the store is closed", user);
      }
      expectScribble(trial, targets);
    }
  }

  private static void awaitClose(Trial trial, String what, Future<Boolean> closing) {
    if (!trial.effort().quick()) {
      trial.await(what, closing);
      return;
    }
    Duration bound = trial.limits().grace().plusSeconds(4);
    try {
      closing.get(bound.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      trial.expect(
          false, what + " to return within " + bound.toMillis() + " ms", () -> "it did not");
    } catch (ExecutionException e) {
      trial.await(what, closing);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private static void awaitAll(Trial trial, CountDownLatch latch) {
    try {
      trial.expect(
          latch.await(Trial.PATIENCE.toSeconds(), TimeUnit.SECONDS),
          "calls to be answered",
          () -> latch.getCount() + " threads had no answer for " + Trial.PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Puts and reads until the store says that it is closed. */
  private static boolean useUntilClosed(
      Trial trial,
      CacheStore store,
      ObjectKey key,
      HostMemory source,
      HostMemory target,
      CountDownLatch busy) {
    Deadline patience = trial.soon();
    for (int calls = 0; !patience.hasPassed(); calls++) {
      if (calls == 3) {
        busy.countDown();
      }
      try {
        store.put(List.of(new PutOp(key, List.of(source))), trial.soon());
        store.get(List.of(new GetOp(key, List.of(target))), trial.soon());
        store.exists(List.of(key), trial.soon());
      } catch (CacheException e) {
        trial.expectEqual("the code of what a closed store throws", FailureCode.CLOSED, e.code());
        return true;
      }
    }
    trial.expect(false, "calls to be CLOSED once the store is", () -> "they were served");
    return false;
  }

  private static void expectScribble(Trial trial, List<HostMemory> targets) {
    Deadline watch = Deadline.after(Duration.ofMillis(trial.effort().quick() ? 20 : 200));
    do {
      LockSupport.parkNanos(1_000_000);
      for (HostMemory target : targets) {
        trial.expectFilled("the target of a get, once close has returned,", SCRIBBLE, target);
      }
    } while (!watch.hasPassed());
  }

  private static void closedIsClosed(Trial trial) {
    CacheStore store = trial.open();
    ObjectKey key = trial.key("closed");
    long bytes = usualBytes(trial);
    HostMemory memory = trial.memory(bytes, new Content(9));
    store.put(List.of(new PutOp(key, List.of(memory))), trial.soon());
    ReadSession session =
        trial.has(Capability.RANGED_READ) ? store.openSession(List.of(key), trial.soon()) : null;
    HostMemory target = trial.memory(bytes);
    store.get(List.of(new GetOp(key, List.of(target))), trial.soon());
    try {
      closeTwice(trial, store);
    } catch (Violation e) {
      // It may have waited for this one, and the store is closed again after the rule.
      if (session != null) {
        session.close();
      }
      throw e;
    }
    target.segment().fill(SCRIBBLE);
    Map<String, Runnable> calls = new HashMap<>();
    calls.put("exists", () -> store.exists(List.of(key), trial.soon()));
    calls.put("put", () -> store.put(List.of(new PutOp(key, List.of(memory))), trial.soon()));
    calls.put("get", () -> store.get(List.of(new GetOp(key, List.of(target))), trial.soon()));
    calls.put("probe", () -> store.probe(trial.soon()));
    if (trial.has(Capability.REMOVE)) {
      calls.put("remove", () -> store.remove(List.of(key), false, trial.soon()));
    }
    if (trial.has(Capability.CLEAR)) {
      calls.put("clear", () -> store.clear(trial.prefix(), trial.soon()));
    }
    if (trial.has(Capability.LIST)) {
      calls.put("list", () -> store.list(trial.prefix(), each -> true, trial.soon()));
    }
    if (session != null) {
      calls.put("openSession", () -> store.openSession(List.of(key), trial.soon()).close());
      Range range = new Range(0, target);
      calls.put(
          "read of a session",
          () -> session.read(List.of(new ReadOp(0, List.of(range))), trial.soon()));
    }
    calls.forEach(
        (name, call) -> trial.expectRefused(name + " of a closed store", FailureCode.CLOSED, call));
    trial.expectFilled("the target of a get of a closed store", SCRIBBLE, target);
    try {
      // A store that needs no registration may still say so.
      Registration ignored = store.register(memory);
    } catch (CacheException e) {
      trial.expectEqual("the code of register of a closed store", FailureCode.CLOSED, e.code());
    }
    if (session != null) {
      session.close();
    }
    try {
      store.stats();
    } catch (CacheException e) {
      trial.expect(false, "stats to answer after close", () -> e.code() + ": " + e.getMessage());
    }
  }

  private static void closeTwice(Trial trial, CacheStore store) {
    for (String what : List.of("close", "a second close")) {
      awaitClose(
          trial,
          what,
          trial.start(
              what,
              () -> {
                store.close();
                return true;
              }));
    }
  }

  private static void opensAndCloses(Trial trial) {
    boolean quick = trial.effort().quick();
    int least = quick ? 8 : 20;
    int most = quick ? 20 : 200;
    // As much as makes a store start its threads.
    List<HostMemory> memory = new ArrayList<>();
    for (int i = 0; i < Math.min(4, trial.limits().batch()); i++) {
      memory.add(trial.memory(Math.min(trial.limits().objectBytes(), 256 << 10)));
    }
    for (int i = 0; i < 5; i++) {
      openUseAndClose(trial, memory);
    }
    // What earlier rules have left is freed now, and not while this one counts.
    Deadline longest = Deadline.after(Duration.ofSeconds(1));
    long resident;
    do {
      resident = Footprint.residentNow();
      System.gc();
      LockSupport.parkNanos(50_000_000);
    } while (resident - Footprint.residentNow() > 1 << 10 && !longest.hasPassed());
    Footprint before = Footprint.now();
    Deadline enough = Deadline.after(quick ? Duration.ofSeconds(4) : Trial.PATIENCE);
    int count = 0;
    while (count < least || (count < most && !enough.hasPassed())) {
      openUseAndClose(trial, memory);
      count++;
    }
    int cycles = count;
    // What ends or is freed a moment after close is no leak.
    Deadline settled = Deadline.after(Duration.ofSeconds(3));
    Footprint after = Footprint.now();
    while (before.growth(after, cycles) != null && !settled.hasPassed()) {
      System.gc();
      LockSupport.parkNanos(50_000_000);
      after = Footprint.now();
    }
    String growth = before.growth(after, cycles);
    trial.expect(
        growth == null,
        "threads, descriptors and native memory to be level after " + cycles + " opens and closes",
        () -> String.valueOf(growth));
  }

  /**
   * What a process uses, as far as the system tells; -1 where it does not.
   *
   * @param residentKib all memory in use, the heap's included
   * @param heapUsedKib what of the heap is certainly in use
   * @param heapMostKib what of the heap may be in use
   */
  private record Footprint(
      long threads, long descriptors, long residentKib, long heapUsedKib, long heapMostKib) {
    private static final long NOISE_KIB = 96 << 10;

    static Footprint now() {
      MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
      return new Footprint(
          Thread.getAllStackTraces().size(),
          countOf("/proc/self/fd"),
          residentNow(),
          heap.getUsed() >> 10,
          heap.getCommitted() >> 10);
    }

    private static long countOf(String folder) {
      try (Stream<Path> entries = Files.list(Path.of(folder))) {
        return entries.count();
      } catch (IOException e) {
        return -1;
      }
    }

    private static long residentNow() {
      try {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
          if (line.startsWith("VmRSS:")) {
            return Long.parseLong(line.replaceAll("\\D", ""));
          }
        }
      } catch (IOException e) {
        return -1;
      }
      return -1;
    }

    /** Returns what has grown with the number of cycles, or null. */
    @Nullable String growth(Footprint after, int cycles) {
      long few = cycles / 2;
      if (after.threads - threads > few) {
        return "%d threads have become %d".formatted(threads, after.threads);
      }
      if (after.descriptors - descriptors > few) {
        return "%d open descriptors have become %d".formatted(descriptors, after.descriptors);
      }
      // The collector grows the heap as it likes.
      long heap = after.heapMostKib - heapUsedKib;
      if (after.residentKib - residentKib - heap > NOISE_KIB) {
        return "%d KiB of resident memory have become %d, of which the heap has taken %d at most"
            .formatted(residentKib, after.residentKib, heap);
      }
      return null;
    }
  }

  private static void openUseAndClose(Trial trial, List<HostMemory> memory) {
    int count = memory.size();
    List<ObjectKey> keys = trial.keys("level-", count);
    List<PutOp> puts = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      puts.add(new PutOp(keys.get(i), List.of(memory.get(i))));
      gets.add(new GetOp(keys.get(i), List.of(memory.get(i))));
    }
    // Not held until the end of the rule, so that nothing but a leak keeps what it used.
    try (CacheStore store = trial.observe(trial.subject().open())) {
      store.put(puts, trial.soon());
      store.get(gets, trial.soon());
    }
  }

  private static long usualBytes(Trial trial) {
    return Math.min(trial.limits().objectBytes(), 4096);
  }
}
