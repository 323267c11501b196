package io.unifiedcache.conformance.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.conformance.Conformance;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.store.FolderStore.Defect;
import io.unifiedcache.conformance.store.FolderStoreProvider.Mode;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stores that outlive a process, and right ones, are found to be right. */
class ProcessRulesTest {
  private final Path root;

  ProcessRulesTest(@TempDir Path root) {
    this.root = root;
  }

  private static ConformanceReport run(StoreUnderTest subject) {
    ConformanceReport report = Conformance.ofStore(subject).quick(true).run(result -> {});
    for (RuleResult each : report.rules()) {
      assertThat(each.outcome())
          .as("%s: %s", each.rule(), each.reason())
          .isNotIn(Outcome.FAILED, Outcome.HARNESS_ERROR);
    }
    return report;
  }

  private static Outcome outcome(ConformanceReport report, String rule) {
    return report.rules().stream()
        .filter(each -> each.rule().equals(rule))
        .findFirst()
        .orElseThrow()
        .outcome();
  }

  private StoreUnderTest byCode() {
    return StoreUnderTest.of(
        "by-code", () -> new FolderStore(root, /* shared= */ false, Defect.NONE, "by-code"));
  }

  @Test
  void exclusiveStore_byName_keepsTheRules() {
    ConformanceReport report = run(FolderStoreProvider.subject(root, Mode.EXCLUSIVE, Defect.NONE));

    assertThat(outcome(report, "store.durable")).isEqualTo(Outcome.PASSED);
    assertThat(outcome(report, "store.exclusive")).isEqualTo(Outcome.PASSED);
    assertThat(outcome(report, "store.shared")).isEqualTo(Outcome.NOT_APPLICABLE);
    assertThat(report.reasons()).noneMatch(reason -> reason.contains("could not be removed"));
  }

  @Test
  void sharedStore_byName_keepsTheRules() {
    ConformanceReport report = run(FolderStoreProvider.subject(root, Mode.SHARED, Defect.NONE));

    assertThat(outcome(report, "store.durable")).isEqualTo(Outcome.PASSED);
    assertThat(outcome(report, "store.shared")).isEqualTo(Outcome.PASSED);
    assertThat(outcome(report, "store.exclusive")).isEqualTo(Outcome.NOT_APPLICABLE);
  }

  @Test
  void exclusiveStore_byCodeWithAProcess_keepsTheRules() {
    ConformanceReport report = run(byCode().withProcess(this::otherProcess));

    assertThat(outcome(report, "store.durable")).isEqualTo(Outcome.PASSED);
    assertThat(outcome(report, "store.exclusive")).isEqualTo(Outcome.PASSED);
  }

  @Test
  void exclusiveStore_byCodeWithoutAProcess_isNotProved() {
    ConformanceReport report = run(byCode());

    assertThat(outcome(report, "store.durable")).isEqualTo(Outcome.NO_HOOK);
    assertThat(outcome(report, "store.exclusive")).isEqualTo(Outcome.NO_HOOK);
    assertThat(report.result()).isEqualTo(ConformanceReport.Result.PARTIAL);
    assertThat(report.reasons()).contains("DURABLE is declared and was not proved");
  }

  private ProcessBuilder otherProcess() {
    String classPath =
        Stream.of(FolderProcess.class, StoreUnderTest.class, io.unifiedcache.api.ObjectKey.class)
            .map(OtherProcess::placeOf)
            .distinct()
            .collect(Collectors.joining(File.pathSeparator));
    return new ProcessBuilder(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            classPath,
            FolderProcess.class.getName(),
            root.toString()));
  }
}
