package io.unifiedcache.conformance;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.RuleResult;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/** A run as JUnit tests: one for each rule, which waits for its result, and one for the verdict. */
final class JUnitRun {
  static final String RULE = "conformance.rule";
  static final String SEED = "conformance.seed";
  static final String QUICK = "conformance.quick";
  static final String LARGE = "conformance.large";
  static final String REPORT_DIR = "conformance.report-dir";

  private JUnitRun() {}

  /** Starts the run and returns its tests. */
  static Stream<DynamicTest> tests(Conformance conformance) {
    configure(conformance);
    Map<String, CompletableFuture<RuleResult>> results = new LinkedHashMap<>();
    conformance.ids().forEach(id -> results.put(id, new CompletableFuture<>()));
    CompletableFuture<ConformanceReport> report = new CompletableFuture<>();
    Thread.ofPlatform().daemon().name("conformance").start(() -> run(conformance, results, report));
    List<DynamicTest> tests = new ArrayList<>();
    results.forEach(
        (id, result) -> tests.add(DynamicTest.dynamicTest(id, () -> tell(joined(result)))));
    tests.add(DynamicTest.dynamicTest("verdict", () -> tell(joined(report))));
    return tests.stream();
  }

  private static void configure(Conformance conformance) {
    String rule = System.getProperty(RULE);
    if (rule != null) {
      List<String> chosen = List.of(rule.split(","));
      conformance.rules(chosen::contains);
    }
    Long seed = Long.getLong(SEED);
    if (seed != null) {
      conformance.seed(seed);
    }
    conformance.quick(Boolean.getBoolean(QUICK)).large(Boolean.getBoolean(LARGE));
  }

  private static void run(
      Conformance conformance,
      Map<String, CompletableFuture<RuleResult>> results,
      CompletableFuture<ConformanceReport> report) {
    try {
      ConformanceReport done =
          conformance.run(
              result -> {
                CompletableFuture<RuleResult> waiting = results.get(result.rule());
                if (waiting != null) {
                  waiting.complete(result);
                }
              });
      String folder = System.getProperty(REPORT_DIR);
      if (folder != null) {
        done.writeTo(Path.of(folder));
      }
      report.complete(done);
    } catch (Throwable e) {
      // Told by every test.
      report.completeExceptionally(e);
      results.values().forEach(result -> result.completeExceptionally(e));
    }
  }

  private static <T> T joined(CompletableFuture<T> future) throws Throwable {
    try {
      return future.join();
    } catch (CompletionException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  private static void tell(RuleResult result) {
    switch (result.outcome()) {
      case PASSED -> {}
      case FAILED -> fail(result.reason());
      case HARNESS_ERROR -> fail("the suite itself went wrong: " + result.reason());
      case NOT_APPLICABLE, NO_HOOK, SET_ASIDE -> abort(result.outcome() + ": " + result.reason());
    }
  }

  private static void tell(ConformanceReport report) {
    String text = report.summary() + "\n  " + String.join("\n  ", report.reasons());
    switch (report.result()) {
      case CONFORMANT -> {}
      case PARTIAL -> abort(text);
      case NOT_CONFORMANT, UNKNOWN -> fail(text);
    }
  }
}
