package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.conformance.backend.ProviderMutants;
import io.unifiedcache.conformance.linker.KeyMutants;
import io.unifiedcache.conformance.linker.LinkerMutants;
import io.unifiedcache.conformance.linker.OffloadMutants;
import io.unifiedcache.conformance.linker.RestoreMutants;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.store.CapacityMutants;
import io.unifiedcache.conformance.store.ConcurrencyMutants;
import io.unifiedcache.conformance.store.FailureMutants;
import io.unifiedcache.conformance.store.LifeMutants;
import io.unifiedcache.conformance.store.ProcessMutants;
import io.unifiedcache.conformance.store.StateMutants;
import io.unifiedcache.conformance.store.StoreMutants;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The suite catches what is broken on purpose, and says why. */
class TeethTest {
  static Stream<Mutant> all() {
    return Stream.of(
            StoreMutants.all(),
            StateMutants.all(),
            FailureMutants.all(),
            LifeMutants.all(),
            CapacityMutants.all(),
            ConcurrencyMutants.all(),
            ProcessMutants.all(),
            KeyMutants.all(),
            RestoreMutants.all(),
            OffloadMutants.all(),
            LinkerMutants.all(),
            ProviderMutants.all())
        .flatMap(List::stream);
  }

  /** Returns those that the system property {@code mutant} names by a part of their words. */
  static Stream<Mutant> mutants() {
    String part = System.getProperty("mutant", "");
    return all().filter(mutant -> mutant.toString().contains(part));
  }

  @ParameterizedTest
  @MethodSource("mutants")
  void mutant_failsItsRulesAndNoOthers(Mutant mutant) {
    ConformanceReport report = mutant.run().get().quick(true).run(result -> {});

    Set<String> failed = new TreeSet<>();
    for (RuleResult each : report.rules()) {
      assertThat(each.outcome())
          .as("%s: %s", each.rule(), each.reason())
          .isNotEqualTo(Outcome.HARNESS_ERROR);
      if (each.outcome() == Outcome.FAILED) {
        failed.add(each.rule());
        if (mutant.breaks().contains(each.rule())) {
          assertThat(each.reason())
              .contains(each.rule(), mutant.says(), "expected:", "observed:", "hint:", "seed:")
              .doesNotContain("NullPointerException");
        }
      }
    }
    assertThat(failed)
        .as(() -> report.rules().stream().map(r -> r.rule() + " " + r.reason()).toList().toString())
        .isEqualTo(new TreeSet<>(mutant.breaks()));
  }

  @Test
  void everyRule_hasAMutant() {
    Set<String> broken = new TreeSet<>();
    all().forEach(mutant -> broken.addAll(mutant.breaks()));

    assertThat(broken)
        .isEqualTo(new TreeSet<>(Rules.all().stream().map(entry -> entry.id()).toList()));
  }
}
