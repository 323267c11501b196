package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads that run tasks in the order in which they came.
 *
 * <p>All of them start at once or none does, and no task ends one, so that a task that was taken is
 * run even where the machine has no more threads to give. Thread-safe.
 */
final class Workers {
  private static final Logger LOG = LoggerFactory.getLogger(Workers.class);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private final Deque<Runnable> tasks = new ArrayDeque<>();
  private boolean ended;

  private final List<Thread> threads = new ArrayList<>();

  private Workers() {}

  /**
   * Starts threads.
   *
   * @throws CacheException with code {@code INTERNAL} if one of them cannot be started
   */
  static Workers start(int count, ThreadFactory factory) {
    Workers workers = new Workers();
    try {
      for (int i = 0; i < count; i++) {
        Thread thread = factory.newThread(workers::work);
        if (thread == null) {
          throw new IllegalStateException("the thread factory made none");
        }
        thread.start();
        workers.threads.add(thread);
      }
    } catch (RuntimeException | Error e) {
      workers.end();
      throw cannotStart(e);
    }
    return workers;
  }

  /** Returns what to throw where a thread cannot be started. */
  static CacheException cannotStart(Throwable problem) {
    return new CacheException(
        FailureCode.INTERNAL,
        "a thread of the linker cannot be started; does the machine or the container limit"
            + " processes, or is it out of memory? "
            + problem,
        problem);
  }

  /** Has a task run; returns false if the workers have ended, so that it never will. */
  boolean execute(Runnable task) {
    lock.lock();
    try {
      if (ended) {
        return false;
      }
      tasks.add(task);
      changed.signal();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Ends the threads once they have run what they were given; waits for nothing. */
  void end() {
    lock.lock();
    try {
      ended = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void work() {
    Runnable task;
    while ((task = next()) != null) {
      // Memory that is freed while a store copies it leaves its thread interrupted; that concerns
      // no other task.
      boolean unused = Thread.interrupted();
      try {
        task.run();
      } catch (Throwable problem) {
        tell(task, problem);
      }
    }
  }

  private static void tell(Runnable task, Throwable problem) {
    try {
      LOG.error("{} ended unforeseen", task, problem);
    } catch (Throwable unheard) {
      // There is nothing left that could be told of it, and the thread has to live on.
    }
  }

  private @Nullable Runnable next() {
    lock.lock();
    try {
      while (tasks.isEmpty()) {
        if (ended) {
          return null;
        }
        changed.awaitUninterruptibly();
      }
      return tasks.removeFirst();
    } finally {
      lock.unlock();
    }
  }
}
