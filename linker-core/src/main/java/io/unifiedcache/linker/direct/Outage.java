package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.linker.config.LinkerOptions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks a store which objects it has, on threads of its own, and does not rely on it to answer.
 *
 * <p>After some questions in a row that no part of the store answered, the store is taken to be
 * away: nothing is asked any more but one object now and then, in the background, until that is
 * answered (rule {@code linker.outage}). Thread-safe.
 */
final class Outage {
  /** Threads that ask, so that one call that never returns does not end the lookups. */
  static final int THREADS = 2;

  private static final Logger LOG = LoggerFactory.getLogger(Outage.class);

  /** How often the pause between two probes is doubled. */
  private static final int DOUBLINGS = 5;

  private final String instance;
  private final CacheStore store;
  private final Workers threads;
  private final LinkerOptions options;
  private final int mostFailures;
  private final Counters counters;
  private final MonotonicClock clock;
  private final AtomicInteger busy = new AtomicInteger();
  private final Map<Object, CompletableFuture<BatchResult>> awaited = new ConcurrentHashMap<>();

  // Guarded by this monitor.
  private int failures;
  private boolean away;
  private boolean probing;
  private String why = "";
  private List<ObjectKey> asked = List.of();
  private long pauseNanos;
  private long nextProbe;
  private boolean closed;

  /** Begins with the store there. */
  Outage(
      String instance,
      CacheStore store,
      Workers threads,
      LinkerOptions options,
      Counters counters,
      MonotonicClock clock) {
    this.instance = instance;
    this.store = store;
    this.threads = threads;
    this.options = options;
    this.mostFailures = store instanceof UnopenedStore ? 0 : options.outageFailures();
    this.counters = counters;
    this.clock = clock;
  }

  /** Returns the same for another store, which is there. */
  Outage of(CacheStore other) {
    return new Outage(instance, other, threads, options, counters, clock);
  }

  /**
   * Returns what the store says, or that it does not by the deadline and its grace. An interrupt
   * does not shorten the wait, and is kept.
   */
  BatchResult exists(List<ObjectKey> keys, Deadline by) {
    StoreFailure refusal = refusal();
    if (refusal != null) {
      return nothing(keys.size(), refusal);
    }
    CompletableFuture<BatchResult> answer = new CompletableFuture<>();
    Object question = new Object();
    awaited.put(question, answer);
    try {
      BatchResult result =
          ask(keys, by, answer)
              ? await(answer, keys.size(), by)
              : BatchResult.allFailed(
                  keys.size(),
                  StoreFailure.of(
                      FailureCode.TIMEOUT,
                      "the store has not returned from " + THREADS + " lookups before this one"));
      if (isClosed()) {
        return BatchResult.allFailed(
            keys.size(), StoreFailure.of(FailureCode.CLOSED, "the linker was closed"));
      }
      note(keys, result);
      return result;
    } finally {
      awaited.remove(question);
    }
  }

  private boolean ask(List<ObjectKey> keys, Deadline by, CompletableFuture<BatchResult> answer) {
    if (busy.incrementAndGet() > THREADS || isClosed()) {
      busy.decrementAndGet();
      return false;
    }
    boolean taken = false;
    try {
      taken =
          threads.execute(
              () -> {
                BatchResult result;
                try {
                  result = store.exists(keys, by);
                } catch (RuntimeException | Error problem) {
                  result = BatchResult.allFailed(keys.size(), StoreAccess.thrown(problem));
                } finally {
                  busy.decrementAndGet();
                }
                answer.complete(result);
              });
      return taken;
    } finally {
      if (!taken) {
        busy.decrementAndGet();
      }
    }
  }

  private BatchResult await(CompletableFuture<BatchResult> answer, int keys, Deadline by) {
    long grace = TimeUnit.NANOSECONDS.convert(store.limits().grace());
    long left = by.remainingNanos();
    long end =
        System.nanoTime()
            + Math.min(Long.MAX_VALUE / 2, left + Math.min(grace, Long.MAX_VALUE - left));
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return answer.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (TimeoutException e) {
      return BatchResult.allFailed(
          keys,
          StoreFailure.of(
              FailureCode.TIMEOUT, "the store has not returned from a lookup by its deadline"));
    } catch (ExecutionException e) {
      throw new AssertionError("nothing ends it so", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Has none of the objects, and fails the first alone, so that a lookup fails once. */
  static BatchResult nothing(int keys, StoreFailure why) {
    BatchResult.Builder result = BatchResult.builder(keys);
    for (int i = 0; i < keys; i++) {
      if (i == 0) {
        result.failed(i, why);
      } else {
        result.set(i, ObjectStatus.ABSENT);
      }
    }
    return result.build();
  }

  /** Takes down what became of a question. */
  void note(List<ObjectKey> keys, BatchResult result) {
    String reason = outage(result);
    boolean began = false;
    synchronized (this) {
      failures = reason == null ? 0 : failures + 1;
      if (reason != null && !away && mostFailures > 0 && failures >= mostFailures) {
        began = true;
        away = true;
        why = reason;
        asked = List.of(keys.getFirst());
        pauseNanos = options.retryInterval().toNanos();
        nextProbe = clock.nanos() + pauseNanos;
      }
    }
    if (began) {
      counters.outage();
      LOG.warn(
          "{}: the store is away, so there are no hits until it answers: {}", instance, reason);
    }
  }

  /** Returns why no part of the store answered; null if one did. */
  private static @Nullable String outage(BatchResult result) {
    if (result.size() == 0) {
      return null;
    }
    for (int i = 0; i < result.size(); i++) {
      if (result.status(i) != ObjectStatus.FAILED) {
        return null;
      }
      FailureCode code = result.failure(i).code();
      if (code != FailureCode.TIMEOUT && code != FailureCode.UNREACHABLE) {
        return null;
      }
    }
    return result.failure(0).message();
  }

  /** Returns why the store is not asked; null if it is. Looks whether it is back, if it is time. */
  @Nullable StoreFailure refusal() {
    String reason;
    List<ObjectKey> probed = List.of();
    synchronized (this) {
      if (!away) {
        return null;
      }
      reason = why;
      if (!probing && clock.nanos() - nextProbe >= 0) {
        probing = true;
        probed = asked;
      }
    }
    if (!probed.isEmpty()) {
      probe(probed);
    }
    return StoreFailure.of(FailureCode.UNREACHABLE, "the store is away: " + reason);
  }

  private void probe(List<ObjectKey> keys) {
    CompletableFuture<BatchResult> answer = new CompletableFuture<>();
    var unused = answer.thenAccept(result -> probed(outage(result)));
    boolean asked = false;
    try {
      asked = ask(keys, Deadline.after(options.lookupTimeout(), clock), answer);
    } finally {
      if (!asked) {
        probed("the store has not returned from earlier lookups");
      }
    }
  }

  private void probed(@Nullable String reason) {
    synchronized (this) {
      probing = false;
      if (reason == null) {
        away = false;
        // On probation: one more failure is enough.
        failures = mostFailures - 1;
      } else {
        why = reason;
        pauseNanos = Math.min(2 * pauseNanos, options.retryInterval().toNanos() << DOUBLINGS);
        nextProbe = clock.nanos() + pauseNanos;
      }
    }
    if (reason == null) {
      LOG.info("{}: the store answers again", instance);
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /** Ends every wait for an answer. */
  void close() {
    synchronized (this) {
      closed = true;
    }
    for (CompletableFuture<BatchResult> each : awaited.values()) {
      each.complete(BatchResult.all(0, ObjectStatus.ABSENT));
    }
  }
}
