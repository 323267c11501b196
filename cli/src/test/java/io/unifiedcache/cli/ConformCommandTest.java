package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConformCommandTest {
  @TempDir Path folder = Path.of("");

  @Test
  void conform_ofSomeRules_isPartial() {
    CommandRun run =
        CommandRun.of("conform", "--quick", "--seed", "5", "--rule", "discovery.,settings.strict");

    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .contains(
            "2 rules, seed 5",
            "passed          discovery.by-name",
            "passed          settings.strict")
        .containsPattern("- only 2 of [0-9]+ rules were run")
        .contains("memory: partial in a quick run (2 passed)");
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void conform_writesItsReport() throws Exception {
    CommandRun run =
        CommandRun.of(
            "conform",
            "-o",
            "capacity=64MiB",
            "--rule",
            "settings.",
            "--report-dir",
            folder.resolve("new").toString());

    assertThat(run.status()).as(run.err()).isEqualTo(2);
    assertThat(Files.readString(folder.resolve("new/conformance-report.json")))
        .contains("\"backend\": \"memory\"", "\"capacity\": \"64MiB\"");
    assertThat(folder.resolve("new/conformance-report.html")).isNotEmptyFile();
    assertThat(folder.resolve("new/TEST-conformance.xml")).isNotEmptyFile();
  }

  @Test
  void conform_whereTheReportCannotBeWritten_saysSo() throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "");

    CommandRun run =
        CommandRun.of("conform", "--rule", "settings.", "--report-dir", file.toString());

    assertThat(run.status()).isEqualTo(3);
    assertThat(run.err())
        .contains("the report cannot be written to " + file)
        .doesNotContain("\tat ");
  }

  @Test
  void conform_ofAnUnknownBackend_isNotRun() {
    CommandRun run = CommandRun.of("conform", "--backend", "memry");

    assertThat(run.status()).isEqualTo(3);
    assertThat(run.err()).contains("did you mean \"memory\"?").doesNotContain("\tat ");
  }

  @Test
  void conform_withAWrongSetting_isNotRun() {
    CommandRun run = CommandRun.of("conform", "-o", "capacity=much");

    assertThat(run.status()).isEqualTo(3);
    assertThat(run.err()).contains("capacity", "\"much\"").doesNotContain("\tat ");
  }

  @Test
  void conform_ofNoRule_isNotRun() {
    CommandRun run = CommandRun.of("conform", "--rule", "stor.");

    assertThat(run.status()).isEqualTo(3);
    assertThat(run.err()).contains("no rule begins with stor.");
  }
}
