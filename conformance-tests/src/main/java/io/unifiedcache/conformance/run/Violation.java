package io.unifiedcache.conformance.run;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A rule was seen to be broken. */
public final class Violation extends AssertionError {
  @Serial private static final long serialVersionUID = 1;

  private final String expected;
  private final String observed;

  /** Creates a violation: what the rule asks for, and what was seen instead. */
  public Violation(String expected, String observed) {
    this(expected, observed, null);
  }

  /** Creates a violation with what was thrown. */
  public Violation(String expected, String observed, @Nullable Throwable cause) {
    super("expected " + expected + ", observed " + observed, cause);
    this.expected = expected;
    this.observed = observed;
  }

  String expected() {
    return expected;
  }

  String observed() {
    return observed;
  }
}
