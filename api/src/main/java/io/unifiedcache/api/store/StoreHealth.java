package io.unifiedcache.api.store;

import java.util.Objects;

/**
 * What a probe of a store found.
 *
 * @param state whether it serves
 * @param detail a sentence for an operator; not blank
 */
public record StoreHealth(State state, String detail) {
  /** Whether a store serves. */
  public enum State {
    /** Everything works. */
    UP,
    /** Some operations work, or all work slowly or with less room. */
    DEGRADED,
    /** Nothing works. */
    DOWN
  }

  /**
   * Creates a health.
   *
   * @throws IllegalArgumentException if the detail is blank
   */
  public StoreHealth {
    Objects.requireNonNull(state, "state");
    if (detail.isBlank()) {
      throw new IllegalArgumentException("the detail of a health must not be blank");
    }
  }
}
