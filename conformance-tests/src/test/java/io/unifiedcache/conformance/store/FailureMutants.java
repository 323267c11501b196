package io.unifiedcache.conformance.store;

import static io.unifiedcache.conformance.store.StateMutants.faulty;
import static io.unifiedcache.conformance.store.StoreMutants.mutant;
import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.FaultInjector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Small edits of the reference store, each of which breaks a rule of what goes wrong, or of the
 * memory that a store is given.
 */
public final class FailureMutants {
  private FailureMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(failures(), codes(), deadlines(), memory(), registrations())
        .flatMap(List::stream)
        .toList();
  }

  // store.failed-is-not-ok

  private static List<Mutant> failures() {
    return List.of(
        faulty(
            "store.failed-is-not-ok",
            "a short read is filled up with zeros",
            "OK after TRUNCATED",
            () ->
                new FaultyStore() {
                  @Override
                  protected void spoiled(
                      FaultInjector.Fault fault,
                      ObjectKey key,
                      List<Memory> targets,
                      BatchResult.Builder result,
                      int i) {
                    if (fault == FaultInjector.Fault.TRUNCATED) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.spoiled(fault, key, targets, result, i);
                    }
                  }
                }),
        faulty(
            "store.failed-is-not-ok",
            "a flipped bit is not seen",
            "OK after FLIPPED_BIT",
            () ->
                new FaultyStore() {
                  @Override
                  protected void spoiled(
                      FaultInjector.Fault fault,
                      ObjectKey key,
                      List<Memory> targets,
                      BatchResult.Builder result,
                      int i) {
                    if (fault == FaultInjector.Fault.FLIPPED_BIT) {
                      byte[] bytes = requireNonNull(find(key));
                      bytes[0] ^= 1;
                      long offset = 0;
                      for (Memory target : targets) {
                        scatter(bytes, offset, target);
                        offset += target.byteSize();
                      }
                      bytes[0] ^= 1;
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.spoiled(fault, key, targets, result, i);
                    }
                  }
                }),
        faulty(
            "store.failed-is-not-ok",
            "an object that is spoiled is counted as found",
            "found went from",
            () ->
                new FaultyStore() {
                  private long wrong;

                  @Override
                  protected void spoiled(
                      FaultInjector.Fault fault,
                      ObjectKey key,
                      List<Memory> targets,
                      BatchResult.Builder result,
                      int i) {
                    wrong++;
                    super.spoiled(fault, key, targets, result, i);
                  }

                  @Override
                  public synchronized StoreStats stats() {
                    StoreStats stats = super.stats();
                    return new StoreStats(
                        stats.objects(),
                        stats.liveBytes(),
                        stats.capacityBytes(),
                        stats.stored(),
                        stats.present(),
                        stats.found() + wrong,
                        stats.absent(),
                        stats.failed(),
                        stats.removed(),
                        stats.evicted(),
                        stats.bytesStored(),
                        stats.bytesRead());
                  }
                }),
        faulty(
            "store.failed-is-not-ok",
            "an object that is spoiled takes the others of its batch along",
            "neighbour",
            () ->
                new FaultyStore() {
                  @Override
                  public BatchResult get(List<GetOp> ops, Deadline by) {
                    BatchResult all = super.get(ops, by);
                    return ops.size() == 2 && isSpoiled(ops.getFirst().key())
                        ? BatchResult.allFailed(2, all.failure(0))
                        : all;
                  }
                }));
  }

  // store.failure-codes

  private static List<Mutant> codes() {
    return List.of(
        faulty(
            "store.failure-codes",
            "an object that is spoiled is a failure of the disk",
            "after FLIPPED_BIT to be CORRUPT",
            () ->
                new FaultyStore() {
                  @Override
                  protected void spoiled(
                      FaultInjector.Fault fault,
                      ObjectKey key,
                      List<Memory> targets,
                      BatchResult.Builder result,
                      int i) {
                    fail(
                        result,
                        i,
                        StoreFailure.of(FailureCode.IO, "object " + key + " cannot be read")
                            .withMemory(MemoryState.DIRTY));
                  }
                }),
        faulty(
            "store.failure-codes",
            "an object that cannot be reached is taken for damaged",
            "that it may be tried again",
            () ->
                new FaultyStore() {
                  @Override
                  protected StoreFailure late(List<Memory> memory) {
                    return StoreFailure.of(FailureCode.CORRUPT, "no bytes have come");
                  }
                }),
        mutant(
            "store.failure-codes",
            "a read of an object that was put anew says that it has another size",
            "that it may be tried again",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void read(ReadOp op, BatchResult.Builder result, int i) {
                        byte[] now = find(keys.get(op.entry()));
                        byte[] then = held.get(op.entry());
                        if (now != null && then != null && now.length != then.length) {
                          fail(
                              result,
                              i,
                              StoreFailure.of(FailureCode.SIZE_MISMATCH, "it has another size"));
                        } else {
                          super.read(op, result, i);
                        }
                      }
                    };
                  }
                }));
  }

  // store.deadline

  private static List<Mutant> deadlines() {
    return List.of(
        mutant(
            "store.deadline",
            "exists tries again and again after its deadline",
            "exists with a deadline",
            () ->
                new ReferenceStore() {
                  @Override
                  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                    if (by.hasPassed()) {
                      block(Duration.ofSeconds(6));
                    }
                    return super.exists(keys, by);
                  }
                }),
        faulty(
            "store.deadline",
            "a call waits for an answer whatever its deadline",
            "stalls",
            () ->
                new FaultyStore() {
                  @Override
                  protected boolean awaitAnswer(Deadline by) {
                    return super.awaitAnswer(Deadline.never());
                  }
                }));
  }

  private static void block(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() - end < 0) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }

  // store.memory-in-doubt

  private static List<Mutant> memory() {
    return List.of(
        mismatching(
            "an object is copied before its size is seen to be wrong, and the memory called"
                + " untouched",
            "says UNTOUCHED",
            (store, bytes, op) -> {
              Memory first = first(op.pieces());
              store.scatter(bytes, 0, first.slice(0, Math.min(1, first.byteSize())));
              return MemoryState.UNTOUCHED;
            }),
        mismatching(
            "memory is in use for ever",
            "has not ended",
            (store, bytes, op) -> new MemoryState.InUse(new CompletableFuture<>())),
        mismatching(
            "memory is written after it was given back",
            "nothing uses any more",
            (store, bytes, op) -> {
              Memory first = first(op.pieces());
              later(() -> store.scatter(bytes, 0, first.slice(0, Math.min(1, first.byteSize()))));
              return MemoryState.DIRTY;
            }),
        mismatching(
            "memory is written after its use has ended",
            "nothing uses any more",
            (store, bytes, op) -> {
              Memory first = first(op.pieces());
              later(() -> store.scatter(bytes, 0, first.slice(0, Math.min(1, first.byteSize()))));
              return new MemoryState.InUse(CompletableFuture.completedStage(null));
            }),
        mutant(
            "store.memory-in-doubt",
            "the ranges of a read are copied until one is seen to be past the end",
            "says UNTOUCHED",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void read(ReadOp op, BatchResult.Builder result, int i) {
                        byte[] bytes = held.get(op.entry());
                        Range first = op.ranges().getFirst();
                        if (bytes != null
                            && op.ranges().size() == 2
                            && first.objectOffset() + first.target().byteSize() <= bytes.length) {
                          scatter(bytes, first.objectOffset(), first.target());
                        }
                        super.read(op, result, i);
                      }
                    };
                  }
                }),
        faulty(
            "store.memory-in-doubt",
            "an object that is spoiled is copied, and the memory called untouched",
            "says UNTOUCHED",
            () ->
                new FaultyStore() {
                  @Override
                  protected void spoiled(
                      FaultInjector.Fault fault,
                      ObjectKey key,
                      List<Memory> targets,
                      BatchResult.Builder result,
                      int i) {
                    scatter(new byte[1], 0, largest(targets).slice(0, 1));
                    fail(result, i, StoreFailure.of(FailureCode.CORRUPT, "spoiled"));
                  }
                }),
        faulty(
            "store.memory-in-doubt",
            "a call that met a stall writes its memory once that is over",
            "nothing uses any more",
            () ->
                new FaultyStore() {
                  @Override
                  protected StoreFailure late(List<Memory> memory) {
                    later(() -> memory.forEach(each -> scatter(new byte[1], 0, each.slice(0, 1))));
                    return super.late(memory).withMemory(MemoryState.DIRTY);
                  }
                }),
        faulty(
            "store.memory-in-doubt",
            "the memory of a call that met a stall is in use for ever",
            "has not ended",
            () ->
                new FaultyStore() {
                  @Override
                  protected StoreFailure late(List<Memory> memory) {
                    return super.late(memory)
                        .withMemory(new MemoryState.InUse(new CompletableFuture<>()));
                  }
                }));
  }

  /** Returns the first piece that has bytes: those lie within every object that has some. */
  private static Memory first(List<Memory> pieces) {
    return pieces.stream().filter(piece -> piece.byteSize() > 0).findFirst().orElseThrow();
  }

  private interface Mismatch {
    MemoryState of(ReferenceStore store, byte[] bytes, GetOp op);
  }

  /** A store that does more than it should with a target of the wrong size. */
  private static Mutant mismatching(String what, String says, Mismatch mismatch) {
    return mutant(
        "store.memory-in-doubt",
        what,
        says,
        () ->
            new ReferenceStore() {
              @Override
              protected void get(GetOp op, BatchResult.Builder result, int i) {
                byte[] bytes = find(op.key());
                if (bytes == null
                    || bytes.length == 0
                    || bytes.length == op.byteSize()
                    || op.byteSize() == 0
                    || op.byteSize() > 1 << 20
                    || refusal(op.key(), op.pieces().size(), 0).isPresent()) {
                  super.get(op, result, i);
                } else {
                  fail(
                      result,
                      i,
                      StoreFailure.of(FailureCode.SIZE_MISMATCH, "it is another size")
                          .withMemory(mismatch.of(this, bytes, op)));
                }
              }
            });
  }

  private static Memory largest(List<Memory> pieces) {
    return pieces.stream().max(java.util.Comparator.comparingLong(Memory::byteSize)).orElseThrow();
  }

  private static void later(Runnable task) {
    CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS).execute(task);
  }

  // store.register

  private static List<Mutant> registrations() {
    return List.of(
        closing(
            "a registration is closed once only",
            "closed already",
            again -> {
              if (again) {
                throw new IllegalStateException("closed already");
              }
            }),
        closing(
            "a registration cannot be undone",
            "cannot be undone",
            again -> {
              throw new CacheException(FailureCode.IO, "it cannot be undone");
            }),
        mutant(
            "store.register",
            "what was registered serves as a buffer for ever",
            "registered",
            () ->
                new ReferenceStore() {
                  private final List<Memory> buffers = new ArrayList<>();

                  @Override
                  public synchronized Registration register(Memory memory) {
                    if (memory.byteSize() > 0) {
                      buffers.add(memory);
                    }
                    return () -> {};
                  }

                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (op.pieces().size() == 1) {
                      buffers.removeIf(buffer -> !buffer.isAlive());
                      buffers.stream()
                          .filter(buffer -> !buffer.equals(op.pieces().getFirst()))
                          .forEach(
                              buffer ->
                                  scatter(new byte[1], 0, buffer.slice(buffer.byteSize() - 1, 1)));
                    }
                    super.get(op, result, i);
                  }
                }),
        mutant(
            "store.register",
            "memory that was unregistered is not taken any more",
            "REFUSED",
            () ->
                new ReferenceStore() {
                  private final Set<Memory> gone = new HashSet<>();

                  @Override
                  public synchronized Registration register(Memory memory) {
                    gone.remove(memory);
                    return () -> {
                      synchronized (this) {
                        gone.add(memory);
                      }
                    };
                  }

                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() > 0 && gone.containsAll(op.pieces())) {
                      fail(result, i, StoreFailure.of(FailureCode.REFUSED, "not registered"));
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }));
  }

  /** A store whose registrations, when they are closed, do something, told whether once more. */
  private static Mutant closing(String what, String says, Consumer<Boolean> close) {
    return mutant(
        "store.register",
        what,
        says,
        () ->
            new ReferenceStore() {
              @Override
              public Registration register(Memory memory) {
                AtomicBoolean closed = new AtomicBoolean();
                return () -> close.accept(closed.getAndSet(true));
              }
            });
  }
}
