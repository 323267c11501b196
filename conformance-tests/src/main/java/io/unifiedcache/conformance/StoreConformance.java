package io.unifiedcache.conformance;

import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The suite as a JUnit test of a store: extend it and say how to open the store.
 *
 * {@snippet :
 * class MyStoreConformanceTest extends StoreConformance {
 *   @Override
 *   protected StoreUnderTest store() {
 *     return StoreUnderTest.named("my-store", Map.of("root", folder.toString()));
 *   }
 * }
 * }
 *
 * <p>There is a test for every rule, and one for the verdict of the run. A rule that does not apply
 * or needs a hook is skipped by name. System properties: {@value JUnitRun#RULE} runs some rules
 * only, {@value JUnitRun#SEED} repeats a run, {@value JUnitRun#QUICK} and {@value JUnitRun#LARGE}
 * do less or more, {@value JUnitRun#REPORT_DIR} names a folder for the reports.
 */
public abstract class StoreConformance {
  /** Creates the test. */
  protected StoreConformance() {}

  /** Returns the store to try. Called once for a run. */
  protected abstract StoreUnderTest store();

  /** Runs the suite. */
  @TestFactory
  @SuppressWarnings("exports") // Who runs the tests has JUnit, and nobody else needs it.
  public final Stream<DynamicTest> conformance() {
    return JUnitRun.tests(Conformance.ofStore(store()).deviationsOf(getClass()));
  }
}
