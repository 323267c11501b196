package io.unifiedcache.api.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the text of a setting is, it has a value that is shown and read back, or is refused. */
class OptionFuzzTest {
  private static final List<Option<?>> OPTIONS =
      List.of(
          Option.bytes("size", "A size."),
          Option.bytes("large", "A size.").where("at least 1MiB", size -> size.bytes() >= 1 << 20),
          Option.duration("time", "A duration."),
          Option.number("number", "A number.", Long.MIN_VALUE, Long.MAX_VALUE),
          Option.number("few", "A number.", 1, 64).asSecret(),
          Option.bool("flag", "A flag."));

  @MethodSource("texts")
  @FuzzTest
  void parse_anyText_isAValueOrRefused(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.UTF_8);
    OPTIONS.forEach(option -> expectValueOrRefusal(option, text));
  }

  private static <T> void expectValueOrRefusal(Option<T> option, String text) {
    T value;
    try {
      value = option.parse(text);
    } catch (IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      assertThat(message.length()).isLessThan(1000);
      assertThat(option.isSecret() && !message.startsWith("***")).isFalse();
      return;
    }
    if (!option.isSecret()) {
      assertThat(option.parse(option.show(value))).isEqualTo(value);
    }
  }

  static Stream<byte[]> texts() {
    return Stream.of(
            "0",
            "1",
            "-9223372036854775808",
            "9223372036854775807",
            "9223372036854775808",
            "4 gb",
            "1.5GiB",
            "8191.99999TiB",
            "0.3",
            "0".repeat(1_000) + "1",
            "9".repeat(1_000),
            "1." + "0".repeat(1_000) + "KiB",
            "500ms",
            "1.5 h",
            "292y",
            "106751.99d",
            "yes",
            " on ",
            "\u0661\u212a",
            "x".repeat(1_000))
        .map(text -> text.getBytes(StandardCharsets.UTF_8));
  }
}
