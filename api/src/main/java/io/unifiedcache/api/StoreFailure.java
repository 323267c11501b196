package io.unifiedcache.api;

import java.util.Objects;

/**
 * Why one entry of a batch failed.
 *
 * @param code the kind of failure
 * @param message a sentence for an operator that names what failed; not blank
 * @param retryable whether the same request may succeed later with nothing else changed
 * @param memory what became of the memory of the entry
 */
public record StoreFailure(
    FailureCode code, String message, boolean retryable, MemoryState memory) {
  /**
   * Creates a failure.
   *
   * @throws IllegalArgumentException if the message is blank
   */
  public StoreFailure {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(memory, "memory");
    if (message.isBlank()) {
      throw new IllegalArgumentException("the message of a " + code + " failure must not be blank");
    }
  }

  /** Returns a failure that has not touched memory and would be the same if tried again. */
  public static StoreFailure of(FailureCode code, String message) {
    return new StoreFailure(code, message, false, MemoryState.UNTOUCHED);
  }

  /** Returns this failure with another state of memory. */
  public StoreFailure withMemory(MemoryState state) {
    return new StoreFailure(code, message, retryable, state);
  }

  /** Returns this failure, marked as one that may pass. */
  public StoreFailure asRetryable() {
    return new StoreFailure(code, message, true, memory);
  }
}
