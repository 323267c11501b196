package io.unifiedcache.conformance.run;

import io.unifiedcache.conformance.result.Outcome;
import java.io.Serial;

/** A rule found out that it cannot be tried here. */
final class Untried extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  private final Outcome outcome;

  Untried(Outcome outcome, String reason) {
    super(reason, null, false, false);
    this.outcome = outcome;
  }

  Outcome outcome() {
    return outcome;
  }
}
