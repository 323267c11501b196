package io.unifiedcache.conformance.result;

import java.util.Locale;

/** What became of one rule in a run. */
public enum Outcome {
  /** It was tried and held. */
  PASSED,
  /** It was tried and broken. */
  FAILED,
  /** It speaks of a capability that is not declared. */
  NOT_APPLICABLE,
  /** It cannot be tried without a hook that was not given. */
  NO_HOOK,
  /** It is broken, as its author has said beforehand. */
  SET_ASIDE,
  /** The suite itself went wrong; nothing is known of the rule. */
  HARNESS_ERROR;

  /** Returns the outcome as reports write it, such as {@code not-applicable}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
