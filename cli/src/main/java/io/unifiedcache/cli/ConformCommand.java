package io.unifiedcache.cli;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.conformance.Conformance;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs the conformance suite on a backend. */
@Command(
    name = "conform",
    description = {
      "Runs the conformance suite on a backend, under a fresh prefix of keys, and removes what it"
          + " has stored.",
      "Exit status: 0 if the backend is conformant, 1 if it is not, 2 if not everything was proved,"
          + " 3 if the suite could not be run."
    },
    exitCodeOnInvalidInput = ConformCommand.NOT_RUN,
    mixinStandardHelpOptions = true)
final class ConformCommand implements Callable<Integer> {
  static final int NOT_PROVED = 2;
  static final int NOT_RUN = 3;

  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private StoreOptions store;

  @Option(
      names = "--rule",
      paramLabel = "ID",
      split = ",",
      description = "Runs this rule only, or those whose ids begin so, as store. does.")
  private List<String> rules = new ArrayList<>();

  @Option(names = "--seed", paramLabel = "N", description = "Repeats a run that named this seed.")
  private @Nullable Long seed;

  @Option(names = "--quick", description = "Does few rounds: seconds in place of a minute.")
  private boolean quick;

  @Option(
      names = "--large",
      description = "Also stores objects of more than 2 GiB, which need that much memory and room.")
  private boolean large;

  @Option(
      names = "--prefix",
      paramLabel = "TEXT",
      description =
          "What every key begins with, in place of a fresh one; refused if the store holds such"
              + " objects.")
  private @Nullable String prefix;

  @Option(
      names = "--report-dir",
      paramLabel = "DIR",
      description =
          "Writes conformance-report.json, conformance-report.html and TEST-conformance.xml there.")
  private @Nullable Path reportDir;

  @Override
  public Integer call() {
    // Rules make stores and linkers fail on purpose, which these tell in the log.
    System.setProperty("org.slf4j.simpleLogger.log.io.unifiedcache", "off");
    PrintWriter out = spec.commandLine().getOut();
    Conformance conformance = conformance();
    if (conformance.ids().isEmpty()) {
      throw new ParameterException(
          spec.commandLine(), "no rule begins with " + String.join(" or ", rules));
    }
    out.println("%d rules, seed %d".formatted(conformance.ids().size(), conformance.seed()));
    out.flush();
    ConformanceReport report = conformance.run(result -> tell(result, out));
    report.reasons().forEach(reason -> out.println("- " + reason));
    out.println(report.summary());
    out.flush();
    if (reportDir != null) {
      write(report, reportDir);
    }
    return status(report);
  }

  private Conformance conformance() {
    Conformance conformance = Conformance.ofStore(store.underTest()).quick(quick).large(large);
    if (!rules.isEmpty()) {
      conformance.rules(id -> rules.stream().anyMatch(id::startsWith));
    }
    if (seed != null) {
      conformance.seed(seed);
    }
    if (prefix != null) {
      conformance.prefix(prefix);
    }
    return conformance;
  }

  private static void tell(RuleResult result, PrintWriter out) {
    switch (result.outcome()) {
      case PASSED ->
          out.println(
              "  passed          "
                  + result.rule()
                  + (result.reason().isEmpty() ? "" : ": " + result.reason()));
      case NOT_APPLICABLE, NO_HOOK, SET_ASIDE ->
          out.println(
              "  %-14s  %s: %s".formatted(result.outcome(), result.rule(), result.reason()));
      case FAILED, HARNESS_ERROR -> {
        out.println("  %-14s  %s".formatted(result.outcome(), result.rule()));
        result.reason().lines().forEach(line -> out.println("      " + line));
      }
    }
    out.flush();
  }

  private static void write(ConformanceReport report, Path folder) {
    try {
      report.writeTo(folder);
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.IO, "the report cannot be written to " + folder + ": " + e, e);
    }
  }

  private static int status(ConformanceReport report) {
    if (report.count(Outcome.HARNESS_ERROR) > 0) {
      return NOT_RUN;
    }
    return switch (report.result()) {
      case CONFORMANT -> 0;
      case NOT_CONFORMANT -> Main.WRONG;
      case PARTIAL, UNKNOWN -> NOT_PROVED;
    };
  }
}
