package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** What one caller has a thread of the store do, while it waits no longer than its deadline. */
final class Call {
  private enum State {
    QUEUED,
    GIVEN_UP,
    RUNNING,
    LEFT,
    ENDING,
    DONE
  }

  private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();
  private volatile boolean late;
  private volatile @Nullable Throwable problem;
  private volatile @Nullable CompletionStage<?> doubt;

  /** Begins the work; false if the caller has given up before. */
  boolean begin() {
    return state.compareAndSet(State.QUEUED, State.RUNNING);
  }

  /** Gives up work that has not begun; tells whether it never will. */
  boolean giveUp() {
    return state.compareAndSet(State.QUEUED, State.GIVEN_UP) || state.get() == State.GIVEN_UP;
  }

  /**
   * Leaves work to itself that goes on; false if it is over, or is about to be.
   *
   * <p>The caller may pass {@link #released} on only after that.
   */
  boolean leave() {
    return state.compareAndSet(State.RUNNING, State.LEFT);
  }

  /** Says that nothing is left to do but {@link #end}; false if the caller has left. */
  boolean finish() {
    return state.compareAndSet(State.RUNNING, State.ENDING);
  }

  /** Tells whether the caller waits no more, so that nothing new is to be begun. */
  boolean isLate() {
    return late;
  }

  /** Says that the caller waits no more. */
  void setLate() {
    late = true;
  }

  /** Tells whether the work is over. */
  boolean isDone() {
    return state.get() == State.DONE;
  }

  /** Says that memory may be in use beyond the end of the work, until a stage ends. */
  void keepInUse(CompletionStage<?> stage) {
    doubt = stage;
  }

  /** Returns what ends when nothing that the work began is at the caller's memory any more. */
  CompletionStage<?> released() {
    return released.minimalCompletionStage();
  }

  /** Returns what the work ended with: a {@link CacheException}, or what nobody had foreseen. */
  @Nullable Throwable problem() {
    return problem;
  }

  void fail(Throwable thrown) {
    problem = thrown;
  }

  /** Says that the work is over. */
  void end() {
    state.set(State.DONE);
    CompletionStage<?> inUse = doubt;
    if (inUse == null) {
      released.complete(null);
    } else {
      inUse.whenComplete((nothing, never) -> released.complete(null));
    }
  }
}
