package io.unifiedcache.conformance.result;

import java.time.Duration;
import java.util.Objects;

/**
 * What became of one rule.
 *
 * @param rule the id of the rule
 * @param level how binding it is
 * @param outcome what became of it
 * @param reason why; of a failure, all that is needed to understand and repeat it, in several
 *     lines; empty where there is nothing to say
 * @param time how long it was tried
 */
public record RuleResult(String rule, Level level, Outcome outcome, String reason, Duration time) {
  /** Creates a result. */
  public RuleResult {
    Objects.requireNonNull(rule, "rule");
    Objects.requireNonNull(level, "level");
    Objects.requireNonNull(outcome, "outcome");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(time, "time");
  }
}
