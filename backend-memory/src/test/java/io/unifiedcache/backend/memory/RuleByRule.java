package io.unifiedcache.backend.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.conformance.Conformance;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The suite with a run of its own for each rule: what the profile {@code mutation} holds against
 * changed code, to learn which changes no rule sees.
 */
class RuleByRule {
  private static final long SEED = 20_261_129;

  private static Conformance suite() {
    return Conformance.ofStore(StoreUnderTest.named("memory", Map.of("capacity", "256MiB")))
        .seed(SEED)
        .quick(true);
  }

  static List<String> ids() {
    return suite().ids();
  }

  @ParameterizedTest
  @MethodSource("ids")
  void rule_holds(String id) {
    List<RuleResult> results = new ArrayList<>();
    suite().rules(id::equals).run(results::add);
    assertThat(results)
        .singleElement()
        .satisfies(
            each ->
                assertThat(each.outcome())
                    .as(each.reason())
                    .isIn(Outcome.PASSED, Outcome.NOT_APPLICABLE));
  }
}
