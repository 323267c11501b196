package io.unifiedcache.cli.vectors;

import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * What came of one comparison.
 *
 * @param outcome the outcome
 * @param detail for one that differs, what was expected and found; otherwise why, or empty
 */
public record Verdict(Outcome outcome, String detail) {
  /** The outcomes of a comparison. */
  public enum Outcome {
    /** This build answers as SGLang did. */
    MATCHED,
    /** This build answers otherwise. */
    DIFFERING,
    /** This build refuses what SGLang should have refused; such cases are fixed. */
    ON_PURPOSE,
    /** The row records something that this build has nothing to compare with. */
    NOT_COVERED
  }

  private static final Verdict MATCHED = new Verdict(Outcome.MATCHED, "");

  /** Returns the verdict on equal answers. */
  static Verdict matched() {
    return MATCHED;
  }

  static Verdict differing(String detail) {
    return new Verdict(Outcome.DIFFERING, detail);
  }

  static Verdict onPurpose(String why) {
    return new Verdict(Outcome.ON_PURPOSE, why);
  }

  static Verdict notCovered(String why) {
    return new Verdict(Outcome.NOT_COVERED, why);
  }

  /**
   * Compares two answers.
   *
   * @param what names the answer
   */
  static Verdict compare(String what, Object expected, Object found) {
    if (Objects.equals(expected, found)) {
      return MATCHED;
    }
    if (expected instanceof List<?> expectedList && found instanceof List<?> foundList) {
      return differing(what + difference(expectedList, foundList));
    }
    return differing("%s: expected %s, found %s".formatted(what, expected, found));
  }

  private static String difference(List<?> expected, List<?> found) {
    if (expected.size() != found.size()) {
      return ": expected %d, found %d: expected %s, found %s"
          .formatted(expected.size(), found.size(), expected, found);
    }
    int i = 0;
    while (Objects.equals(expected.get(i), found.get(i))) {
      i++;
    }
    return "[%d]: expected %s, found %s".formatted(i, expected.get(i), found.get(i));
  }

  /** Checks that this build refuses, as SGLang did. */
  static Verdict refuses(String error, Supplier<?> attempt) {
    try {
      return differing("expected a refusal (%s), found %s".formatted(error, attempt.get()));
    } catch (IllegalArgumentException e) {
      return MATCHED;
    }
  }

  /** Returns this verdict if it differs, and otherwise the other one. */
  Verdict and(Supplier<Verdict> other) {
    return outcome == Outcome.MATCHED ? other.get() : this;
  }
}
