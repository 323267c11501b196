package io.unifiedcache.backend.memory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads that help callers to copy.
 *
 * <p>The caller always copies too, so that a call goes on, only slower, when all helpers are busy
 * or cannot be started. Helpers are started with the first large transfer. Thread-safe.
 */
final class Copier implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Copier.class);

  /** Waking a helper takes about as long as copying this much. */
  private static final long WORTH_SHARING = 256 << 10;

  /** How often to look for the last helper before sleeping; it needs one unit more at most. */
  private static final int SPINS = 1 << 10;

  private final int helpers;
  private final ThreadFactory factory;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Condition done = lock.newCondition();

  /** Transfers that may have units left. */
  private final Deque<Job> open = new ArrayDeque<>();

  private final List<Thread> threads = new ArrayList<>();
  private boolean started;
  private boolean closed;

  /**
   * Creates a copier.
   *
   * @param threads how many threads copy one transfer at most, the caller included
   */
  Copier(int threads, ThreadFactory factory) {
    this.helpers = threads - 1;
    this.factory = factory;
  }

  /** Returns how many threads copy one transfer at most. */
  int parallelism() {
    return helpers + 1;
  }

  /** Copies everything and returns when no thread touches the memory any more. */
  void run(Transfer transfer) {
    if (helpers == 0 || transfer.units() < 2 || transfer.bytes() < WORTH_SHARING) {
      transfer.work();
      return;
    }
    Job job = new Job(transfer);
    offer(job);
    try {
      transfer.work();
    } finally {
      await(job);
    }
  }

  private void offer(Job job) {
    lock.lock();
    try {
      if (!started) {
        started = true;
        startHelpers();
      }
      open.add(job);
      int wanted = Math.min(threads.size(), job.transfer.units() - 1);
      for (int i = 0; i < wanted; i++) {
        work.signal();
      }
    } finally {
      lock.unlock();
    }
  }

  private void await(Job job) {
    lock.lock();
    try {
      open.remove(job);
      if (job.helping.get() == 0) {
        return;
      }
    } finally {
      lock.unlock();
    }
    for (int i = 0; i < SPINS && job.helping.get() > 0; i++) {
      Thread.onSpinWait();
    }
    if (job.helping.get() == 0) {
      return;
    }
    lock.lock();
    try {
      while (job.helping.get() > 0) {
        done.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  // A system out of threads throws an Error; the callers then copy alone.
  private void startHelpers() {
    try {
      while (threads.size() < helpers) {
        Thread thread = factory.newThread(this::help);
        if (thread == null) {
          throw new IllegalStateException("the thread factory made none");
        }
        thread.start();
        threads.add(thread);
      }
    } catch (RuntimeException | Error e) {
      LOG.warn("{} of {} copying threads could be started", threads.size(), helpers, e);
    }
  }

  private void help() {
    Job job;
    while ((job = take()) != null) {
      job.transfer.work();
      letGo(job);
    }
  }

  private @Nullable Job take() {
    lock.lock();
    try {
      while (open.isEmpty()) {
        if (closed) {
          return null;
        }
        work.awaitUninterruptibly();
      }
      Job job = open.getFirst();
      job.helping.incrementAndGet();
      return job;
    } finally {
      lock.unlock();
    }
  }

  private void letGo(Job job) {
    lock.lock();
    try {
      open.remove(job);
      job.helping.decrementAndGet();
      done.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Ends the helpers. No transfer is running. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      work.signalAll();
    } finally {
      lock.unlock();
    }
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (true) {
        try {
          thread.join();
          break;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** A transfer and the helpers at work on it. */
  private static final class Job {
    final Transfer transfer;

    /** Changed under the lock, read without it too. */
    final AtomicInteger helping = new AtomicInteger();

    Job(Transfer transfer) {
      this.transfer = transfer;
    }
  }
}
