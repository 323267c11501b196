package io.unifiedcache.linker.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a properties file says, its entries are those that the JDK reads. */
class PropertiesTextFuzzTest {
  @MethodSource("texts")
  @FuzzTest
  void parse_anyText_agreesWithTheJdk(byte[] bytes) throws IOException {
    String text = new String(bytes, StandardCharsets.UTF_8);
    List<String> mistakes = new ArrayList<>();

    List<PropertiesText.Entry> entries =
        PropertiesText.parse(text, (line, mistake) -> mistakes.add(line + ": " + mistake));

    Properties expected = new Properties();
    try {
      expected.load(new StringReader(text));
    } catch (IllegalArgumentException e) {
      assertThat(mistakes).as("a malformed escape").isNotEmpty();
      return;
    }
    boolean hasEmptyKey = expected.remove("") != null;
    assertThat(mistakes.isEmpty()).isEqualTo(!hasEmptyKey);
    Properties actual = new Properties();
    entries.forEach(entry -> actual.put(entry.key(), entry.value()));
    assertThat(actual).isEqualTo(expected);
    NearestName.among(List.of("capacity", "linker.load-path"), text);
  }

  static Stream<byte[]> texts() {
    return Stream.of(
            "",
            "# note\ncapacity = 8GiB\n",
            "path=/a\\\n  /b",
            "a\\u0041=b\\u00g0",
            "=x",
            "\u2003# a key\n\u2003",
            "\u001c!key=1\n\u000b",
            "a=1\r\nb=2\rc=3\\\r\n4\nd=\\\\\ne=5\\",
            "k".repeat(1_000) + "=v",
            "\\\n".repeat(1_000),
            "\\\n\n",
            "\\\n\\",
            "\\".repeat(1_001))
        .map(text -> text.getBytes(StandardCharsets.UTF_8));
  }
}
