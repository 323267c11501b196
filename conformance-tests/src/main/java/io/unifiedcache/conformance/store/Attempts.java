package io.unifiedcache.conformance.store;

import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.io.Serial;

/**
 * Attempts at something that needs an object to be there: a store may evict it at any time, but not
 * whenever one looks.
 */
final class Attempts {
  private static final int MOST = 4;

  private Attempts() {}

  /** What is attempted. */
  @FunctionalInterface
  interface Attempt {
    /** Attempts it with keys that begin with this name. */
    void with(String name);
  }

  /** Makes an attempt, and further ones while an object is gone that had been stored. */
  static void at(Trial trial, String name, Attempt attempt) {
    for (int i = 1; ; i++) {
      try {
        attempt.with(name + "-" + i);
        return;
      } catch (Gone e) {
        if (i == MOST) {
          throw new Violation(e.expected, "it is gone, in each of " + MOST + " attempts", e);
        }
        trial.note("an object was gone where the rule expected " + e.expected);
      }
    }
  }

  /** Ends the attempt if entry {@code i} is absent; fails the rule unless it is OK. */
  static void expectOk(Trial trial, String what, BatchResult result, int i) {
    requireThere(what, result, i);
    trial.expectStatus(what, result, i, ObjectStatus.OK);
  }

  /** Ends the attempt if entry {@code i} is absent. */
  static void requireThere(String what, BatchResult result, int i) {
    if (result.status(i) == ObjectStatus.ABSENT) {
      throw new Gone(what + " to find the object that was stored");
    }
  }

  /** Returns what ends an attempt since an object is gone. */
  static RuntimeException gone(String expected) {
    return new Gone(expected);
  }

  private static final class Gone extends RuntimeException {
    @Serial private static final long serialVersionUID = 1;

    private final String expected;

    Gone(String expected) {
      super(expected, null, false, false);
      this.expected = expected;
    }
  }
}
