package io.unifiedcache.conformance;

import io.unifiedcache.conformance.subject.LinkerFactory;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The rules of linkers as a JUnit test of a linker: extend it and say how to open one. The store
 * below it is the suite's own, which keeps all rules, with faults between them.
 *
 * <p>The tests and system properties are those of {@link StoreConformance}.
 */
public abstract class LinkerConformance {
  /** Creates the test. */
  protected LinkerConformance() {}

  /** Returns what opens the linkers to try. Called once for a run. */
  protected abstract LinkerFactory linkers();

  /** Runs the suite. */
  @TestFactory
  @SuppressWarnings("exports") // Who runs the tests has JUnit, and nobody else needs it.
  public final Stream<DynamicTest> conformance() {
    return JUnitRun.tests(Conformance.ofLinkers(linkers()).deviationsOf(getClass()));
  }
}
