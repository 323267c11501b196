package io.unifiedcache.conformance.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.run.Trial;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Removing objects that may be leased for a while. */
final class Removal {
  /** How long a lease may take to be noticed as over. */
  private static final Duration SLACK = Duration.ofSeconds(1);

  private static final Duration LONGEST = Duration.ofSeconds(30);
  private static final Duration LONGEST_IF_QUICK = Duration.ofSeconds(2);

  private Removal() {}

  /** Tells whether leases end soon enough to be waited for; says so in the report if not. */
  static boolean canWait(Trial trial) {
    Duration busy = trial.limits().busy();
    Duration longest = trial.effort().quick() ? LONGEST_IF_QUICK : LONGEST;
    if (busy.compareTo(longest) <= 0 || trial.subject().clock().isPresent()) {
      return true;
    }
    trial.note("leases of " + busy + " were not waited for");
    return false;
  }

  /**
   * Removes an object that is there, waiting while it is BUSY, for the declared bound at most. If
   * leases take too long to be waited for, removes it though it is leased.
   */
  static void untilDone(Trial trial, CacheStore store, ObjectKey key) {
    boolean wait = canWait(trial);
    Duration busy = trial.limits().busy();
    boolean leases = !busy.isZero();
    Deadline over = Deadline.after(leases ? busy.plus(SLACK) : busy);
    BatchResult result = store.remove(List.of(key), !wait, trial.soon());
    while (wait && leases && isBusy(result) && !over.hasPassed()) {
      pause(trial);
      result = store.remove(List.of(key), false, trial.soon());
    }
    trial.expectStatus(
        "remove of a present object, leases of " + busy + " waited for",
        result,
        0,
        ObjectStatus.OK);
  }

  private static boolean isBusy(BatchResult result) {
    return result.status(0) == ObjectStatus.FAILED && result.failure(0).code() == FailureCode.BUSY;
  }

  private static void pause(Trial trial) {
    trial
        .subject()
        .clock()
        .ifPresentOrElse(
            ahead -> ahead.accept(trial.limits().busy()), () -> LockSupport.parkNanos(5_000_000));
  }

  /** Clears a prefix, again while objects are kept because they are leased; returns the sum. */
  static ClearResult clear(Trial trial, CacheStore store, KeyPrefix prefix) {
    Duration busy = trial.limits().busy();
    Deadline over =
        Deadline.after(busy.isZero() || !canWait(trial) ? Duration.ZERO : busy.plus(SLACK));
    ClearResult result = store.clear(prefix, trial.soon());
    long removed = result.removed();
    while (result.kept() > 0 && !over.hasPassed()) {
      pause(trial);
      result = store.clear(prefix, trial.soon());
      removed += result.removed();
    }
    return new ClearResult(removed, result.kept());
  }
}
