package io.unifiedcache.backend.mooncake;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Calls that wait for a part of something, and have it in the order in which they came: one that
 * wants much is not overtaken by those that want little. Thread-safe.
 */
final class Turns {
  /** How long to sleep at most before looking again whether a caller has stopped waiting. */
  private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** Those that wait; the first one's turn it is. */
  private final Queue<Call> waiting = new ArrayDeque<>();

  /** Takes a part; null as long as there is too little. */
  interface Attempt<T> {
    @Nullable T take();
  }

  /**
   * Waits until it is a call's turn and it can have its part, unless its caller stops waiting
   * first.
   *
   * @param attempt takes the part; not run at the same time as another, or as what gives back
   * @return the part, or null if the caller has stopped waiting
   */
  <T> @Nullable T await(Call call, Attempt<T> attempt) {
    lock.lock();
    try {
      waiting.add(call);
      while (!call.isLate()) {
        T part = call.equals(waiting.peek()) ? attempt.take() : null;
        if (part != null) {
          return part;
        }
        long unused = changed.awaitNanos(NAP_NANOS);
      }
      return null;
    } catch (InterruptedException e) {
      // Nothing interrupts the store's threads.
      Thread.currentThread().interrupt();
      return null;
    } finally {
      waiting.remove(call);
      changed.signalAll();
      lock.unlock();
    }
  }

  /** Gives a part back. */
  void giveBack(Runnable part) {
    lock.lock();
    try {
      part.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
