package io.unifiedcache.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "4096, 4096",
    "4096B, 4096",
    "1k, 1024",
    "64KiB, 65536",
    "64kb, 65536",
    "1.5GiB, 1610612736",
    "16gb, 17179869184",
    "4 gb, 4294967296",
    "4\tgb, 4294967296",
    "' 2 MiB ', 2097152",
    "0.5k, 512",
    "0.0009765625KiB, 1",
    "1TiB, 1099511627776",
    "7tB, 7696581394432",
    "007, 7",
    "9223372036854775807, 9223372036854775807",
    "8388607TiB, 9223370937343148032"
  })
  void parse_form_isTaken(String text, long bytes) {
    assertThat(ByteSize.parse(text)).isEqualTo(new ByteSize(bytes));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "KiB",
        "-1",
        "-1KiB",
        "+1",
        "NaN",
        "Infinity",
        "1e3",
        "0x10",
        "1  gb",
        "1\ngb",
        "1.",
        ".5",
        "1.5.2",
        "1,5GiB",
        "1_000",
        "1 g b",
        "1kbb",
        "1kiib",
        "1PiB",
        "1bytes",
        "1 2",
        "\u0661",
        "1\u00a0gb",
        "1gb;"
      })
  void parse_otherForm_isRefusedWithTheTextAndTheForm(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"" + text + "\" is not a size such as 4096, 64KiB, 1.5GiB or 16gb");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.0001KiB",
        "0.5",
        "0.1B",
        "9223372036854775808",
        "8388608TiB",
        "99999999999999999999999999GiB"
      })
  void parse_fractionOrOverflow_isRefusedWithTheText(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"" + text + "\" is not a whole number of bytes below 2^63");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1023, 1023",
    "1024, 1KiB",
    "1536, 1536",
    "3145728, 3MiB",
    "1610612736, 1536MiB",
    "17179869184, 16GiB",
    "1125899906842624, 1024TiB"
  })
  void toString_usesTheLargestUnitThatDivides(long bytes, String text) {
    assertThat(new ByteSize(bytes)).hasToString(text);
  }

  @Test
  void parse_takesToStringBack_inAnyLocale() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.forLanguageTag("tr"));
      for (int i = 0; i < 2_000; i++) {
        ByteSize size =
            new ByteSize(random.nextLong(1L << (1 + random.nextInt(52))) << random.nextInt(11));
        assertThat(ByteSize.parse(size.toString())).as("seed %d", seed).isEqualTo(size);
      }
      assertThat(ByteSize.parse("1KIB")).isEqualTo(new ByteSize(1024));
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void compareTo_isThatOfTheBytes() {
    assertThat(new ByteSize(1)).isLessThan(new ByteSize(1L << 40));
    assertThat(new ByteSize(5)).isEqualByComparingTo(ByteSize.parse("5B"));
  }
}
