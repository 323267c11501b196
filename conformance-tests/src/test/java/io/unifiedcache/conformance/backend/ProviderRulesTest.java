package io.unifiedcache.conformance.backend;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.conformance.Conformance;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.store.ReferenceStore;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProviderRulesTest {
  private static boolean ofProviders(String id) {
    return id.startsWith("discovery.") || id.startsWith("settings.");
  }

  @Test
  void rules_holdForACorrectProvider() {
    ConformanceReport report =
        Conformance.ofStore(ProviderMutants.named("right", ProviderMutants.right()))
            .rules(ProviderRulesTest::ofProviders)
            .run(result -> {});

    assertThat(report.rules()).hasSize(3).allMatch(rule -> rule.outcome() == Outcome.PASSED);
  }

  @Test
  void rules_doNotApplyToAStoreOpenedByCode() {
    ConformanceReport report =
        Conformance.ofStore(StoreUnderTest.of("by code", ReferenceStore::new))
            .rules(ProviderRulesTest::ofProviders)
            .run(result -> {});

    assertThat(report.rules())
        .hasSize(3)
        .allMatch(rule -> rule.outcome() == Outcome.NOT_APPLICABLE)
        .allMatch(rule -> rule.reason().contains("opened by code"));
    assertThat(report.result()).isEqualTo(ConformanceReport.Result.UNKNOWN);
  }

  @Test
  void report_masksSecrets() {
    ConformanceReport report =
        Conformance.ofStore(
                StoreUnderTest.named("right", Map.of("access-token", "sesame", "shards", "2"))
                    .among(
                        io.unifiedcache.linker.Backends.of(
                            java.util.List.of(
                                new io.unifiedcache.linker.Backends.Found(
                                    "right", ProviderMutants.right(), "this test")))))
            .rules(ProviderRulesTest::ofProviders)
            .run(result -> {});

    assertThat(report.settings()).containsEntry("shards", "2").containsEntry("access-token", "***");
  }
}
