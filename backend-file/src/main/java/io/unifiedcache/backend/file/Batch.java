package io.unifiedcache.backend.file;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The entries of one call, each of which is about a file of its own.
 *
 * <p>The calling thread settles those that need no file, has the threads of the store settle the
 * others, and asks for the result. An entry is settled by one thread.
 */
final class Batch {
  private final List<ObjectKey> keys;
  private final @Nullable ObjectStatus[] statuses;
  private final @Nullable StoreFailure[] failures;
  private final @Nullable ObjectCopy[] copies;

  /** Which entries are still open when files are touched. */
  private boolean[] open = new boolean[0];

  private @Nullable Job job;

  Batch(List<ObjectKey> keys) {
    this.keys = keys;
    statuses = new @Nullable ObjectStatus[keys.size()];
    failures = new @Nullable StoreFailure[keys.size()];
    copies = new @Nullable ObjectCopy[keys.size()];
  }

  /** Says what an entry is to copy. */
  void copy(int entry, ObjectCopy copy) {
    copies[entry] = copy;
    if (copy.hasFailed()) {
      statuses[entry] = ObjectStatus.FAILED;
    }
  }

  /** Settles an entry. */
  void set(int entry, ObjectStatus status) {
    statuses[entry] = status;
  }

  /** Settles an entry. */
  void fail(int entry, StoreFailure failure) {
    failures[entry] = failure;
    statuses[entry] = ObjectStatus.FAILED;
  }

  /** Tells whether an entry is settled. */
  boolean isSettled(int entry) {
    return statuses[entry] != null;
  }

  /** What settles entries, by touching files. */
  interface Unit {
    /** Settles the entries of a unit; the deadline may have passed, as the job says. */
    void run(int unit, Job job);
  }

  /** Has threads settle all open entries. */
  void run(IoThreads threads, int units, Deadline by, Unit unit) {
    open = new boolean[keys.size()];
    boolean any = false;
    for (int i = 0; i < open.length; i++) {
      open[i] = !isSettled(i);
      any |= open[i];
    }
    if (any) {
      job = threads.run(by, running -> threads.share(units, i -> unit.run(i, running)));
    }
  }

  /** Returns what became of the entries. */
  BatchResult result() {
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      StoreFailure failure = failure(i);
      ObjectStatus status = failure == null ? statuses[i] : ObjectStatus.FAILED;
      if (failure != null) {
        result.failed(i, failure);
      } else if (status != null) {
        result.set(i, status);
      }
    }
    return result.build();
  }

  private @Nullable StoreFailure failure(int i) {
    Job running = job;
    ObjectCopy copy = copies[i];
    if (running != null && open[i] && !running.isDone()) {
      return copy == null
          ? late(i)
          : copy.late().withMemory(new MemoryState.InUse(running.released()));
    } else if (failures[i] != null) {
      return failures[i];
    } else if (copy != null && copy.hasFailed()) {
      return copy.failure();
    } else if (isSettled(i)) {
      return null;
    }
    Throwable problem = running == null ? null : running.problem();
    return problem == null
        ? late(i)
        : StoreFailure.of(FailureCode.INTERNAL, Limits.about(keys.get(i), problem.toString()));
  }

  private StoreFailure late(int i) {
    return StoreFailure.of(
        FailureCode.TIMEOUT, Limits.about(keys.get(i), "the deadline passed first"));
  }

  /** Returns the bytes of the entries that are OK in the result. */
  long bytes(BatchResult result) {
    long bytes = 0;
    for (int i = 0; i < copies.length; i++) {
      ObjectCopy copy = copies[i];
      if (copy != null && result.isOk(i)) {
        bytes += copy.size();
      }
    }
    return bytes;
  }
}
