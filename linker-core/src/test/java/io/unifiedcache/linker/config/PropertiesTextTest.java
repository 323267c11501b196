package io.unifiedcache.linker.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.linker.config.PropertiesText.Entry;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PropertiesTextTest {
  private final List<String> mistakes = new ArrayList<>();

  private List<Entry> parse(String text) {
    return PropertiesText.parse(text, (line, mistake) -> mistakes.add(line + ": " + mistake));
  }

  @Test
  void parse_knowsTheLineOfEachEntry() {
    String text =
        """
        # capacity=1 \\
        capacity = 8GiB

          ! a note
        path=/a\\
           /b \\
           # no comment
        key\\ with\\:signs: x=y
        flag
        capacity=9GiB
        """;

    assertThat(parse(text))
        .containsExactly(
            new Entry(2, "capacity", "8GiB"),
            new Entry(5, "path", "/a/b # no comment"),
            new Entry(8, "key with:signs", "x=y"),
            new Entry(9, "flag", ""),
            new Entry(10, "capacity", "9GiB"));
    assertThat(mistakes).isEmpty();
  }

  @Test
  void parse_anyLineEnd_counts() {
    assertThat(parse("a=1\r\nb=2\rc=3\\\r\n4\nd=\\\\\ne=5\\"))
        .containsExactly(
            new Entry(1, "a", "1"),
            new Entry(2, "b", "2"),
            new Entry(3, "c", "34"),
            new Entry(5, "d", "\\"),
            new Entry(6, "e", "5"));
  }

  @Test
  void parse_entriesThatCannotBeRead_areMistakesAndTheOthersEntries() {
    assertThat(parse("a=\\u12\n=x\nb=\\u0041")).containsExactly(new Entry(3, "b", "A"));
    assertThat(mistakes)
        .containsExactly(
            "1: a \\u escape does not have four hexadecimal digits", "2: there is no key");
  }

  @Test
  void parse_agreesWithTheJdk() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    String signs = "ab =:\\\\\\#!\n\n\t\r\f";
    for (int round = 0; round < 3_000; round++) {
      StringBuilder text = new StringBuilder();
      for (int i = random.nextInt(40); i > 0; i--) {
        text.append(signs.charAt(random.nextInt(signs.length())));
      }
      Properties expected = new Properties();
      expected.load(new StringReader(text.toString()));
      expected.remove("");
      Properties actual = new Properties();
      parse(text.toString()).forEach(entry -> actual.put(entry.key(), entry.value()));
      assertThat(actual).as("seed %d, round %d, text <%s>", seed, round, text).isEqualTo(expected);
    }
  }
}
