package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.api.linker.DevicePools;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReplayPlanTest {
  static ReplayPlan plan(ModelPreset model, long pageBytes, int layers, int ranks) {
    return new ReplayPlan(
        model,
        pageBytes,
        layers,
        ranks,
        /* inFlight= */ 1,
        SidePages.ALL,
        /* pace= */ 0,
        /* failRate= */ 0,
        /* seed= */ 1);
  }

  @ParameterizedTest
  @ValueSource(longs = {-128, 0, 64, 100, 4097})
  void plan_pageThatLayersCannotShareEvenly_isRefused(long pageBytes) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan(ModelPreset.MHA, pageBytes, 8, 1))
        .withMessageStartingWith("--page-bytes must be a multiple of 128 for 8 layers");
  }

  @ParameterizedTest
  @EnumSource
  void allocate_smallestPage_givesEveryPoolItsShare(ModelPreset model) {
    ReplayPlan plan = plan(model, 16 * 5, 5, 1);

    DevicePools pools = model.allocate(plan.layers(), plan.pageBytes(), 3);

    assertThat(pools.layers()).isEqualTo(5);
    assertThat(pools.pools())
        .allSatisfy(pool -> assertThat(pool.slots()).isEqualTo(3))
        .allSatisfy(pool -> assertThat(pool.pageBytes()).isIn(80L, 40L, 20L));
    assertThat(pools.sources())
        .containsExactlyInAnyOrderElementsOf(
            model.queries().stream().map(query -> query.source()).toList());
  }
}
