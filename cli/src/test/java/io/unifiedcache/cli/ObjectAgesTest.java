package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ObjectAgesTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  @Test
  void groups_goByAgeAndLeaveOutEmptyOnes() {
    ObjectAges ages = new ObjectAges(NOW);
    ages.add(Optional.of(NOW.minusSeconds(60)), 1);
    ages.add(Optional.of(NOW.minusSeconds(61)), 2);
    ages.add(Optional.of(NOW.minusSeconds(400L * 86_400)), 4);
    ages.add(Optional.empty(), 8);
    // As after a clock was set back.
    ages.add(Optional.of(NOW.plusSeconds(1_000)), 16);

    assertThat(ages.groups())
        .containsExactly(
            new ObjectGroup("in the last minute", 2, 17),
            new ObjectGroup("in the last hour", 1, 2),
            new ObjectGroup("before", 1, 4),
            new ObjectGroup("unknown when", 1, 8));
  }
}
