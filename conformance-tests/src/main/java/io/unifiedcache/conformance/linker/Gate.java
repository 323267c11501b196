package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Script;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Holds up calls of a linker to its store, one by one or all, until they are let go. No call is
 * held up for longer than {@link Trial#PATIENCE}.
 *
 * <p>Thread-safe.
 */
final class Gate implements Script {
  /** How often to look whether waiting is hopeless. */
  private static final long LONGEST_NAP = TimeUnit.MILLISECONDS.toNanos(20);

  private final Predicate<Call> held;
  private final Script then;
  private final BooleanSupplier hopeless;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<Call> waiting = new ArrayDeque<>();
  private int permits;
  private boolean open;

  /**
   * Creates a gate that is closed.
   *
   * @param held which calls it holds up
   * @param then what goes wrong with calls that go on
   * @param hopeless tells whether the store has lost objects, so that a call may never come
   */
  Gate(Predicate<Call> held, Script then, BooleanSupplier hopeless) {
    this.held = held;
    this.then = then;
    this.hopeless = hopeless;
  }

  @Override
  public @Nullable StoreFailure failure(Call call, int i) {
    return then.failure(call, i);
  }

  @Override
  public BatchResult answer(Call call, BatchResult result) {
    return then.answer(call, result);
  }

  @Override
  public void before(Call call) {
    if (!held.test(call)) {
      return;
    }
    boolean interrupted = false;
    long nanos = Trial.PATIENCE.toNanos();
    lock.lock();
    try {
      waiting.add(call);
      changed.signalAll();
      while (!open && permits == 0 && nanos > 0) {
        try {
          nanos = changed.awaitNanos(nanos);
        } catch (InterruptedException e) {
          // A transfer that is under way is not ended by an interrupt.
          interrupted = true;
        }
      }
      permits = Math.max(0, permits - 1);
      waiting.remove(call);
      changed.signalAll();
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Waits until a call is held up. Fails the rule if none comes. */
  Call awaitArrival() {
    Call call = awaitArrival(Trial.PATIENCE.toNanos());
    if (call == null) {
      throw new Violation(
          "the linker to ask the store within " + Trial.PATIENCE.toSeconds() + " s",
          "no such call has come");
    }
    return call;
  }

  /** Waits for so long until a call is held up; returns null if none is. */
  @Nullable Call awaitArrival(long nanos) {
    Deadline by = Deadline.after(Duration.ofNanos(nanos));
    lock.lock();
    try {
      while (waiting.isEmpty() && !by.hasPassed() && !hopeless.getAsBoolean()) {
        long unused = changed.awaitNanos(Math.min(by.remainingNanos(), LONGEST_NAP));
      }
      return waiting.peek();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a call", e);
    } finally {
      lock.unlock();
    }
  }

  /** Lets one of the calls that are held up go on. */
  void letOneGo() {
    lock.lock();
    try {
      permits++;
      long nanos = TimeUnit.SECONDS.toNanos(1);
      int before = waiting.size();
      changed.signalAll();
      while (before > 0 && waiting.size() >= before && permits > 0 && nanos > 0) {
        nanos = changed.awaitNanos(nanos);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while letting a call go", e);
    } finally {
      lock.unlock();
    }
  }

  /** Lets all calls go on, those to come included. */
  void open() {
    lock.lock();
    try {
      open = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
