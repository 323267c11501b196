package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of a store that call Mooncake.
 *
 * <p>Callers never do: a call to a cluster that is in trouble returns after a minute or more, and
 * nothing ends it. Thread-safe.
 */
final class CallThreads {
  private static final Logger LOG = LoggerFactory.getLogger(CallThreads.class);

  /** How long after a deadline to wait for an exact answer; half of the grace. */
  private static final long GRACE_NANOS = Limits.GRACE.toNanos() / 2;

  /** How long to sleep at most before looking again at a deadline whose clock is not the JVM's. */
  private static final long LONGEST_NAP = TimeUnit.MILLISECONDS.toNanos(20);

  private final ThreadStack threads;
  private final Set<Call> calls = ConcurrentHashMap.newKeySet();
  private volatile boolean hurried;

  CallThreads(int count, ThreadFactory factory) {
    threads = new ThreadStack(count, factory);
  }

  /**
   * Has the work done and waits for it until the deadline, and then for about half of the grace.
   *
   * @return the call; if it is not done, it still goes on, but begins nothing new, unless it can be
   *     given up
   */
  Call run(Deadline by, Consumer<Call> work) {
    return run(by, /* mayGiveUp= */ false, work);
  }

  /** Has the work done and waits for it, or until the calling thread is interrupted. */
  Call runUnlessInterrupted(Consumer<Call> work) {
    return run(Deadline.never(), /* mayGiveUp= */ true, work);
  }

  private Call run(Deadline by, boolean mayGiveUp, Consumer<Call> work) {
    Call call = new Call();
    Thread caller = Thread.currentThread();
    calls.add(call);
    Throwable refusal = null;
    try {
      boolean taken = threads.execute(() -> carryOut(call, caller, work));
      if (!taken) {
        refusal = MooncakeStore.closedStore();
      }
    } catch (RuntimeException | Error e) {
      // No thread could be started.
      refusal = e;
    }
    if (refusal != null) {
      calls.remove(call);
      call.fail(refusal);
      call.end();
      return call;
    }
    await(call, by, mayGiveUp);
    if (!call.isDone() && call.giveUp()) {
      calls.remove(call);
    }
    return call;
  }

  /** Does the work, unless its caller has given it up; returns what tells the caller of the end. */
  private Runnable carryOut(Call call, Thread caller, Consumer<Call> work) {
    if (!call.begin()) {
      return CallThreads::nobodyWaits;
    }
    boolean over = false;
    try {
      attempt(call, work);
      over = true;
    } finally {
      if (!over) {
        end(call, caller);
      }
    }
    if (call.finish()) {
      return () -> end(call, caller);
    }
    // Others may wait for the release by now, and do at it what takes its time.
    end(call, caller);
    return CallThreads::nobodyWaits;
  }

  private static void attempt(Call call, Consumer<Call> work) {
    try {
      work.accept(call);
    } catch (CacheException e) {
      call.fail(e);
    } catch (RuntimeException | Error e) {
      call.fail(e);
      LOG.warn("a call to the store ended unforeseen", e);
    }
  }

  private void end(Call call, Thread caller) {
    call.end();
    LockSupport.unpark(caller);
    calls.remove(call);
  }

  private static void nobodyWaits() {}

  private void await(Call call, Deadline by, boolean mayGiveUp) {
    boolean interrupted = false;
    long lateSince = 0;
    while (!call.isDone()) {
      long nap = LONGEST_NAP;
      if (call.isLate()) {
        if (call.giveUp()) {
          break;
        }
        lateSince = lateSince == 0 ? System.nanoTime() : lateSince;
        long left = GRACE_NANOS - (System.nanoTime() - lateSince);
        if (left <= 0 && call.leave()) {
          break;
        }
        nap = Math.min(nap, Math.max(1, left));
      } else if (hurried || by.hasPassed() || (mayGiveUp && interrupted)) {
        call.setLate();
        continue;
      } else {
        nap = Math.min(nap, by.remainingNanos());
      }
      LockSupport.parkNanos(call, nap);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Does something some time; false if it cannot be done. */
  boolean later(Runnable work) {
    try {
      return threads.execute(
          () -> {
            try {
              work.run();
            } catch (RuntimeException | Error e) {
              LOG.warn("what the store does by itself ended unforeseen", e);
            }
            return CallThreads::nobodyWaits;
          });
    } catch (RuntimeException | Error e) {
      LOG.debug("it cannot be done", e);
      return false;
    }
  }

  /** Makes all calls late. */
  void hurry() {
    hurried = true;
    calls.forEach(Call::setLate);
  }

  /** Begins nothing more; ends the threads once what was begun is done. */
  void shutdown() {
    threads.shutdown();
  }

  /** Waits for the end of the threads; tells whether they have ended in time. */
  boolean awaitEnd(long nanos) {
    return threads.awaitEnd(nanos);
  }
}
