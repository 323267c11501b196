package io.unifiedcache.api;

import java.util.Objects;
import java.util.concurrent.CompletionStage;

/**
 * What a failed transfer has done to the memory it was given (rule {@code store.memory-in-doubt}).
 */
public sealed interface MemoryState {
  /** Nothing was written. */
  record Untouched() implements MemoryState {}

  /** Some bytes may have been written. Nothing writes any more. */
  record Dirty() implements MemoryState {}

  /**
   * A transfer may still read or write the memory. Nobody frees or reuses it until the stage ends,
   * normally or exceptionally.
   *
   * @param released ends when the transfer has let go
   */
  record InUse(CompletionStage<?> released) implements MemoryState {
    /** Creates the state. */
    public InUse {
      Objects.requireNonNull(released, "released");
    }
  }

  /** The only value of {@link Untouched} that anyone needs. */
  MemoryState UNTOUCHED = new Untouched();

  /** The only value of {@link Dirty} that anyone needs. */
  MemoryState DIRTY = new Dirty();
}
