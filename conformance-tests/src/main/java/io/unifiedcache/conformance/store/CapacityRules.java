package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
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
import io.unifiedcache.conformance.result.Level;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/** The rules of stores that keep to a budget. */
public final class CapacityRules {
  private static final long[] BUDGETS = {1L << 20, 16L << 20, 64L << 20};

  /** More than this is not filled: it would take too long, and memory that others need. */
  private static final long LARGEST = 128L << 20;

  private CapacityRules() {}

  /**
   * A store with a small budget.
   *
   * @param capacity the budget, as the store tells it
   * @param before its counters once it was open and emptied
   */
  private record Small(CacheStore store, long capacity, StoreStats before) {
    boolean empty() {
      return before.objects() == 0;
    }

    /** Opens the store with the smallest budget that it takes. */
    static Small open(Trial trial) {
      for (long budget : BUDGETS) {
        CacheStore store;
        try {
          store = trial.openWithBudget(budget);
        } catch (CacheException e) {
          if (e.code() != FailureCode.REFUSED) {
            throw e;
          }
          // It takes no budget as small as that.
          continue;
        }
        StoreStats stats = store.stats();
        long capacity = stats.capacityBytes();
        trial.expect(
            capacity > 0,
            "a bounded store to tell its budget in stats",
            () -> "capacityBytes is " + capacity);
        if (capacity > LARGEST) {
          break;
        }
        return new Small(store, capacity, stats);
      }
      throw trial.noHook("a way to open the store with a budget of at most 128 MiB");
    }

    /** Returns a size of which about so many fit. */
    long part(int count) {
      return Math.max(1, Math.min(store.limits().objectBytes(), capacity / count));
    }
  }

  private static BatchResult put(Trial trial, CacheStore store, ObjectKey key, HostMemory source) {
    return store.put(List.of(new PutOp(key, List.of(source))), trial.soon());
  }

  private static boolean isThere(Trial trial, CacheStore store, ObjectKey key) {
    return store.exists(List.of(key), trial.soon()).isOk(0);
  }

  // No space.

  @Rule(
      id = "store.no-space",
      scope = Scope.STORE,
      needs = Capability.BOUNDED,
      alone = true,
      text =
          "An object over the budget is refused with NO_SPACE, leaves nothing behind and does not"
              + " poison later puts.",
      hint =
          "Find out that an object cannot fit before anything is reserved or evicted for it, and"
              + " undo on failure whatever was done.")
  static void noSpace(Trial trial) {
    Small small = Small.open(trial);
    CacheStore store = small.store();
    long tooLarge = small.capacity() + 1;
    HostMemory source = trial.memory(tooLarge, new Content(1));
    long bytes = small.part(16);
    int rounds = trial.effort().rounds(100);
    long liveBefore = store.stats().liveBytes();
    for (int i = 0; i < rounds; i++) {
      ObjectKey key = trial.key("too-large-" + i);
      BatchResult result = put(trial, store, key, source);
      String what = "put of %d bytes into a store of %d".formatted(tooLarge, small.capacity());
      if (tooLarge <= store.limits().objectBytes()) {
        trial.expectFailure(what, result, 0, FailureCode.NO_SPACE);
      } else {
        trial.expectFailure(what, result, 0, FailureCode.NO_SPACE, FailureCode.REFUSED);
      }
      expectNothing(trial, store, key, source, liveBefore);
    }
    trial.despiteEviction(
        attempt -> {
          List<ObjectKey> keys = trial.keys("after-" + attempt + "-", 8);
          for (ObjectKey key : keys) {
            trial.put(store, key, new Content(2), bytes);
          }
          for (ObjectKey key : keys) {
            trial.expectObject(store, key, new Content(2), bytes);
          }
          ObjectKey again = trial.key("too-large-0");
          if (attempt == 0) {
            trial.put(store, again, new Content(3), bytes);
            trial.expectObject(store, again, new Content(3), bytes);
          }
        });
    StoreStats stats = store.stats();
    trial.expect(
        stats.liveBytes() <= small.capacity(),
        "live bytes within the budget of " + small.capacity(),
        () -> stats.liveBytes() + " bytes");
  }

  private static void expectNothing(
      Trial trial, CacheStore store, ObjectKey key, HostMemory memory, long liveBefore) {
    BatchResult exists = store.exists(List.of(key), trial.soon());
    trial.expectStatus("exists of what found no room", exists, 0, ObjectStatus.ABSENT);
    BatchResult got = store.get(List.of(new GetOp(key, List.of(memory))), trial.soon());
    trial.expectStatus("get of what found no room", got, 0, ObjectStatus.ABSENT);
    if (trial.has(Capability.LIST)) {
      store.list(
          trial.prefix(),
          each -> {
            trial.expect(
                !each.equals(key),
                "list not to pass on what found no room",
                () -> Trial.name(each) + " was passed on");
            return true;
          },
          trial.soon());
    }
    StoreStats stats = store.stats();
    trial.expect(
        stats.liveBytes() <= liveBefore,
        "live bytes to stay " + liveBefore + " where an object found no room",
        () -> stats.liveBytes() + " bytes in " + stats.objects() + " objects");
  }

  // Bounded.

  @Rule(
      id = "store.bounded",
      scope = Scope.STORE,
      needs = Capability.BOUNDED,
      alone = true,
      text =
          "Live bytes never pass the budget, at any moment, with objects of mixed sizes. Used bytes"
              + " equal the sum of the live sizes after any history, are 0 after clear and never"
              + " negative.",
      hint =
          "Make room before an object is added, under the lock that adds it, and change the sum"
              + " exactly where an object comes or goes: put, overwrite, remove, clear, evict.")
  static void bounded(Trial trial) {
    Small small = Small.open(trial);
    Model model = new Model(trial, small, "mixed-", trial.random());
    int steps = trial.effort().rounds(3_000);
    for (int i = 0; i < steps; i++) {
      model.step();
      expectWithin(trial, small, small.store().stats());
      if (i % 100 == 99) {
        model.expectSums();
      }
    }
    model.expectSums();
    together(trial, small, model);
    model.expectSums();
    model.removeAll();
  }

  private static void expectWithin(Trial trial, Small small, StoreStats stats) {
    if (stats.liveBytes() == StoreStats.UNKNOWN) {
      return;
    }
    trial.expect(
        stats.liveBytes() >= 0 && stats.liveBytes() <= small.capacity(),
        "live bytes from 0 to the budget of " + small.capacity(),
        () -> stats.liveBytes() + " bytes in " + stats.objects() + " objects");
  }

  /** Several threads put and remove while another one looks. */
  private static void together(Trial trial, Small small, Model shared) {
    int writers = 3;
    AtomicInteger writing = new AtomicInteger(writers);
    int steps = trial.effort().rounds(2_000);
    List<Model> models = new ArrayList<>();
    for (int i = 0; i < writers; i++) {
      models.add(
          new Model(trial, small, "mixed-" + i + "-", new Random(trial.random().nextLong())));
    }
    trial.together(
        writers + 1,
        part -> {
          if (part == writers) {
            while (writing.get() > 0) {
              expectWithin(trial, small, small.store().stats());
            }
            return;
          }
          try {
            for (int i = 0; i < steps; i++) {
              models.get(part).step();
            }
          } finally {
            writing.decrementAndGet();
          }
        });
    models.forEach(shared::add);
  }

  /** Objects of mixed sizes, each key always with the same, that come and go by chance. */
  private static final class Model {
    private static final int KEYS = 64;
    private static final Content CONTENT = new Content(11);

    private final Trial trial;
    private final Small small;
    private final Random random;
    private final HostMemory source;
    private final HostMemory target;
    private final Map<ObjectKey, Long> sizes = new LinkedHashMap<>();

    Model(Trial trial, Small small, String name, Random random) {
      this.trial = trial;
      this.small = small;
      this.random = random;
      this.source = trial.memory(small.part(3), CONTENT);
      this.target = trial.memory(small.part(3));
      trial.keys(name, KEYS).forEach(key -> sizes.put(key, size()));
    }

    /** Small ones are many, large ones take the room of many. */
    private long size() {
      long most = source.byteSize();
      long bound =
          switch (random.nextInt(4)) {
            case 0 -> Math.min(most, 64);
            case 1 -> most;
            default -> Math.max(1, most / 8);
          };
      return random.nextLong(bound) + 1;
    }

    void step() {
      List<ObjectKey> keys = List.copyOf(sizes.keySet());
      ObjectKey key = keys.get(random.nextInt(keys.size()));
      long size = sizes.getOrDefault(key, 0L);
      int choice = random.nextInt(10);
      if (choice < 7) {
        put(trial, small.store(), key, source.slice(0, size));
      } else if (choice < 8 || !trial.has(Capability.REMOVE)) {
        GetOp get = new GetOp(key, List.of(target.slice(0, size)));
        small.store().get(List.of(get), trial.soon());
      } else {
        small.store().remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
      }
    }

    void add(Model other) {
      sizes.putAll(other.sizes);
    }

    /** Holds what the store tells against what is there; nobody else is at it. */
    void expectSums() {
      long bytes;
      long objects;
      long evicted;
      StoreStats stats = small.store().stats();
      int attempts = 0;
      do {
        // An eviction in the middle leaves nothing to compare.
        evicted = stats.evicted();
        bytes = 0;
        objects = 0;
        for (Map.Entry<ObjectKey, Long> each : sizes.entrySet()) {
          if (isThere(trial, small.store(), each.getKey())) {
            bytes += each.getValue();
            objects++;
          }
        }
        stats = small.store().stats();
      } while (stats.evicted() != evicted && ++attempts < 10);
      expectWithin(trial, small, stats);
      long sum = bytes;
      long count = objects;
      trial.expect(
          sum <= small.capacity(),
          "no more than the budget of " + small.capacity() + " bytes to be readable",
          () -> count + " objects of " + sum + " bytes are");
      if (!small.empty()) {
        return;
      }
      if (stats.liveBytes() != StoreStats.UNKNOWN) {
        trial.expectEqual("live bytes with " + count + " objects", sum, stats.liveBytes());
      }
      if (stats.objects() == StoreStats.UNKNOWN) {
        return;
      }
      trial.expectEqual("live objects of " + sum + " bytes", count, stats.objects());
      if (trial.has(Capability.REPORTS_PRESENT)) {
        trial.expectEqual(
            "objects that were stored and neither removed nor evicted",
            count,
            left(stats) - left(small.before()));
      }
    }

    private static long left(StoreStats stats) {
      return stats.stored() - stats.removed() - stats.evicted();
    }

    void removeAll() {
      if (trial.has(Capability.CLEAR)) {
        Removal.clear(trial, small.store(), trial.prefix());
      } else if (trial.has(Capability.REMOVE)) {
        for (ObjectKey key : sizes.keySet()) {
          small.store().remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
        }
      } else {
        return;
      }
      StoreStats stats = small.store().stats();
      if (small.empty() && stats.liveBytes() != StoreStats.UNKNOWN) {
        trial.expectEqual("live bytes once all is removed", 0L, stats.liveBytes());
      }
    }
  }

  // Eviction.

  @Rule(
      id = "store.evict-in-use",
      scope = Scope.STORE,
      needs = Capability.BOUNDED,
      alone = true,
      text = "Eviction never disturbs a running read: it is whole, or the failure is reported.",
      hint =
          "Pin an object before its bytes are copied, and give its memory to others only when the"
              + " last pin is gone.")
  static void evictInUse(Trial trial) {
    Small small = Small.open(trial);
    if (trial.has(Capability.RANGED_READ)) {
      evictUnderSession(trial, small);
    }
    evictUnderReaders(trial, small);
  }

  private static void evictUnderSession(Trial trial, Small small) {
    CacheStore store = small.store();
    long bytes = small.part(8);
    ObjectKey key = trial.key("held");
    put(trial, store, key, trial.memory(bytes, new Content(1)));
    try (ReadSession session = store.openSession(List.of(key), trial.soon())) {
      fill(trial, small, "over-held-", bytes);
      HostMemory target = trial.memory(bytes);
      ReadOp read = new ReadOp(0, List.of(new Range(0, target)));
      if (session.read(List.of(read), trial.soon()).isOk(0)) {
        trial.expectBytes(
            "an object that a session holds while others take its room", new Content(1), target, 0);
      }
    }
  }

  /** Puts twice what fits. */
  private static void fill(Trial trial, Small small, String name, long bytes) {
    HostMemory other = trial.memory(bytes, new Content(-1));
    long count = 2 * (small.capacity() / bytes) + 2;
    for (int i = 0; i < count; i++) {
      put(trial, small.store(), trial.key(name + i), other);
    }
  }

  private static void evictUnderReaders(Trial trial, Small small) {
    CacheStore store = small.store();
    long bytes = small.part(8);
    int readers = 2;
    List<ObjectKey> keys = trial.keys("read-", 16);
    List<HostMemory> sources = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      sources.add(trial.memory(bytes, new Content(i)));
    }
    AtomicInteger reading = new AtomicInteger(readers);
    AtomicInteger reads = new AtomicInteger();
    AtomicInteger whole = new AtomicInteger();
    int rounds = trial.effort().rounds(2_000);
    Deadline enough = Deadline.after(Duration.ofSeconds(3));
    List<Random> randoms = new ArrayList<>();
    for (int i = 0; i <= readers; i++) {
      randoms.add(new Random(trial.random().nextLong()));
    }
    trial.together(
        readers + 1,
        part -> {
          Random random = randoms.get(part);
          if (part == readers) {
            // All of them do not fit, so that each put takes the room of another.
            while (reading.get() > 0) {
              int i = random.nextInt(keys.size());
              put(trial, store, keys.get(i), sources.get(i));
            }
            return;
          }
          HostMemory target = trial.memory(bytes);
          try {
            while (reads.get() < rounds || (whole.get() < rounds / 2 && !enough.hasPassed())) {
              reads.incrementAndGet();
              int i = random.nextInt(keys.size());
              GetOp get = new GetOp(keys.get(i), List.of(target));
              if (store.get(List.of(get), trial.soon()).isOk(0)) {
                trial.expectBytes(
                    "an object read while others take its room", new Content(i), target, 0);
                whole.incrementAndGet();
              }
            }
          } finally {
            reading.decrementAndGet();
          }
        });
    if (whole.get() == 0) {
      trial.note("no read met an object");
    }
  }

  @Rule(
      id = "store.recency",
      level = Level.SHOULD,
      scope = Scope.STORE,
      needs = Capability.BOUNDED,
      alone = true,
      text = "An object read again and again outlives one that is never read.",
      hint = "Move an object to the end of the order of eviction when it is read, not only put.")
  static void recency(Trial trial) {
    Small small = Small.open(trial);
    CacheStore store = small.store();
    long bytes = small.part(32);
    List<ObjectKey> read = trial.keys("read-", 4);
    List<ObjectKey> unread = trial.keys("unread-", 4);
    HostMemory source = trial.memory(bytes, new Content(1));
    HostMemory target = trial.memory(bytes);
    for (int i = 0; i < 4; i++) {
      put(trial, store, read.get(i), source);
      put(trial, store, unread.get(i), source);
    }
    long others = small.capacity() / bytes * 3 / 2;
    for (int i = 0; i < others; i++) {
      for (ObjectKey key : read) {
        store.get(List.of(new GetOp(key, List.of(target))), trial.soon());
      }
      put(trial, store, trial.key("other-" + i), source);
    }
    long readLeft = count(trial, store, read);
    long unreadLeft = count(trial, store, unread);
    if (readLeft == 4 && unreadLeft == 4) {
      trial.note("neither were evicted while others took twice the budget");
    }
    trial.expect(
        readLeft >= unreadLeft && readLeft > 0,
        "objects that are read again and again to outlive those never read",
        () -> readLeft + " of 4 read ones and " + unreadLeft + " of 4 others are left");
  }

  private static long count(Trial trial, CacheStore store, List<ObjectKey> keys) {
    return keys.stream().filter(key -> isThere(trial, store, key)).count();
  }
}
