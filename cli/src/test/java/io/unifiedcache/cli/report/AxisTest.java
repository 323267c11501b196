package io.unifiedcache.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class AxisTest {
  @Test
  void counts_reachTheMostInRoundSteps() {
    Axis axis = Axis.counts(2345);

    assertThat(axis.ticks())
        .extracting(Axis.Tick::label)
        .containsExactly("0", "500", "1,000", "1,500", "2,000", "2,500");
    assertThat(axis.place(0)).isZero();
    assertThat(axis.place(1250)).isEqualTo(0.5);
    assertThat(axis.place(9999)).isEqualTo(1);
  }

  @Test
  void bytes_areInRoundStepsOfTheirUnit() {
    assertThat(Axis.bytes(22 << 20).ticks())
        .extracting(Axis.Tick::label)
        .containsExactly("0 B", "5 MiB", "10 MiB", "15 MiB", "20 MiB", "25 MiB");
  }

  @Test
  void powers_areNamedWithinTheBounds() {
    Axis axis = Axis.powers(5, 2000, 10, Numbers::duration);

    assertThat(axis.ticks())
        .extracting(Axis.Tick::label)
        .containsExactly("10 us", "100 us", "1 ms");
    assertThat(axis.place(100)).isEqualTo(0.5);
  }

  @Test
  void linear_anyMost_hasFewTicksAndRoomForIt() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int i = 0; i < 1000; i++) {
      double most = Math.pow(10, 12 * random.nextDouble());

      Axis axis = Axis.counts(most);

      assertThat(axis.ticks()).as("%s, seed %d", most, seed).hasSizeBetween(3, 7);
      assertThat(axis.to()).as("%s, seed %d", most, seed).isBetween(most, Math.max(5, 2 * most));
    }
  }
}
