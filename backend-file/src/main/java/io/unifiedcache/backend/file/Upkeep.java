package io.unifiedcache.backend.file;

import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is done now and then, after a call and not for it: recency is written down, objects are
 * evicted below the low watermark, the disk is looked after, segments that nothing needs are
 * deleted.
 *
 * <p>Thread-safe.
 */
final class Upkeep {
  private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);

  private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long TOUCHES_PER_PERIOD = 10;
  private static final int MOST_TOUCHES = 2_000;

  private final SharedLog log;
  private final Space space;
  private final Index index;
  private final ReentrantLock state;
  private final Path root;
  private final AtomicLong last = new AtomicLong(System.nanoTime());
  private final AtomicLong rounds = new AtomicLong();

  Upkeep(SharedLog log, Space space, Index index, ReentrantLock state, Path root) {
    this.log = log;
    this.space = space;
    this.index = index;
    this.state = state;
    this.root = root;
  }

  /** Tells whether it is time; then whoever asked does it. */
  boolean isDue() {
    long before = last.get();
    long now = System.nanoTime();
    return now - before >= PERIOD_NANOS && last.compareAndSet(before, now);
  }

  /** Does what there is to do, unless others are changing the index just now. */
  void run(Tuning tuning) {
    boolean touches = rounds.incrementAndGet() % TOUCHES_PER_PERIOD == 0;
    try {
      log.publish(
          noWaiting(),
          () -> {
            if (touches) {
              log.change(touched(), /* flush= */ false);
            }
            if (tuning.lowWatermark() > 0) {
              space.keepWithin(tuning.capacity() - tuning.lowWatermark(), /* flush= */ false);
            }
            if (space.bytesShort(tuning) > 0 || !log.keepRoom()) {
              space.keepToWritten();
              space.evictSegment();
              space.deleteEmpty();
            } else if (space.bytesOver(tuning) > 0 && space.owned() > 1) {
              space.evictSegment();
              space.deleteEmpty();
            }
          });
    } catch (LateException e) {
      LOG.debug("no upkeep now, since the index of {} is being changed", root);
    } catch (IOException e) {
      LOG.warn("the upkeep of {} failed", root, e);
    }
  }

  /** Writes recency down before the folder is closed. */
  void last() {
    try {
      log.publish(noWaiting(), () -> log.change(touched(), /* flush= */ false));
    } catch (IOException | LateException e) {
      LOG.debug("recency is not written down", e);
    }
  }

  private List<LogEntry> touched() {
    state.lock();
    try {
      return index.touched(MOST_TOUCHES);
    } finally {
      state.unlock();
    }
  }

  private static Job noWaiting() {
    Job job = new Job();
    job.setLate();
    return job;
  }
}
