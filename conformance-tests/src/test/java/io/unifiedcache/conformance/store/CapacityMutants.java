package io.unifiedcache.conformance.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongFunction;

/** Stores that go wrong with their budget. */
public final class CapacityMutants {
  private static final long USUAL = 256L << 20;

  /** All objects fit in the usual budget, and some do not in a small one. */
  private static final StoreLimits SMALL_OBJECTS =
      new StoreLimits(65_536, 65_536, 8L << 20, 65_536, 1, Duration.ofSeconds(1), Duration.ZERO);

  private CapacityMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        mutant(
            "store.bounded",
            "room is made after an object was added",
            "live bytes from 0 to the budget",
            MakesRoomLate::new),
        mutant(
            "store.bounded",
            "eviction does not give its bytes back",
            "live bytes",
            capacity ->
                new Miscounting(capacity) {
                  @Override
                  protected void makeRoom(long needed) {
                    evicting = true;
                    super.makeRoom(needed);
                    evicting = false;
                  }

                  @Override
                  protected void release(byte[] bytes) {
                    if (evicting) {
                      error += bytes.length;
                    }
                  }
                }),
        mutant(
            "store.bounded",
            "every other eviction is counted",
            "neither removed nor evicted",
            capacity ->
                new ReferenceStore(ReferenceStore.ALL, SMALL_OBJECTS, capacity) {
                  @Override
                  public synchronized StoreStats stats() {
                    StoreStats now = super.stats();
                    return new StoreStats(
                        now.objects(),
                        now.liveBytes(),
                        now.capacityBytes(),
                        now.stored(),
                        now.present(),
                        now.found(),
                        now.absent(),
                        now.failed(),
                        now.removed(),
                        (now.evicted() + 1) / 2,
                        now.bytesStored(),
                        now.bytesRead());
                  }
                }),
        mutant(
            "store.bounded",
            "remove of an evicted object gives its bytes back again",
            "live bytes",
            GivesBackTwice::new),
        mutant(
            "store.no-space",
            "an object that finds no room leaves an empty one behind",
            "exists of what found no room",
            capacity ->
                new ReferenceStore(ReferenceStore.ALL, SMALL_OBJECTS, capacity) {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    if (isTooLarge(op, capacity)) {
                      super.put(new PutOp(op.key(), List.of()), BatchResult.builder(1), 0);
                    }
                  }
                }),
        mutant(
            "store.no-space",
            "once an object found no room, none does",
            "FAILED with NO_SPACE",
            capacity ->
                new ReferenceStore(ReferenceStore.ALL, SMALL_OBJECTS, capacity) {
                  private boolean full;

                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    full |= isTooLarge(op, capacity);
                    if (full) {
                      fail(result, i, StoreFailure.of(FailureCode.NO_SPACE, "the store is full"));
                    } else {
                      super.put(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.no-space",
            "an object that finds no room is an error below",
            "FAILED with IO",
            capacity ->
                new ReferenceStore(ReferenceStore.ALL, SMALL_OBJECTS, capacity) {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    if (isTooLarge(op, capacity)) {
                      fail(result, i, StoreFailure.of(FailureCode.IO, "cannot allocate"));
                    } else {
                      super.put(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.evict-in-use",
            "eviction wipes an object while it is read",
            "an object read while others take its room",
            capacity ->
                new Wiping(capacity) {
                  @Override
                  boolean wipes() {
                    return copying > 0;
                  }
                }),
        mutant(
            "store.evict-in-use",
            "eviction wipes an object that a session holds",
            "an object that a session holds",
            capacity ->
                new Wiping(capacity) {
                  @Override
                  boolean wipes() {
                    return copying == 0;
                  }
                }),
        mutant(
            "store.recency",
            "what was put first is evicted first",
            "outlive",
            capacity ->
                new Ordered(capacity) {
                  @Override
                  void used(ObjectKey key) {}

                  @Override
                  ObjectKey victim() {
                    return order.getFirst();
                  }
                }),
        mutant(
            "store.recency",
            "what was used last is evicted first",
            "outlive",
            capacity ->
                new Ordered(capacity) {
                  @Override
                  void used(ObjectKey key) {
                    if (order.remove(key)) {
                      order.add(key);
                    }
                  }

                  @Override
                  ObjectKey victim() {
                    return order.getLast();
                  }
                }));
  }

  private static boolean isTooLarge(PutOp op, long capacity) {
    return op.byteSize() > capacity && op.byteSize() <= SMALL_OBJECTS.objectBytes();
  }

  private static Mutant mutant(
      String rule, String what, String says, LongFunction<ReferenceStore> store) {
    return Mutant.ofStore(
        Set.of(rule),
        what,
        says,
        () -> StoreUnderTest.of("mutant", () -> store.apply(USUAL)).withBudget(store));
  }

  private static final class MakesRoomLate extends SlowCopies {
    private final long capacity;

    MakesRoomLate(long capacity) {
      super(capacity);
      this.capacity = capacity;
    }

    @Override
    protected void makeRoom(long needed) {}

    @Override
    protected void put(PutOp op, BatchResult.Builder result, int i) {
      super.put(op, result, i);
      if (stats().liveBytes() > capacity) {
        pause();
        super.makeRoom(0);
      }
    }
  }

  private abstract static class Miscounting extends ReferenceStore {
    boolean evicting;
    long error;

    Miscounting(long capacity) {
      super(ALL, LIMITS, capacity);
    }

    @Override
    public synchronized StoreStats stats() {
      StoreStats now = super.stats();
      return new StoreStats(
          now.objects(),
          now.liveBytes() + error,
          now.capacityBytes(),
          now.stored(),
          now.present(),
          now.found(),
          now.absent(),
          now.failed(),
          now.removed(),
          now.evicted(),
          now.bytesStored(),
          now.bytesRead());
    }
  }

  private static final class GivesBackTwice extends Miscounting {
    private final Map<ObjectKey, Long> sizes = new HashMap<>();

    GivesBackTwice(long capacity) {
      super(capacity);
    }

    @Override
    protected void put(PutOp op, BatchResult.Builder result, int i) {
      super.put(op, result, i);
      if (find(op.key()) != null) {
        sizes.put(op.key(), op.byteSize());
      }
    }

    @Override
    protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
      Long size = sizes.remove(key);
      if (size != null && !listed(KeyPrefix.of(key.value())).contains(key)) {
        error -= size;
      }
      super.remove(key, evenIfLeased, result, i);
    }
  }

  private abstract static class Wiping extends SlowCopies {
    private boolean evicting;

    Wiping(long capacity) {
      super(capacity);
    }

    abstract boolean wipes();

    @Override
    protected void makeRoom(long needed) {
      evicting = true;
      super.makeRoom(needed);
      evicting = false;
    }

    @Override
    protected void release(byte[] bytes) {
      if (evicting && wipes()) {
        Arrays.fill(bytes, (byte) 0);
      }
    }
  }

  private abstract static class Ordered extends ReferenceStore {
    final LinkedHashSet<ObjectKey> order = new LinkedHashSet<>();
    private final long capacity;

    Ordered(long capacity) {
      super(ALL, LIMITS, capacity);
      this.capacity = capacity;
    }

    abstract void used(ObjectKey key);

    abstract ObjectKey victim();

    @Override
    protected void put(PutOp op, BatchResult.Builder result, int i) {
      super.put(op, result, i);
      if (op.byteSize() <= capacity) {
        order.add(op.key());
        used(op.key());
      }
    }

    @Override
    protected void get(GetOp op, BatchResult.Builder result, int i) {
      super.get(op, result, i);
      used(op.key());
    }

    @Override
    protected void makeRoom(long needed) {
      order.retainAll(Set.copyOf(listed(KeyPrefix.EVERYTHING)));
      while (capacity - stats().liveBytes() < needed) {
        ObjectKey victim = victim();
        order.remove(victim);
        remove(victim, /* evenIfLeased= */ true, BatchResult.builder(1), 0);
      }
    }
  }
}
