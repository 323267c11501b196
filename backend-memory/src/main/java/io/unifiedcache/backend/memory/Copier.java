package io.unifiedcache.backend.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
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
 * or cannot be started. Helpers are started at once, before there is anything to lose. Thread-safe.
 */
final class Copier implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Copier.class);

  /** Waking a helper takes about as long as copying this much. */
  private static final long WORTH_SHARING = 256 << 10;

  /** How often to look for the last helper before sleeping; it needs one unit more at most. */
  private static final int SPINS = 1 << 10;

  private final int parallelism;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Condition done = lock.newCondition();

  /** Transfers that may have units left. What fails to join it leaves it as it was. */
  private final Queue<Job> open = new ConcurrentLinkedQueue<>();

  private final List<Thread> threads;
  private boolean closed;

  private Copier(int parallelism) {
    this.parallelism = parallelism;
    threads = new ArrayList<>(parallelism);
  }

  /**
   * Starts a copier.
   *
   * @param parallelism how many threads copy one transfer at most, the caller included
   * @param factory makes the others; of those that it cannot make there are fewer
   */
  static Copier start(int parallelism, ThreadFactory factory) {
    Copier copier = new Copier(parallelism);
    copier.startHelpers(factory);
    return copier;
  }

  /** Returns how many threads copy one transfer at most. */
  int parallelism() {
    return parallelism;
  }

  /** Copies everything and returns when no thread touches the memory any more. */
  void run(Transfer transfer) {
    if (threads.isEmpty() || transfer.units() < 2 || transfer.bytes() < WORTH_SHARING) {
      transfer.work();
      return;
    }
    Job job = new Job(transfer);
    try {
      offer(job);
      transfer.work();
    } finally {
      await(job);
    }
  }

  private void offer(Job job) {
    lock.lock();
    try {
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

  // A system out of threads throws an Error; the callers then copy with fewer, or alone.
  private void startHelpers(ThreadFactory factory) {
    int wanted = parallelism - 1;
    try {
      while (threads.size() < wanted) {
        Thread thread = factory.newThread(this::help);
        if (thread == null) {
          throw new IllegalStateException("the thread factory made none");
        }
        thread.start();
        threads.add(thread);
      }
    } catch (RuntimeException | Error e) {
      LOG.warn("{} of {} copying threads could be started", threads.size(), wanted, e);
    }
  }

  private void help() {
    Job job;
    while ((job = take()) != null) {
      try {
        job.transfer.work();
      } finally {
        letGo(job);
      }
    }
  }

  private @Nullable Job take() {
    lock.lock();
    try {
      Job job = open.peek();
      while (job == null) {
        if (closed) {
          return null;
        }
        work.awaitUninterruptibly();
        job = open.peek();
      }
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
