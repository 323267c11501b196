package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The suite catches what is broken on purpose, and says why.
 *
 * <p>Chance is fixed: the system property {@code mutants.seed} sets another one, and {@code mutant}
 * chooses those whose words contain it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class Teeth {
  private static final long SEED = Long.getLong("mutants.seed", 20_261_129);

  /**
   * Some are broken only if threads, or a process that is killed, meet them at the wrong moment.
   */
  private static final int ATTEMPTS = 3;

  /** Returns the broken ones. */
  abstract Stream<Mutant> all();

  final Stream<Mutant> mutants() {
    String part = System.getProperty("mutant", "");
    return all().filter(mutant -> mutant.toString().contains(part));
  }

  @ParameterizedTest
  @MethodSource("mutants")
  final void mutant_failsItsRulesAndNoOthers(Mutant mutant) {
    ConformanceReport report = run(mutant, SEED);
    for (int i = 1; i < ATTEMPTS && !failed(report).equals(mutant.breaks()); i++) {
      report = run(mutant, SEED + i);
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
    assertThat(failed(report)).as(told(report)).isEqualTo(mutant.breaks());
  }

  private static ConformanceReport run(Mutant mutant, long seed) {
    return mutant.run().get().quick(true).seed(seed).run(result -> {});
  }

  private static Set<String> failed(ConformanceReport report) {
    return report.rules().stream()
        .filter(each -> each.outcome() == Outcome.FAILED)
        .map(RuleResult::rule)
        .collect(Collectors.toSet());
  }

  private static String told(ConformanceReport report) {
    return report.rules().stream()
        .filter(each -> each.outcome() == Outcome.FAILED)
        .map(RuleResult::reason)
        .collect(Collectors.joining("\n", "\n", "\n"));
  }
}
