package io.unifiedcache.conformance.result;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.unifiedcache.api.store.Capability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class ReportFilesTest {
  @TempDir Path folder = Path.of("");

  private static final ConformanceReport REPORT =
      new ConformanceReport(
          "1.0",
          "2.0",
          "my<store>",
          Set.of(Capability.REMOVE, Capability.BOUNDED),
          Map.of("capacity", "1GiB", "token", "***"),
          "25",
          "Linux amd64",
          42,
          true,
          ConformanceReport.Result.NOT_CONFORMANT,
          List.of("rule store.absent (MUST) is broken"),
          List.of(
              rule("store.absent", Outcome.FAILED, "expected: \"a\" & <b>\nobserved: \u0000\ud800"),
              rule("store.list", Outcome.NOT_APPLICABLE, "LIST is not declared"),
              rule("store.close", Outcome.HARNESS_ERROR, "oops"),
              rule("store.roundtrip", Outcome.PASSED, "")));

  private static RuleResult rule(String id, Outcome outcome, String reason) {
    return new RuleResult(id, Level.MUST, outcome, reason, Duration.ofMillis(1_500));
  }

  @Test
  void json_hasEveryField() throws Exception {
    REPORT.writeTo(folder.resolve("made"));

    JsonObject json =
        JsonParser.parseString(
                Files.readString(folder.resolve("made").resolve("conformance-report.json")))
            .getAsJsonObject();
    assertThat(json.keySet())
        .containsExactly(
            "schema",
            "suite",
            "api",
            "backend",
            "capabilities",
            "settings",
            "jdk",
            "os",
            "seed",
            "quick",
            "result",
            "reasons",
            "counts",
            "rules");
    assertThat(json.get("schema").getAsInt()).isEqualTo(1);
    assertThat(json.get("result").getAsString()).isEqualTo("not-conformant");
    assertThat(json.get("capabilities").toString()).isEqualTo("[\"REMOVE\",\"BOUNDED\"]");
    assertThat(json.getAsJsonObject("settings").get("token").getAsString()).isEqualTo("***");
    JsonObject first = json.getAsJsonArray("rules").get(0).getAsJsonObject();
    assertThat(first.get("id").getAsString()).isEqualTo("store.absent");
    assertThat(first.get("outcome").getAsString()).isEqualTo("failed");
    assertThat(first.get("millis").getAsLong()).isEqualTo(1_500);
    assertThat(json.getAsJsonObject("counts").get("not-applicable").getAsLong()).isEqualTo(1);
  }

  @Test
  void junitXml_countsAndExplains() throws Exception {
    REPORT.writeTo(folder);

    Element suite =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(folder.resolve("TEST-conformance.xml").toFile())
            .getDocumentElement();
    assertThat(suite.getAttribute("tests")).isEqualTo("4");
    assertThat(suite.getAttribute("failures")).isEqualTo("1");
    assertThat(suite.getAttribute("errors")).isEqualTo("1");
    assertThat(suite.getAttribute("skipped")).isEqualTo("1");
    assertThat(suite.getAttribute("time")).isEqualTo("6.000");
    NodeList failures = suite.getElementsByTagName("failure");
    assertThat(failures.getLength()).isEqualTo(1);
    assertThat(failures.item(0).getTextContent()).contains("\"a\" & <b>\nobserved: \ufffd\ufffd");
  }

  @Test
  void html_escapesAndShowsTheWorstFirst() throws Exception {
    REPORT.writeTo(folder);

    String page = Files.readString(folder.resolve("conformance-report.html"));
    assertThat(page)
        .contains("my&lt;store&gt;", "&quot;a&quot; &amp; &lt;b&gt;", "not-conformant")
        .doesNotContain("my<store>", "http:", "https:");
    assertThat(page.indexOf("failed (1)")).isPositive().isLessThan(page.indexOf("passed (1)"));
  }

  @Test
  void write_leavesNothingElse() throws Exception {
    REPORT.writeTo(folder);
    REPORT.writeTo(folder);

    try (var files = Files.list(folder)) {
      assertThat(files.map(file -> file.getFileName().toString()))
          .containsExactlyInAnyOrder(
              "conformance-report.json", "conformance-report.html", "TEST-conformance.xml");
    }
  }

  @Test
  void summary_isOneLine() {
    assertThat(REPORT.summary())
        .isEqualTo(
            "my<store>: not-conformant in a quick run"
                + " (1 passed, 1 failed, 1 not-applicable, 1 harness-error)");
  }
}
