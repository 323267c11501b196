package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of a store that read and write files.
 *
 * <p>Callers never do: to interrupt one would close the file under all others, and a file system
 * that stalls would hold it past its deadline. Thread-safe.
 */
final class IoThreads implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(IoThreads.class);

  /** How long after a deadline to wait for an exact answer; half of the grace. */
  private static final long GRACE_NANOS = Limits.LIMITS.grace().toNanos() / 2;

  /** How long to sleep at most before looking again at a deadline whose clock is not the JVM's. */
  private static final long LONGEST_NAP = TimeUnit.MILLISECONDS.toNanos(20);

  private final int count;
  private final AtomicBoolean hurried = new AtomicBoolean();
  private final ThreadPoolExecutor threads;

  /**
   * Starts the threads: all of them, so that no call fails later for want of one.
   *
   * @throws CacheException if they cannot be started
   */
  IoThreads(int count, ThreadFactory factory) {
    this.count = count;
    threads =
        new ThreadPoolExecutor(
            count, count, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    int started = 0;
    Throwable problem = null;
    try {
      started = threads.prestartAllCoreThreads();
    } catch (RuntimeException | Error e) {
      problem = e;
    }
    if (started < count) {
      threads.shutdown();
      throw new CacheException(
          FailureCode.INTERNAL,
          "a thread of the store cannot be started (io-threads=%d): %s"
              .formatted(count, problem == null ? "its factory made none" : problem),
          problem);
    }
  }

  /** Returns how many there are. */
  int count() {
    return count;
  }

  /**
   * Has the work done and waits for it until the deadline, and then for about half of the grace.
   *
   * @return the job; if it is not done, it still goes on, but begins nothing new
   */
  Job run(Deadline by, Consumer<Job> work) {
    return run(by, /* mayGiveUp= */ false, work);
  }

  /** Has the work done and waits for it, or until the calling thread is interrupted. */
  Job runUnlessInterrupted(Consumer<Job> work) {
    return run(Deadline.never(), /* mayGiveUp= */ true, work);
  }

  private Job run(Deadline by, boolean mayGiveUp, Consumer<Job> work) {
    Job job = new Job(hurried);
    Thread caller = Thread.currentThread();
    try {
      threads.execute(
          () -> {
            if (!job.begin()) {
              return;
            }
            try {
              work.accept(job);
            } catch (RuntimeException | Error e) {
              job.fail(e);
              warn("a call to the store ended unforeseen", e);
            } finally {
              job.end();
              LockSupport.unpark(caller);
            }
          });
    } catch (RuntimeException | Error e) {
      // As where the store has been closed for good. It may be in the queue all the same.
      if (job.begin()) {
        job.fail(e);
        job.end();
        return job;
      }
    }
    await(job, by, mayGiveUp);
    return job;
  }

  private static void await(Job job, Deadline by, boolean mayGiveUp) {
    boolean interrupted = false;
    long lateSince = 0;
    while (!job.isDone()) {
      long nap = LONGEST_NAP;
      if (job.isLate()) {
        lateSince = lateSince == 0 ? System.nanoTime() : lateSince;
        long left = GRACE_NANOS - (System.nanoTime() - lateSince);
        if (left <= 0) {
          break;
        }
        nap = Math.min(nap, left);
      } else if (by.hasPassed() || (mayGiveUp && interrupted)) {
        job.setLate();
        continue;
      } else {
        nap = Math.min(nap, by.remainingNanos());
      }
      LockSupport.parkNanos(job, nap);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Does something some time; false if it cannot be done. */
  boolean later(Runnable work) {
    Job job = new Job();
    try {
      threads.execute(
          () -> {
            if (job.begin()) {
              try {
                work.run();
              } catch (RuntimeException | Error e) {
                warn("the upkeep of the store ended unforeseen", e);
              }
            }
          });
      return true;
    } catch (RuntimeException | Error e) {
      return !job.begin();
    }
  }

  /** Logs, also where that fails: a thread that ended with it might not be replaced. */
  private static void warn(String message, Throwable problem) {
    try {
      LOG.warn(message, problem);
    } catch (RuntimeException | Error e) {
      // There is no other place to tell of it.
    }
  }

  /**
   * Does units of work, together with the other threads where they have nothing else to do; called
   * by one of these threads. Each begins with a queue of its own, and goes on with what the others
   * have left of theirs.
   *
   * @param queues units that threads would hinder each other in, each in a queue of its own
   * @param work does a unit; if it throws, the others are done all the same, and this throws the
   *     first of it
   */
  <T> void share(List<List<T>> queues, Consumer<T> work) {
    Shared<T> shared = new Shared<>(queues, work);
    int units = queues.stream().mapToInt(List::size).sum();
    for (int i = 1; i < Math.min(count, units); i++) {
      try {
        threads.execute(shared::help);
      } catch (RuntimeException | Error e) {
        // Then this thread does all of it.
        break;
      }
    }
    shared.lead();
  }

  /** Does the same with units that have numbers, and hinder each other in nothing. */
  void share(int units, IntConsumer work) {
    share(List.of(IntStream.range(0, units).boxed().toList()), work::accept);
  }

  private static final class Shared<T> {
    private final List<List<T>> queues;
    private final AtomicIntegerArray next;
    private final Consumer<T> work;
    private final Thread leader = Thread.currentThread();
    private final AtomicInteger workers = new AtomicInteger();
    private final AtomicInteger helping = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> problem = new AtomicReference<>();

    Shared(List<List<T>> queues, Consumer<T> work) {
      this.queues = queues;
      this.work = work;
      next = new AtomicIntegerArray(queues.size());
    }

    void lead() {
      work();
      while (helping.get() > 0) {
        LockSupport.parkNanos(this, LONGEST_NAP);
      }
      switch (problem.get()) {
        case null -> {}
        case Error error -> throw error;
        case RuntimeException exception -> throw exception;
        case Throwable other -> throw new IllegalStateException(other);
      }
    }

    void help() {
      helping.incrementAndGet();
      try {
        work();
      } finally {
        if (helping.decrementAndGet() == 0) {
          LockSupport.unpark(leader);
        }
      }
    }

    private void work() {
      int first = workers.getAndIncrement();
      for (int i = 0; i < queues.size(); i++) {
        int queue = (first + i) % queues.size();
        List<T> units = queues.get(queue);
        int unit;
        while ((unit = next.getAndIncrement(queue)) < units.size()) {
          try {
            work.accept(units.get(unit));
          } catch (RuntimeException | Error e) {
            problem.compareAndSet(null, e);
          }
        }
      }
    }
  }

  /** Makes all calls late. */
  void hurry() {
    hurried.set(true);
  }

  /** Ends the threads once they have done what they were given, without waiting for that. */
  void abandon() {
    threads.shutdown();
  }

  /** Ends the threads, waiting a bounded time for what they are doing. */
  @Override
  public void close() {
    threads.shutdown();
    boolean interrupted = false;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (true) {
      try {
        if (!threads.awaitTermination(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
          LOG.warn("a file is still being read or written 10 s after the store was closed");
        }
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
