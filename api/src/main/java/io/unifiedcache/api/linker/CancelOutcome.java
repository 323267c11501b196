package io.unifiedcache.api.linker;

/** What a cancel found (rule {@code load.cancel}). */
public enum CancelOutcome {
  /**
   * The load had not started and never will. This is its terminal answer: no completion follows.
   */
  CANCELLED_QUEUED,
  /** The load has started and ends as if it had not been cancelled. */
  RUNNING,
  /** The load has ended; its completion waits to be polled. */
  FINISHED,
  /** No load has this id: there never was one, or its terminal answer has been given. */
  UNKNOWN
}
