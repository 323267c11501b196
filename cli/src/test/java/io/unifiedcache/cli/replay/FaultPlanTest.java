package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FaultPlanTest {
  private static double share(FaultPlan plan, int attempt) {
    int loads = 20_000;
    return IntStream.range(0, loads)
            .filter(request -> plan.fault(request, attempt).isPresent())
            .count()
        / (double) loads;
  }

  @Test
  void fault_failsTheGivenShare() {
    assertThat(share(new FaultPlan(0, 1), 0)).isZero();
    assertThat(share(new FaultPlan(0.05, 1), 0)).isCloseTo(0.05, within(0.01));
    assertThat(share(new FaultPlan(0.05, 1), 1)).isCloseTo(0.05, within(0.01));
    assertThat(share(new FaultPlan(1, 1), 0)).isEqualTo(1);
  }

  @Test
  void fault_dependsOnSeedRequestAndAttemptAlone() {
    FaultPlan plan = new FaultPlan(0.5, 11);
    int sameAsOtherSeed = 0;
    int sameAsOtherAttempt = 0;
    for (int request = 0; request < 1000; request++) {
      assertThat(new FaultPlan(0.5, 11).fault(request, 0)).isEqualTo(plan.fault(request, 0));
      if (new FaultPlan(0.5, 12).fault(request, 0).isPresent()
          == plan.fault(request, 0).isPresent()) {
        sameAsOtherSeed++;
      }
      if (plan.fault(request, 1).isPresent() == plan.fault(request, 0).isPresent()) {
        sameAsOtherAttempt++;
      }
    }

    assertThat(sameAsOtherSeed).isBetween(400, 600);
    assertThat(sameAsOtherAttempt).isBetween(400, 600);
  }
}
