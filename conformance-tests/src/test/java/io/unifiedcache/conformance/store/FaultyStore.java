package io.unifiedcache.conformance.store;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.conformance.subject.FaultInjector;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A reference store below which things go wrong when they are told to, and which notices. */
class FaultyStore extends ReferenceStore {
  /** What is wrong with objects. */
  private final Map<ObjectKey, FaultInjector.Fault> faults = new ConcurrentHashMap<>();

  private final Object gate = new Object();
  private boolean stalled;

  /** Returns the description of such a store, with faults in the one opened last. */
  static StoreUnderTest underTest(String name, Supplier<? extends FaultyStore> opening) {
    AtomicReference<FaultyStore> latest = new AtomicReference<>();
    return StoreUnderTest.of(
            name,
            () -> {
              FaultyStore store = opening.get();
              latest.set(store);
              return store;
            })
        .withFaults(
            new FaultInjector() {
              @Override
              public boolean inject(Fault fault, ObjectKey key) {
                return requireNonNull(latest.get()).inject(fault, key);
              }

              @Override
              public Stall stall() {
                return requireNonNull(latest.get()).stall();
              }
            });
  }

  private synchronized boolean inject(FaultInjector.Fault fault, ObjectKey key) {
    if (fault == FaultInjector.Fault.VANISHED) {
      super.remove(key, true, BatchResult.builder(1), 0);
    } else {
      faults.put(key, fault);
    }
    return true;
  }

  private FaultInjector.Stall stall() {
    synchronized (gate) {
      stalled = true;
    }
    return () -> {
      synchronized (gate) {
        stalled = false;
        gate.notifyAll();
      }
    };
  }

  /** Waits until nothing stalls or the deadline passes; tells whether nothing stalls. */
  protected boolean awaitAnswer(Deadline by) {
    synchronized (gate) {
      while (stalled && !by.hasPassed()) {
        try {
          gate.wait(Math.max(1, Math.min(by.remainingNanos() / 1_000_000, 100)));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return false;
        }
      }
      return !stalled;
    }
  }

  /** Answers what met a stall. */
  protected StoreFailure late(List<Memory> memory) {
    return StoreFailure.of(FailureCode.TIMEOUT, "the deadline passed during a stall");
  }

  private BatchResult allLate(int entries) {
    return BatchResult.allFailed(entries, late(List.of()));
  }

  /** Answers for an object that is spoiled. */
  protected void spoiled(
      FaultInjector.Fault fault,
      ObjectKey key,
      List<Memory> targets,
      BatchResult.Builder result,
      int i) {
    fail(
        result,
        i,
        StoreFailure.of(FailureCode.CORRUPT, "object " + key + " is spoiled: " + fault)
            .withMemory(MemoryState.DIRTY));
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    return awaitAnswer(by) ? super.exists(keys, by) : allLate(keys.size());
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    return awaitAnswer(by) ? super.put(ops, by) : allLate(ops.size());
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return awaitAnswer(by)
        ? super.get(ops, by)
        : BatchResult.allFailed(
            ops.size(), late(ops.stream().flatMap(op -> op.pieces().stream()).toList()));
  }

  @Override
  protected void get(GetOp op, BatchResult.Builder result, int i) {
    FaultInjector.Fault fault = faults.get(op.key());
    if (fault == null) {
      super.get(op, result, i);
    } else {
      spoiled(fault, op.key(), op.pieces(), result, i);
    }
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    if (awaitAnswer(by)) {
      return super.openSession(keys, by);
    }
    List<byte @Nullable []> nothing = new ArrayList<>(Collections.nCopies(keys.size(), null));
    return session(keys, nothing, allLate(keys.size()));
  }

  @Override
  protected ReadSession session(
      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
    return new Session(keys, held, opened) {
      @Override
      public BatchResult read(List<ReadOp> ops, Deadline by) {
        return awaitAnswer(by) ? super.read(ops, by) : allLate(ops.size());
      }

      @Override
      protected void read(ReadOp op, BatchResult.Builder result, int i) {
        FaultInjector.Fault fault = faults.get(keys.get(op.entry()));
        if (fault == null) {
          super.read(op, result, i);
        } else {
          List<Memory> targets = op.ranges().stream().map(Range::target).toList();
          spoiled(fault, keys.get(op.entry()), targets, result, i);
        }
      }
    };
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    return awaitAnswer(by) ? super.remove(keys, evenIfLeased, by) : allLate(keys.size());
  }

  @Override
  protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
    super.remove(key, evenIfLeased, result, i);
    mend(key);
  }

  /** Forgets what was wrong with an object. */
  protected void mend(ObjectKey key) {
    faults.remove(key);
  }

  /** Tells whether an object is spoiled. */
  protected boolean isSpoiled(ObjectKey key) {
    return faults.containsKey(key);
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    requireAnswer(by);
    return super.clear(prefix, by);
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    requireAnswer(by);
    super.list(prefix, more, by);
  }

  private void requireAnswer(Deadline by) {
    if (!awaitAnswer(by)) {
      throw new CacheException(FailureCode.TIMEOUT, "the deadline passed");
    }
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return awaitAnswer(by)
        ? super.probe(by)
        : new StoreHealth(StoreHealth.State.DOWN, "nothing below answers");
  }
}
