package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.StoreStats;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The calls to a store: those under way, which a close waits for, and counts of what was answered.
 *
 * <p>Thread-safe.
 */
final class Calls {
  /** How long a close waits for calls in flight before it hurries them, and then once more. */
  private static final long CLOSING_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final int mostEntries;
  private final ReentrantLock lock = new ReentrantLock();

  /** Signalled when the last call has left a closing store. */
  private final Condition left = lock.newCondition();

  private final AtomicInteger underWay = new AtomicInteger();
  private volatile boolean closed;

  private long stored;
  private long present;
  private long found;
  private long absent;
  private long failed;
  private long removed;
  private long bytesStored;
  private long bytesRead;

  Calls(int mostEntries) {
    this.mostEntries = mostEntries;
  }

  /**
   * Begins a call, which {@link #leave} ends.
   *
   * @throws CacheException if the store is closed or the batch too large
   */
  void enter(int entries) {
    underWay.incrementAndGet();
    if (closed) {
      leave();
      throw FileStore.closedStore();
    }
    if (entries > mostEntries) {
      leave();
      throw new CacheException(
          FailureCode.REFUSED,
          "%d entries are more than the %d that one call may have".formatted(entries, mostEntries));
    }
  }

  /** Ends a call. */
  void leave() {
    if (underWay.decrementAndGet() == 0 && closed) {
      lock.lock();
      try {
        left.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  /** Tells whether the store is open. */
  boolean areOpen() {
    return !closed;
  }

  /** Adds work to a call that is under way; ends with a {@link #leave} of its own. */
  void extend() {
    underWay.incrementAndGet();
  }

  /** Throws if the store is closed. */
  void requireOpen() {
    if (closed) {
      throw FileStore.closedStore();
    }
  }

  /**
   * Lets no call begin any more, and waits a bounded time for those under way.
   *
   * @param hurry is called if they take long
   * @return false if it was closed before
   */
  boolean close(Runnable hurry) {
    lock.lock();
    try {
      boolean first = !closed;
      closed = true;
      awaitNone();
      if (underWay.get() > 0) {
        // Something below stalls: let the callers go.
        hurry.run();
        awaitNone();
      }
      return first;
    } finally {
      lock.unlock();
    }
  }

  private void awaitNone() {
    boolean interrupted = false;
    long nanos = CLOSING_NANOS;
    while (underWay.get() > 0 && nanos > 0) {
      try {
        nanos = left.awaitNanos(nanos);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Counts a put. */
  BatchResult put(BatchResult result, long bytes) {
    return count(
        () -> {
          stored += result.count(ObjectStatus.OK);
          present += result.count(ObjectStatus.PRESENT);
          failed += result.count(ObjectStatus.FAILED);
          bytesStored += bytes;
        },
        result);
  }

  /** Counts a get or a read. */
  BatchResult read(BatchResult result, long bytes) {
    return count(
        () -> {
          found += result.count(ObjectStatus.OK);
          absent += result.count(ObjectStatus.ABSENT);
          failed += result.count(ObjectStatus.FAILED);
          bytesRead += bytes;
        },
        result);
  }

  /** Counts a remove. */
  BatchResult remove(BatchResult result) {
    return count(
        () -> {
          removed += result.count(ObjectStatus.OK);
          failed += result.count(ObjectStatus.FAILED);
        },
        result);
  }

  /** Counts what has failed of a call that counts nothing else. */
  BatchResult other(BatchResult result) {
    return count(() -> failed += result.count(ObjectStatus.FAILED), result);
  }

  /** Counts objects that a clear has removed. */
  void cleared(long objects) {
    lock.lock();
    try {
      removed += objects;
    } finally {
      lock.unlock();
    }
  }

  private BatchResult count(Runnable counting, BatchResult result) {
    lock.lock();
    try {
      counting.run();
    } finally {
      lock.unlock();
    }
    return result;
  }

  /** Returns the counters, beside what the store knows of what is in it. */
  StoreStats stats(long objects, long liveBytes, long capacity, long evicted) {
    lock.lock();
    try {
      return new StoreStats(
          objects,
          liveBytes,
          capacity,
          stored,
          present,
          found,
          absent,
          failed,
          removed,
          evicted,
          bytesStored,
          bytesRead);
    } finally {
      lock.unlock();
    }
  }
}
