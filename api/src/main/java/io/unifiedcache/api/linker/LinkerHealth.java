package io.unifiedcache.api.linker;

import java.util.Objects;

/**
 * How a linker is, for an operator.
 *
 * @param state whether it serves
 * @param detail a sentence that says why; not blank
 */
public record LinkerHealth(State state, String detail) {
  /** Whether a linker serves. */
  public enum State {
    /** Everything works. */
    UP,
    /**
     * The linker answers with less than it could, perhaps with nothing for the moment: its store is
     * not open yet or does not serve, or memory is quarantined. It serves again by itself.
     */
    DEGRADED,
    /** No page is restored or stored until a linker is opened anew. */
    DOWN
  }

  /**
   * Creates a health.
   *
   * @throws IllegalArgumentException if the detail is blank
   */
  public LinkerHealth {
    Objects.requireNonNull(state, "state");
    if (detail.isBlank()) {
      throw new IllegalArgumentException("the detail of a health must not be blank");
    }
  }
}
