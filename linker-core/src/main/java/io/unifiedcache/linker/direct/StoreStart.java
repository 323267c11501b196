package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.config.StartPolicy;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the store of a linker on a thread of its own, which may hang (rule {@code
 * linker.start-policy}), and tries again until it is open or no longer wanted.
 *
 * <p>A store is published once or closed again: one that opens after {@link #stop} was too late.
 * Thread-safe.
 */
final class StoreStart {
  private static final Logger LOG = LoggerFactory.getLogger(StoreStart.class);

  /** How often the pause between two tries is doubled. */
  private static final int DOUBLINGS = 5;

  /** Waits between two tries. */
  interface Pause {
    /** Waits for the given time, or until the start is {@linkplain StoreStart#stop() stopped}. */
    void await(Duration time) throws InterruptedException;
  }

  private enum Phase {
    OPENING,
    /** The pools are made known to the store. */
    LINKING,
    PAUSING,
    ENDED
  }

  private final String instance;
  private final LinkerOptions options;
  private final Supplier<CacheStore> opening;
  private final Pause pause;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private Phase phase;

  /** Whether the first try is waited for, so that its failure may be that of the linker. */
  private boolean awaited = true;

  private boolean stopped;
  private boolean published;
  private @Nullable Throwable problem;

  /** What the problem says, asked for without the lock: a backend's exception is foreign code. */
  private String reason = "it is still being opened";

  private int tries;
  private long began;
  private Deadline phaseEnd = Deadline.never();
  private @Nullable Thread thread;

  /** Prepares a start. */
  StoreStart(Supplier<CacheStore> opening, LinkerOptions options, String instance) {
    this(opening, options, instance, null);
  }

  /** Prepares a start that pauses as a test likes. */
  StoreStart(
      Supplier<CacheStore> opening, LinkerOptions options, String instance, @Nullable Pause pause) {
    this.instance = instance;
    this.options = options;
    this.opening = opening;
    this.pause = pause == null ? this::awaitStop : pause;
    this.phase = Phase.OPENING;
  }

  /** Returns the start of a linker whose store was open before it. */
  static StoreStart none(LinkerOptions options, String instance) {
    StoreStart none =
        new StoreStart(
            () -> {
              throw new IllegalStateException("the store has been opened already");
            },
            options,
            instance);
    none.phase = Phase.ENDED;
    return none;
  }

  /**
   * Begins, and waits for the first try, for the start timeout at most.
   *
   * @param link makes a store that has opened ready for use; throws if it does not fit
   * @param publish takes what was made ready
   * @throws CacheException if the policy is to fail, with code {@code TIMEOUT} if the try has not
   *     ended; and in either policy with code {@code REFUSED} if the store or its settings do not
   *     fit, since no other try would help
   */
  void begin(Function<CacheStore, StoreAccess> link, Consumer<StoreAccess> publish) {
    Deadline by = Deadline.after(options.startTimeout());
    boolean ended = false;
    Throwable cause = null;
    InterruptedException interrupt = null;
    lock.lock();
    try {
      began = System.nanoTime();
      thread = begin(() -> run(link, publish));
      ended = awaitFirstTry(by);
      cause = published ? null : problem;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ended = published;
      interrupt = published ? null : e;
    } finally {
      awaited = false;
      // In the same step, so that nothing is published any more once this has been decided.
      stopped |= interrupt != null || (!ended && isFailFast());
      lock.unlock();
    }
    if (interrupt != null) {
      giveUp();
      throw new CacheException(
          FailureCode.CANCELLED, "interrupted while the store was being opened", interrupt);
    }
    if (!ended && isFailFast()) {
      giveUp();
      throw new CacheException(
          FailureCode.TIMEOUT,
          "the store was not opened within linker.start-timeout = "
              + options.startTimeout()
              + "; should it open later, it is closed again");
    }
    if (cause != null && isFinal(cause)) {
      giveUp();
      throw rethrown(cause);
    }
    if (!ended) {
      LOG.warn(
          "{}: the store is still being opened after {}; until it is, there are no hits",
          instance,
          options.startTimeout());
    }
  }

  private Thread begin(Runnable opening) {
    try {
      return Thread.ofPlatform().daemon().name(instance + "-start").start(opening);
    } catch (RuntimeException | Error e) {
      throw Workers.cannotStart(e);
    }
  }

  /** Stops, and sees to it that the pools may be freed. */
  private void giveUp() {
    stop();
    if (!awaitUnlinked(Deadline.after(options.closeTimeout()))) {
      LOG.error("{}: the store still registers the pools; they must never be freed", instance);
    }
  }

  /** Returns whether the first try has ended by the deadline. */
  private boolean awaitFirstTry(Deadline by) throws InterruptedException {
    while (!published && problem == null && phase != Phase.ENDED && !by.hasPassed()) {
      long unused = changed.awaitNanos(by.remainingNanos());
    }
    return published || problem != null;
  }

  private boolean isFailFast() {
    return options.startPolicy() == StartPolicy.FAIL_FAST;
  }

  /**
   * Tells whether a failure of the first try is that of the linker: always if that is the policy,
   * otherwise if the next one would be the same, since the store said so or the pools do not fit.
   */
  private boolean isFinal(Throwable cause) {
    return isFailFast()
        || (cause instanceof CacheException refusal && refusal.code() == FailureCode.REFUSED)
        || cause instanceof IllegalArgumentException;
  }

  private static RuntimeException rethrown(Throwable cause) {
    return switch (cause) {
      case RuntimeException exception -> exception;
      case Error error -> throw error;
      default -> new CacheException(FailureCode.INTERNAL, "opening threw " + cause, cause);
    };
  }

  private void run(Function<CacheStore, StoreAccess> link, Consumer<StoreAccess> publish) {
    try {
      Duration time = options.retryInterval();
      Duration longest = time.multipliedBy(1L << DOUBLINGS);
      while (!attempt(link, publish) && enter(Phase.PAUSING, Deadline.after(time))) {
        pause.await(time);
        time = time.compareTo(longest) < 0 ? time.multipliedBy(2) : longest;
      }
    } catch (InterruptedException e) {
      LOG.debug("{}: opening the store was given up", instance, e);
    } finally {
      boolean unused = enter(Phase.ENDED, Deadline.never());
    }
  }

  /** Tries once, and tells whether it was the last time. */
  private boolean attempt(Function<CacheStore, StoreAccess> link, Consumer<StoreAccess> publish) {
    if (!enter(Phase.OPENING, Deadline.never())) {
      return true;
    }
    StoreAccess linked;
    try {
      CacheStore store = opening.get();
      try {
        if (!enter(Phase.LINKING, Deadline.never())) {
          throw new CacheException(FailureCode.CLOSED, "the store opened too late");
        }
        linked = link.apply(store);
      } catch (Throwable e) {
        closeAfter(e, store);
        throw e;
      }
    } catch (Throwable e) {
      fail(e);
      return false;
    }
    int tryNumber;
    boolean opened;
    boolean again;
    lock.lock();
    try {
      opened = !stopped;
      again = problem != null;
      tryNumber = tries;
      if (opened) {
        publish.accept(linked);
        published = true;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    if (!opened) {
      undo(linked);
    } else if (again) {
      LOG.info("{}: the store is open, at try {}", instance, tryNumber);
    }
    return true;
  }

  private void undo(StoreAccess linked) {
    linked.unregister().forEach(e -> LOG.warn("{}: unregistering memory failed", instance, e));
    try {
      linked.store().close();
    } catch (RuntimeException e) {
      LOG.warn("{}: closing a store that opened too late failed", instance, e);
    }
  }

  private static void closeAfter(Throwable problem, CacheStore store) {
    try {
      store.close();
    } catch (RuntimeException | Error e) {
      problem.addSuppressed(e);
    }
  }

  /** Goes on to the next phase, unless the start was stopped. */
  private boolean enter(Phase next, Deadline end) {
    lock.lock();
    try {
      if (stopped && next != Phase.ENDED) {
        return false;
      }
      phase = next;
      phaseEnd = end;
      if (next == Phase.OPENING) {
        tries++;
      }
      changed.signalAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Notes why a try failed, and tells of it unless the one before failed for the same reason. */
  private void fail(Throwable cause) {
    String latest = reason(cause);
    boolean told;
    lock.lock();
    try {
      stopped |= awaited && isFinal(cause);
      told = stopped || (problem != null && reason.equals(latest));
      problem = cause;
      reason = latest;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (!told) {
      LOG.warn("{}: the store cannot be opened, so there are no hits: {}", instance, latest);
    }
    LOG.debug("{}: the store cannot be opened", instance, cause);
  }

  /** Waits between two tries, unless the start is stopped. */
  private void awaitStop(Duration time) throws InterruptedException {
    Deadline by = Deadline.after(time);
    lock.lock();
    try {
      while (!stopped && !by.hasPassed()) {
        long unused = changed.awaitNanos(by.remainingNanos());
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends the tries without waiting: nothing is published any more. */
  void stop() {
    lock.lock();
    try {
      stopped = true;
      changed.signalAll();
      if (thread != null && phase != Phase.ENDED) {
        thread.interrupt();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits, once stopped, until the store knows nothing of the pools' memory that was not published.
   *
   * @return whether that is so
   */
  boolean awaitUnlinked(Deadline by) {
    return await(() -> phase != Phase.LINKING, by);
  }

  /** Waits, once stopped, until the thread has ended, and tells whether it has. */
  boolean awaitEnd(Deadline by) {
    return await(() -> phase == Phase.ENDED, by);
  }

  private boolean await(BooleanSupplier condition, Deadline by) {
    boolean interrupted = false;
    lock.lock();
    try {
      while (!condition.getAsBoolean() && !by.hasPassed()) {
        try {
          long unused = changed.awaitNanos(by.remainingNanos());
        } catch (InterruptedException e) {
          // Memory that a store still knows is worse than a late interrupt.
          interrupted = true;
        }
      }
      return condition.getAsBoolean();
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns what stands in for the store until it is open. */
  UnopenedStore unopened() {
    return new UnopenedStore(this::why, this::progress);
  }

  /** Returns why the store is not open. */
  private String why() {
    lock.lock();
    try {
      return reason;
    } finally {
      lock.unlock();
    }
  }

  private String progress() {
    lock.lock();
    try {
      StringBuilder text =
          new StringBuilder("the store has not been open since the start ")
              .append(seconds(System.nanoTime() - began))
              .append(" ago, ");
      if (phase == Phase.PAUSING) {
        text.append("next try in ").append(seconds(phaseEnd.remainingNanos()));
      } else if (phase == Phase.ENDED || stopped) {
        text.append("given up");
      } else {
        text.append("try ").append(tries).append(" is running");
      }
      return text.append(": ").append(why()).toString();
    } finally {
      lock.unlock();
    }
  }

  private static String seconds(long nanos) {
    return String.format(Locale.ROOT, "%.1f s", nanos / (double) TimeUnit.SECONDS.toNanos(1));
  }

  private static String reason(Throwable cause) {
    boolean explained =
        cause instanceof CacheException || cause instanceof IllegalArgumentException;
    String message = explained ? cause.getMessage() : null;
    return message == null ? StoreAccess.text(cause) : message;
  }
}
