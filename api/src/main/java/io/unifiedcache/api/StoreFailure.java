package io.unifiedcache.api;

import java.util.Objects;

/**
 * Why one entry of a batch failed.
 *
 * @param code the kind of failure
 * @param message a sentence for an operator that names what failed; not blank
 * @param retryable whether the same request may succeed later with nothing else changed; the code
 *     decides it, unless its {@link FailureCode#retry} says that it depends
 * @param memory what became of the memory of the entry
 */
public record StoreFailure(
    FailureCode code, String message, boolean retryable, MemoryState memory) {
  /**
   * Creates a failure.
   *
   * @throws IllegalArgumentException if the message is blank, or the code does not allow what
   *     {@code retryable} says
   */
  public StoreFailure {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(memory, "memory");
    if (message.isBlank()) {
      throw new IllegalArgumentException("the message of a " + code + " failure must not be blank");
    }
    if (code.retry() == (retryable ? FailureCode.Retry.NEVER : FailureCode.Retry.ALWAYS)) {
      throw new IllegalArgumentException(
          "a %s failure is %s retryable".formatted(code, retryable ? "never" : "always"));
    }
  }

  /**
   * Returns a failure that has not touched memory. Where it depends on the failure whether it may
   * pass, it does not.
   */
  public static StoreFailure of(FailureCode code, String message) {
    return new StoreFailure(
        code, message, code.retry() == FailureCode.Retry.ALWAYS, MemoryState.UNTOUCHED);
  }

  /** Returns this failure with another state of memory. */
  public StoreFailure withMemory(MemoryState state) {
    return new StoreFailure(code, message, retryable, state);
  }

  /** Returns this failure, marked as one that may pass; unchanged where its code decides that. */
  public StoreFailure asRetryable() {
    return code.retry() == FailureCode.Retry.DEPENDS
        ? new StoreFailure(code, message, true, memory)
        : this;
  }
}
