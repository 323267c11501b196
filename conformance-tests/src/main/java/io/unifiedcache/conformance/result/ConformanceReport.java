package io.unifiedcache.conformance.result;

import io.unifiedcache.api.store.Capability;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * What a run found out.
 *
 * @param suiteVersion the version of the suite
 * @param apiVersion the version of the api
 * @param subject the name of the backend, store or linker
 * @param capabilities what it declares
 * @param settings its settings, by key, secret ones masked
 * @param jdk the version of the JDK
 * @param os the operating system and its architecture
 * @param seed what repeats the run
 * @param quick whether there were few rounds and brief waits, which see less
 * @param result the verdict
 * @param reasons why the verdict is not {@code conformant}, a sentence each
 * @param rules what became of each rule, in the order of the catalogue
 */
public record ConformanceReport(
    String suiteVersion,
    String apiVersion,
    String subject,
    Set<Capability> capabilities,
    Map<String, String> settings,
    String jdk,
    String os,
    long seed,
    boolean quick,
    Result result,
    List<String> reasons,
    List<RuleResult> rules) {
  /** The verdict of a run. */
  public enum Result {
    /** Every rule that applies was tried and held. */
    CONFORMANT,
    /** No rule that binds was seen broken, but not everything declared was proved. */
    PARTIAL,
    /** A rule that binds was broken. */
    NOT_CONFORMANT,
    /** The run proves nothing. */
    UNKNOWN;

    /** Returns the verdict as reports write it, such as {@code not-conformant}. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** Creates a report. */
  public ConformanceReport {
    capabilities = Set.copyOf(capabilities);
    settings = Map.copyOf(settings);
    reasons = List.copyOf(reasons);
    rules = List.copyOf(rules);
  }

  /** Returns the number of rules with the given outcome. */
  public long count(Outcome outcome) {
    return rules.stream().filter(rule -> rule.outcome() == outcome).count();
  }

  /**
   * Writes {@code conformance-report.json}, {@code conformance-report.html} and {@code
   * TEST-conformance.xml} (JUnit's form) into a folder, which is made if it is not there.
   *
   * @throws IOException if a file cannot be written
   */
  public void writeTo(Path folder) throws IOException {
    ReportFiles.write(this, folder);
  }

  /** Returns the run in one line. */
  public String summary() {
    StringBuilder text = new StringBuilder(subject).append(": ").append(result);
    text.append(quick ? " in a quick run (" : " (");
    boolean first = true;
    for (Outcome outcome : Outcome.values()) {
      long count = count(outcome);
      if (count > 0 || outcome == Outcome.PASSED) {
        text.append(first ? "" : ", ").append(count).append(' ').append(outcome);
        first = false;
      }
    }
    return text.append(')').toString();
  }
}
