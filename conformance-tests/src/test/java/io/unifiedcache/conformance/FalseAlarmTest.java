package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.ConformanceReport.Result;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.store.HonestStores;
import io.unifiedcache.conformance.store.ReferenceStore;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The suite has nothing to say against stores that are right in ways of their own. */
class FalseAlarmTest {
  /** What a store gives no cause to try that keeps nothing when it is closed. */
  private static final Set<String> NEVER =
      Set.of("store.durable", "store.exclusive", "store.shared");

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
        new Honest("one that refuses odd keys", HonestStores.plainKeys(), Set.of()),
        new Honest("one that refuses empty objects", HonestStores.noEmptyObjects(), Set.of()),
        new Honest("one that notices faults", HonestStores.faulty(), Set.of()),
        new Honest("one whose stalled reads end late", HonestStores.letsGoLate(), Set.of()),
        new Honest(
            "one that does not report what is present",
            HonestStores.with(Set.of(Capability.REPORTS_PRESENT), ReferenceStore.LIMITS),
            Set.of("store.reports-present")),
        new Honest(
            "one without any capability",
            HonestStores.with(ReferenceStore.ALL, ReferenceStore.LIMITS),
            Set.of(
                "store.reports-present",
                "store.restore-anew",
                "store.session",
                "store.remove",
                "store.clear",
                "store.list",
                "store.bounded",
                "store.evict-in-use",
                "store.no-space",
                "store.recency")),
        new Honest("one entry, one piece", limited(1, 120, 64 << 10, 1, 1), ONE_ENTRY),
        new Honest("few of everything", limited(4, 64, 5000, 2, 4096), Set.of()),
        new Honest("odd limits", limited(3, 200, 1 << 20, 3, 64), Set.of()),
        new Honest("short objects", limited(2, 128, 512, 2, 1), Set.of()));
  }

  private static final Set<String> ONE_ENTRY = Set.of("store.duplicate-in-batch");

  private static StoreUnderTest limited(
      int batch, int keyBytes, long objectBytes, int pieces, long alignment) {
    return HonestStores.with(
        Set.of(),
        new StoreLimits(
            batch, keyBytes, objectBytes, pieces, alignment, Duration.ofSeconds(1), Duration.ZERO));
  }

  @ParameterizedTest
  @MethodSource("honest")
  void honestStore_isConformant(Honest honest) {
    ConformanceReport report = run(honest.store());

    expectNothingBroken(report);
    assertThat(rules(report, Outcome.NOT_APPLICABLE)).isEqualTo(with(NEVER, honest.untried()));
    assertThat(report.reasons()).isEmpty();
    assertThat(report.result()).isEqualTo(Result.CONFORMANT);
  }

  /** Evicting whatever one likes is no way to keep what is read, which a store only should. */
  @Test
  void storeThatEvictsAtAnyTime_breaksNoRuleThatBinds() {
    ConformanceReport report = run(HonestStores.forgetful());

    assertThat(rules(report, Outcome.FAILED)).isSubsetOf("store.recency");
  }

  @Test
  void storeThatRefusesEverything_provesNothing() {
    ConformanceReport report = run(HonestStores.refusesEverything());

    assertThat(report.result()).isEqualTo(Result.NOT_CONFORMANT);
    assertThat(rules(report, Outcome.PASSED)).doesNotContain("store.roundtrip");
    assertThat(report.reasons())
        .contains("EXISTS has not succeeded once", "PUT has not succeeded once");
  }

  @Test
  void storeOfDeviceMemory_isPartlyProved() {
    Set<Capability> all = EnumSet.copyOf(ReferenceStore.ALL);
    all.add(Capability.DEVICE_MEMORY);

    ConformanceReport report = run(HonestStores.declaring(all));

    assertThat(report.result()).isEqualTo(Result.PARTIAL);
    assertThat(report.reasons()).containsExactly("DEVICE_MEMORY is declared and was not proved");
  }

  @Test
  void fewSeeds_giveTheSameVerdicts() {
    expectTheSameVerdicts(3);
  }

  @Test
  @Tag("stress")
  void manySeeds_giveTheSameVerdicts() {
    expectTheSameVerdicts(50);
  }

  private static void expectTheSameVerdicts(int seeds) {
    @Nullable Map<String, Outcome> first = null;
    for (int seed = 0; seed < seeds; seed++) {
      ConformanceReport report =
          Conformance.ofStore(Rules.referenceStore()).seed(seed).quick(true).run(result -> {});

      expectNothingBroken(report);
      Map<String, Outcome> verdicts =
          report.rules().stream().collect(Collectors.toMap(RuleResult::rule, RuleResult::outcome));
      first = first == null ? verdicts : first;
      assertThat(verdicts).as("seed " + seed).isEqualTo(first);
    }
  }

  /** Tries the rules of stores: those of linkers would find the same linkers every time. */
  private static ConformanceReport run(StoreUnderTest store) {
    return new Conformance(
            store,
            LinkerFactory.unifiedCache(),
            Rules.all().stream().filter(each -> each.rule().scope() == Scope.STORE).toList())
        .quick(true)
        .run(result -> {});
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
