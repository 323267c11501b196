package io.unifiedcache.backend.file;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** What one call has a thread of the store do, while it waits no longer than its deadline. */
final class Job {
  private final CompletableFuture<Void> released = new CompletableFuture<>();
  private final AtomicBoolean hurried;
  private final AtomicBoolean begun = new AtomicBoolean();
  private volatile boolean late;
  private volatile @Nullable Throwable problem;

  /** Creates a job that nobody waits for. */
  Job() {
    this(new AtomicBoolean());
  }

  /**
   * Creates a job.
   *
   * @param hurried makes it late, and others
   */
  Job(AtomicBoolean hurried) {
    this.hurried = hurried;
  }

  /** Tells whether the caller's deadline has passed, so that nothing new is to be begun. */
  boolean isLate() {
    return late || hurried.get();
  }

  /**
   * Begins the work, or sees to it that it is never begun: whoever is first decides.
   *
   * @return whether this was first
   */
  boolean begin() {
    return begun.compareAndSet(false, true);
  }

  /** Says that the caller's deadline has passed. */
  void setLate() {
    late = true;
  }

  /** Tells whether the work is over. */
  boolean isDone() {
    return released.isDone();
  }

  /** Returns what ends with the work. */
  CompletionStage<Void> released() {
    return released.minimalCompletionStage();
  }

  /** Returns what the work ended with that nobody had foreseen. */
  @Nullable Throwable problem() {
    return problem;
  }

  void fail(Throwable unforeseen) {
    problem = unforeseen;
  }

  void end() {
    released.complete(null);
  }

  /** Throws if the deadline has passed. */
  void requireInTime() throws LateException {
    if (isLate()) {
      throw new LateException();
    }
  }

  /** The deadline of a call has passed. */
  static final class LateException extends Exception {
    private static final long serialVersionUID = 1;

    LateException() {
      this("the deadline passed first");
    }

    /** Creates one that says what was waited for. */
    LateException(String message) {
      super(message, null, false, false);
    }
  }
}
