package io.unifiedcache.backend.mooncake;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Some threads that work off tasks in order. Of those that wait, the one that was at work last is
 * the next to be: what it uses is still in a processor's caches, and one caller alone has one
 * thread. Thread-safe.
 */
final class ThreadStack {
  /** Something to do. */
  @FunctionalInterface
  interface Task {
    /**
     * Does it. Throws nothing.
     *
     * @return tells whoever waits for the end, at once and without waiting for anything: the thread
     *     is free by then, so that who gives the next task right away gives it to this one
     */
    Runnable run();
  }

  private final int count;
  private final ThreadFactory factory;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();

  // Guarded by the lock. No task waits while a thread does.
  private final Deque<Worker> waiting = new ArrayDeque<>();
  private final Deque<Task> tasks = new ArrayDeque<>();
  private int alive;
  private boolean shutdown;

  /**
   * Creates threads, which begin when they are needed.
   *
   * @param count how many there are at most
   */
  ThreadStack(int count, ThreadFactory factory) {
    this.count = count;
    this.factory = factory;
  }

  /**
   * Has a task done; false if it never will be, after {@link #shutdown}.
   *
   * <p>Where no thread can be begun, one of those that are there does it.
   *
   * @throws RuntimeException or an Error, as what makes threads throws it, if there is none
   */
  boolean execute(Task task) {
    Worker idle;
    lock.lock();
    try {
      if (shutdown) {
        return false;
      }
      idle = waiting.pollLast();
      if (idle == null) {
        if (alive == count) {
          tasks.add(task);
          return true;
        }
        alive++;
      }
    } finally {
      lock.unlock();
    }
    if (idle == null) {
      begin(task);
    } else {
      idle.give(task);
    }
    return true;
  }

  /** Begins a thread that has been counted. */
  private void begin(Task task) {
    Worker worker = new Worker(task);
    try {
      Thread thread = factory.newThread(worker);
      worker.thread = thread;
      thread.start();
    } catch (RuntimeException | Error e) {
      if (!leaveToOthers(task)) {
        throw e;
      }
    }
  }

  /** Gives the task of a thread that was counted, and has not begun, to another; false if none. */
  private boolean leaveToOthers(Task task) {
    Worker idle;
    lock.lock();
    try {
      alive--;
      ended.signalAll();
      idle = waiting.pollLast();
      if (idle == null && alive > 0) {
        tasks.add(task);
        return true;
      }
    } finally {
      lock.unlock();
    }
    if (idle != null) {
      idle.give(task);
    }
    return idle != null;
  }

  /** Takes no more tasks; ends the threads once those are done that were taken. */
  void shutdown() {
    lock.lock();
    try {
      shutdown = true;
      waiting.forEach(Worker::end);
      waiting.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the end of the threads; tells whether they have ended in time. */
  boolean awaitEnd(long nanos) {
    boolean interrupted = false;
    long end = System.nanoTime() + nanos;
    lock.lock();
    try {
      long left;
      while (alive > 0 && (left = end - System.nanoTime()) > 0) {
        try {
          long unused = ended.awaitNanos(left);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return alive == 0;
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private final class Worker implements Runnable {
    private @Nullable Thread thread;
    private volatile @Nullable Task task;
    private volatile boolean over;

    Worker(Task first) {
      task = first;
    }

    /** Gives a task to this one, which waits. */
    void give(Task next) {
      task = next;
      LockSupport.unpark(thread);
    }

    /** Ends this one, which waits. */
    void end() {
      over = true;
      LockSupport.unpark(thread);
    }

    @Override
    public void run() {
      Runnable tell = () -> {};
      @Nullable Task next;
      while ((next = next(tell)) != null) {
        tell = next.run();
      }
      lock.lock();
      try {
        alive--;
        ended.signalAll();
      } finally {
        lock.unlock();
      }
    }

    /**
     * Waits for the next task; null if there will be none.
     *
     * @param tell tells of the end of the last one
     */
    private @Nullable Task next(Runnable tell) {
      Task next = task;
      if (next == null) {
        boolean ends;
        lock.lock();
        try {
          next = tasks.poll();
          ends = next == null && shutdown;
          if (next == null && !ends) {
            waiting.addLast(this);
          }
        } finally {
          lock.unlock();
        }
        tell.run();
        if (next != null || ends) {
          return next;
        }
        while ((next = task) == null && !over) {
          LockSupport.park(ThreadStack.this);
          // Nothing asks for an interrupt, which would keep it from waiting.
          boolean unused = Thread.interrupted();
        }
      }
      task = null;
      return next;
    }
  }
}
