package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.store.Capability;
import io.unifiedcache.conformance.ConformanceReport.Result;
import io.unifiedcache.conformance.store.HonestStores;
import io.unifiedcache.conformance.store.ReferenceStore;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The suite has nothing to say against stores that are right in ways of their own. */
class FalseAlarmTest {
  /** What no store says anything about that is opened by code and keeps nothing. */
  private static final Set<String> NEVER =
      Set.of(
          "store.durable",
          "store.exclusive",
          "store.shared",
          "discovery.by-name",
          "settings.one-grammar",
          "settings.strict");

  /**
   * A store that is right.
   *
   * @param what what is special about it
   * @param store the store
   * @param untried which rules it gives no cause to try, beyond {@link #NEVER}
   */
  private record Honest(String what, StoreUnderTest store, Set<String> untried) {
    @Override
    public String toString() {
      return what;
    }
  }

  static Stream<Honest> honest() {
    return Stream.of(
        new Honest("a slow store", HonestStores.slow(), Set.of()),
        new Honest("one that works out of order", HonestStores.outOfOrder(), Set.of()),
        new Honest("one whose objects are leased", HonestStores.leasing(), Set.of()),
        new Honest("one that evicts at any time", HonestStores.forgetful(), Set.of()),
        new Honest("one that refuses odd keys", HonestStores.plainKeys(), Set.of()),
        new Honest("one that refuses empty objects", HonestStores.noEmptyObjects(), Set.of()),
        new Honest("one that notices faults", HonestStores.faulty(), Set.of()),
        new Honest("one whose stalled reads end late", HonestStores.letsGoLate(), Set.of()),
        new Honest(
            "one that does not report what is present",
            HonestStores.with(Set.of(Capability.REPORTS_PRESENT), ReferenceStore.LIMITS),
            Set.of("store.reports-present")));
  }

  @ParameterizedTest
  @MethodSource("honest")
  void honestStore_isConformant(Honest honest) {
    ConformanceReport report = Conformance.ofStore(honest.store()).quick(true).run(result -> {});

    expectNothingBroken(report);
    assertThat(rules(report, Outcome.NOT_APPLICABLE)).isEqualTo(with(NEVER, honest.untried()));
    assertThat(report.reasons()).isEmpty();
    assertThat(report.result()).isEqualTo(Result.CONFORMANT);
  }

  private static void expectNothingBroken(ConformanceReport report) {
    assertThat(
            report.rules().stream()
                .filter(
                    rule ->
                        rule.outcome() == Outcome.FAILED || rule.outcome() == Outcome.HARNESS_ERROR)
                .map(RuleResult::reason))
        .as("seed " + report.seed())
        .isEmpty();
  }

  private static Set<String> rules(ConformanceReport report, Outcome outcome) {
    return report.rules().stream()
        .filter(rule -> rule.outcome() == outcome)
        .map(RuleResult::rule)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> with(Set<String> some, Set<String> others) {
    Set<String> all = new TreeSet<>(some);
    all.addAll(others);
    return all;
  }
}
