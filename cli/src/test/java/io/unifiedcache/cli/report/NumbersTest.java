package io.unifiedcache.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NumbersTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0 B",
    "1023, 1023 B",
    "1024, 1 KiB",
    "1536, 1.5 KiB",
    "33554432, 32 MiB",
    "545259520, 520 MiB",
    "1200000000, 1.12 GiB",
    "13194139533312, 12 TiB",
  })
  void size_hasThreeDigits(double bytes, String shown) {
    assertThat(Numbers.size(bytes)).isEqualTo(shown);
  }

  @ParameterizedTest
  @CsvSource({
    "32768, 32 KiB",
    "32769, 33 KiB",
    "538968064, 520 MiB",
    "545259520, 520 MiB",
    "545259521, 530 MiB",
    "1073741825, 1.1 GiB",
    "1073741823, 1 GiB",
  })
  void sizeUp_isNeverLess(double bytes, String shown) {
    assertThat(Numbers.sizeUp(bytes)).isEqualTo(shown);
  }

  @ParameterizedTest
  @CsvSource({"0, 0:00", "59.6, 1:00", "330, 5:30", "3599, 59:59", "3600, 1:00:00"})
  void time_isInMinutesOrHours(double seconds, String shown) {
    assertThat(Numbers.time(seconds)).isEqualTo(shown);
  }

  @ParameterizedTest
  @CsvSource({"0.1, 0.1 us", "1, 1 us", "100, 100 us", "1000, 1 ms", "1000000, 1 s"})
  void duration_isInItsUnit(double micros, String shown) {
    assertThat(Numbers.duration(micros)).isEqualTo(shown);
  }
}
