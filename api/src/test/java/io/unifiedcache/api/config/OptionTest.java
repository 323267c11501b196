package io.unifiedcache.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OptionTest {
  private static final Option<Duration> DURATION = Option.duration("wait", "How long.");
  private static final Option<Boolean> BOOL = Option.bool("on", "Whether.");
  private static final Option<Long> NUMBER = Option.number("n", "How many.", -2, 64);
  private static final Option<String> TEXT = Option.text("t", "What.");
  private static final Option<TimeUnit> CHOICE = Option.choice("unit", "Which.", TimeUnit.class);
  private static final Option<Mode> MODE = Option.choice("mode", "How.", Mode.class);

  private enum Mode {
    READ_ONLY,
    READ_WRITE
  }

  @ParameterizedTest
  @CsvSource({
    "0s, PT0S",
    "5s, PT5S",
    "500ms, PT0.5S",
    "1.5s, PT1.5S",
    "10m, PT10M",
    "10 m, PT10M",
    "1H, PT1H",
    "2d, PT48H",
    "3us, PT0.000003S",
    "7NS, PT0.000000007S",
    "' 1m ', PT1M",
    "0.5us, PT0.0000005S"
  })
  void duration_form_isTaken(String text, Duration duration) {
    assertThat(DURATION.parse(text)).isEqualTo(duration);
    assertThat(DURATION.parse(DURATION.show(duration))).isEqualTo(duration);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "5", "s", "-5s", "1e3s", "5  s", "5sec", "PT5S", "5 min", "1.s", "∞"})
  void duration_otherForm_isRefused(String text) {
    assertRefused(DURATION, text, "a duration such as 500ms, 1.5s, 10m or 1h");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.1ns", "106752d", "9999999999999999999s"})
  void duration_fractionOrOverflow_isRefused(String text) {
    assertRefused(DURATION, text, "a whole number of nanoseconds below 292 years");
  }

  @ParameterizedTest
  @CsvSource({
    "PT0S, 0s",
    "PT0.000000001S, 1ns",
    "PT0.000002S, 2us",
    "PT0.003S, 3ms",
    "PT90S, 90s",
    "PT2M, 2m",
    "PT120M, 2h",
    "PT48H, 2d"
  })
  void duration_isShownInTheLargestUnitThatDivides(Duration duration, String text) {
    assertThat(DURATION.show(duration)).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "true, true",
    "TRUE, true",
    "on, true",
    "yes, true",
    "1, true",
    "' Yes ', true",
    "false, false",
    "Off, false",
    "no, false",
    "0, false"
  })
  void bool_form_isTaken(String text, boolean value) {
    assertThat(BOOL.parse(text)).isEqualTo(value);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "y", "t", "2", "enabled", "truee", "-1"})
  void bool_otherForm_isRefused(String text) {
    assertRefused(BOOL, text, "true or false (also on/off, yes/no, 1/0)");
  }

  @ParameterizedTest
  @CsvSource({"-2, -2", "0, 0", "64, 64", "' 7 ', 7", "007, 7"})
  void number_withinItsBounds_isTaken(String text, long value) {
    assertThat(NUMBER.parse(text)).isEqualTo(value);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-3",
        "65",
        "1.0",
        "1e1",
        "0x1",
        "9223372036854775808",
        "1 0",
        "2k",
        "+5",
        "\u0661"
      })
  void number_other_isRefused(String text) {
    assertRefused(NUMBER, text, "a whole number from -2 to 64");
  }

  @ParameterizedTest
  @CsvSource({"seconds, SECONDS", "SECONDS, SECONDS", "' days ', DAYS"})
  void choice_constant_isTaken(String text, TimeUnit value) {
    assertThat(CHOICE.parse(text)).isEqualTo(value);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "read_only", "readonly", "read-only,read-write", "0"})
  void choice_other_isRefusedWithTheConstants(String text) {
    assertRefused(MODE, text, "one of read-only, read-write");
    assertThat(MODE.show(Mode.READ_ONLY)).isEqualTo("read-only");
    assertThat(MODE.parse("Read-Only")).isEqualTo(Mode.READ_ONLY);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " a ", "x=y", "ü"})
  void text_isTakenAsGiven(String text) {
    assertThat(TEXT.parse(text)).isEqualTo(text);
    assertThat(TEXT.show(text)).isEqualTo(text);
  }

  private static void assertRefused(Option<?> option, String text, String form) {
    assertThatThrownBy(() -> option.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"" + text + "\" is not " + form);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"a", "capacity", "linker.load-path", "local_hostname", "a1.b2", "sglang.x-y_z"})
  void name_ofWords_isTaken(String name) {
    assertThat(Option.text(name, "What.").name()).isEqualTo(name);
    assertThat(Option.text(name, "What.")).hasToString(name);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "A", "1a", "-a", "a.", ".a", "a..b", "a b", "a=b", "a.1", "ä"})
  void name_other_isRefused(String name) {
    assertThatThrownBy(() -> Option.text(name, "What."))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "option name \""
                + name
                + "\" must be lower-case words joined by - or _, in parts joined by a dot");
  }

  @Test
  void option_withoutDescription_isRefused() {
    assertThatThrownBy(() -> Option.text("a", " "))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("option a needs a description");
  }

  @Test
  void number_withoutValues_isRefused() {
    assertThatThrownBy(() -> Option.number("n", "How many.", 2, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("option n has no value from 2 to 1");
  }

  @Test
  void option_isRefinedWithoutChange() {
    Option<Long> plain = Option.number("n", "How many.", 0, 10);
    Option<Long> even = plain.where("even", n -> n % 2 == 0).withDefault(4L);

    assertThat(plain.defaultValue()).isEmpty();
    assertThat(plain.parse("3")).isEqualTo(3);
    assertThat(even.defaultValue()).contains(4L);
    assertThat(even.acceptedForm()).isEqualTo("a whole number from 0 to 10, even");
    assertThat(even.type()).isEqualTo("number");
    assertThat(even.description()).isEqualTo("How many.");
    assertRefused(even, "3", "a whole number from 0 to 10, even");
    assertThat(even.asRequired().isRequired()).isTrue();
    assertThat(even.asRequired().defaultValue()).isEmpty();
    assertThat(even.asRequired().withDefault(2L).isRequired()).isFalse();
    assertThat(even.asSecret().defaultValue()).contains(4L);
  }

  @Test
  void withDefault_ofWhatIsNotAccepted_isRefused() {
    Option<Long> even = Option.number("n", "How many.", 0, 10).where("even", n -> n % 2 == 0);

    assertThatThrownBy(() -> even.withDefault(3L))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"3\" is not a whole number from 0 to 10, even");
    assertThatThrownBy(() -> even.withDefault(12L))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"12\" is not a whole number from 0 to 10, even");
    assertThatThrownBy(
            () ->
                Option.number("n", "How many.", 0, 10)
                    .withDefault(3L)
                    .where("even", n -> n % 2 == 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("the default 3 of option n is not even");
  }

  @Test
  void secret_isMaskedInValuesAndRefusals() {
    Option<Long> pin = Option.number("pin", "The number.", 0, 9999).asSecret();

    assertThat(pin.isSecret()).isTrue();
    assertThat(pin.show(1234L)).isEqualTo("***");
    assertThatThrownBy(() -> pin.parse("12345"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("*** is not a whole number from 0 to 9999")
        .hasNoCause();
  }
}
