package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The suite catches what is broken on purpose, and says why.
 *
 * <p>Chance is fixed: the system property {@code mutants.seed} sets another one, and {@code mutant}
 * chooses those whose words contain it, which are then tried in this process.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class Teeth {
  static final String SEED = "mutants.seed";
  private static final long USUAL_SEED = 20_261_129;

  /**
   * Some are broken only if threads, or a process that is killed, meet them at the wrong moment.
   */
  private static final int ATTEMPTS = 3;

  private static final int PROCESSES = 4;

  private final String part = System.getProperty("mutant", "");
  private final List<TeethProcess> processes;

  Teeth() {
    // A mutant mostly waits, and what it wastes is seen only if it has a process for itself.
    processes =
        part.isEmpty() ? Stream.generate(TeethProcess::new).limit(PROCESSES).toList() : List.of();
  }

  /** Returns the broken ones, always in the same order. */
  abstract Stream<Mutant> all();

  /**
   * One of them.
   *
   * @param place which of all it is
   * @param mutant what is broken
   */
  record Case(int place, Mutant mutant) {
    @Override
    public String toString() {
      return mutant.toString();
    }
  }

  final Stream<Case> mutants() {
    List<Mutant> all = all().toList();
    return IntStream.range(0, all.size())
        .mapToObj(i -> new Case(i, all.get(i)))
        .filter(each -> each.toString().contains(part));
  }

  @BeforeAll
  final void startProcesses() throws IOException {
    int size = (int) all().count();
    for (int i = 0; i < processes.size(); i++) {
      int first = i;
      processes
          .get(i)
          .start(
              getClass(),
              IntStream.range(0, size)
                  .filter(place -> place % processes.size() == first)
                  .boxed()
                  .toList());
    }
  }

  @AfterAll
  final void endProcesses() {
    processes.forEach(TeethProcess::close);
  }

  @ParameterizedTest
  @MethodSource("mutants")
  final void mutant_failsItsRulesAndNoOthers(Case tried) {
    if (processes.isEmpty()) {
      check(tried.mutant());
      return;
    }
    String problem = processes.get(tried.place() % processes.size()).problemOf(tried.place());
    if (!problem.isEmpty()) {
      fail(problem);
    }
  }

  /**
   * Runs the suite on one that is broken.
   *
   * @throws AssertionError if other rules fail than are meant to, or they do not say why
   */
  static void check(Mutant mutant) {
    long seed = Long.getLong(SEED, USUAL_SEED);
    ConformanceReport report = run(mutant, seed);
    for (int i = 1; i < ATTEMPTS && !failed(report, mutant).equals(mutant.breaks()); i++) {
      report = run(mutant, seed + i);
    }

    for (RuleResult each : report.rules()) {
      assertThat(each.outcome())
          .as("%s: %s", each.rule(), each.reason())
          .isNotEqualTo(Outcome.HARNESS_ERROR);
      if (mutant.breaks().contains(each.rule())) {
        assertThat(each.reason())
            .contains(each.rule(), mutant.says(), "expected:", "observed:", "hint:", "seed:")
            .doesNotContain("NullPointerException");
      }
    }
    assertThat(failed(report, mutant)).as(told(report)).isEqualTo(mutant.breaks());
  }

  private static ConformanceReport run(Mutant mutant, long seed) {
    return mutant.run().get().quick(true).seed(seed).run(result -> {});
  }

  /** Returns the rules that have failed, without those that may. */
  private static Set<String> failed(ConformanceReport report, Mutant mutant) {
    return report.rules().stream()
        .filter(each -> each.outcome() == Outcome.FAILED)
        .map(RuleResult::rule)
        .filter(rule -> !mutant.alsoBreaks().contains(rule))
        .collect(Collectors.toSet());
  }

  private static String told(ConformanceReport report) {
    return report.rules().stream()
        .filter(each -> each.outcome() == Outcome.FAILED)
        .map(RuleResult::reason)
        .collect(Collectors.joining("\n", "\n", "\n"));
  }
}
