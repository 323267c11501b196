package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Stores that go wrong only where calls meet. */
public final class ConcurrencyMutants {
  private ConcurrencyMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        mutant("exists remembers what a remove has just forgotten", RemembersExistence::new),
        mutant("put answers PRESENT for what another is still putting", PresentTooEarly::new),
        mutant("two removes both take one object away", RemovesTwice::new),
        interrupted(
            "the first interrupt closes the channel that all use",
            "IO: the channel is closed",
            () ->
                new ReferenceStore() {
                  private boolean broken;

                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    broken |= Thread.currentThread().isInterrupted();
                    if (broken) {
                      result.failed(i, StoreFailure.of(FailureCode.IO, "the channel is closed"));
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        interrupted(
            "put forgets that its thread was interrupted",
            "stay interrupted",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    boolean ignored = Thread.interrupted();
                    super.put(op, result, i);
                  }
                }),
        interrupted(
            "exists throws if its thread is interrupted",
            "CANCELLED",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult exists(List<ObjectKey> keys, Deadline by) {
                    if (Thread.currentThread().isInterrupted()) {
                      throw new CacheException(FailureCode.CANCELLED, "interrupted");
                    }
                    return super.exists(keys, by);
                  }
                }));
  }

  private static Mutant interrupted(String what, String says, Supplier<ReferenceStore> store) {
    return Mutant.ofStore(
        Set.of("store.interrupt"), what, says, () -> StoreUnderTest.of("mutant", store));
  }

  private static Mutant mutant(String what, Supplier<ReferenceStore> store) {
    return Mutant.ofStore(
        Set.of("store.concurrent"),
        what,
        "an order of the calls on one key",
        () -> StoreUnderTest.of("mutant", store));
  }

  /** A store that evicts may forget anything at any time, which would explain much. */
  private static class Unbounded extends SlowCopies {
    Unbounded() {
      super(without(Capability.BOUNDED), 1L << 40);
    }

    final boolean has(ObjectKey key) {
      return listed(KeyPrefix.of(key.value())).contains(key);
    }
  }

  private static final class RemembersExistence extends Unbounded {
    private final Set<ObjectKey> known = new HashSet<>();

    @Override
    public synchronized BatchResult exists(List<ObjectKey> keys, Deadline by) {
      BatchResult result = super.exists(keys, by);
      List<ObjectKey> seen = new ArrayList<>();
      BatchResult.Builder remembered = BatchResult.builder(keys.size());
      for (int i = 0; i < keys.size(); i++) {
        if (result.isOk(i)) {
          seen.add(keys.get(i));
        }
        if (result.status(i) == ObjectStatus.FAILED) {
          remembered.failed(i, result.failure(i));
        } else {
          remembered.set(i, known.contains(keys.get(i)) ? ObjectStatus.OK : result.status(i));
        }
      }
      known.addAll(seen);
      return remembered.build();
    }

    @Override
    protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
      known.remove(key);
      if (has(key)) {
        pause();
      }
      super.remove(key, evenIfLeased, result, i);
    }

    @Override
    public synchronized ClearResult clear(KeyPrefix prefix, Deadline by) {
      known.clear();
      return super.clear(prefix, by);
    }
  }

  private static final class PresentTooEarly extends Unbounded {
    private final Set<ObjectKey> putting = new HashSet<>();

    @Override
    protected void put(PutOp op, BatchResult.Builder result, int i) {
      if (has(op.key())) {
        super.put(op, result, i);
      } else if (putting.add(op.key())) {
        pause();
        super.put(op, result, i);
        putting.remove(op.key());
      } else {
        result.set(i, ObjectStatus.PRESENT);
      }
    }
  }

  private static final class RemovesTwice extends Unbounded {
    @Override
    protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
      if (has(key)) {
        pause();
        super.remove(key, evenIfLeased, BatchResult.builder(i + 1), i);
        result.set(i, ObjectStatus.OK);
      } else {
        super.remove(key, evenIfLeased, result, i);
      }
    }
  }
}
