package io.unifiedcache.linker.rank;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class LocalRanksTest {
  @Test
  void of_noRanks_isRefused() {
    assertThatThrownBy(() -> LocalRanks.of(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("0");
  }
}
