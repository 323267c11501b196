package io.unifiedcache.cli.vectors;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever rows of recorded values say, they are checked, or refused with the place. */
class VectorFileFuzzTest {
  private static final Path GOLDEN = Path.of("../linker-core/src/test/resources/golden");

  /** What stands for a member of a row, one after the other. */
  private static final List<JsonElement> ODD =
      Stream.of(
              "null", "0", "-1", "2147483647", "1e30", "true", "\"x\"", "[]", "{}", "[[]]", "[-1]")
          .map(JsonParser::parseString)
          .toList();

  @MethodSource("files")
  @FuzzTest
  void check_anyBytes_isAReportOrRefused(byte[] bytes) throws IOException {
    try {
      VectorFile.read(Path.of("fuzzed"), new ByteArrayInputStream(bytes)).check();
    } catch (CharacterCodingException e) {
      assertThat(e).as("told as a file that is not in UTF-8").isNotNull();
    } catch (VectorException e) {
      assertThat(e.getMessage()).contains("fuzzed");
      assertThat(String.valueOf(e.getMessage()).length()).isLessThan(2000);
    }
  }

  /** Returns odd files, and recorded rows with one member that is odd or missing. */
  static Stream<byte[]> files() throws IOException {
    List<String> texts = new ArrayList<>();
    texts.add("");
    texts.add("[]");
    texts.add("{}");
    texts.add("{\"kind\": " + "[".repeat(1_000) + "]".repeat(1_000) + "}");
    texts.add("{\"kind\": [[[[\"deep\"]]]]}");
    texts.add("{\"op\": 1e1000000000}");
    texts.add("{\"" + "m".repeat(1_000) + "\": 1}");
    try (Stream<Path> goldens = Files.list(GOLDEN)) {
      for (Path golden : goldens.filter(each -> each.toString().endsWith(".jsonl")).toList()) {
        try (Stream<String> rows = Files.lines(golden)) {
          rows.limit(1).forEach(row -> addOddRows(row, texts));
        }
      }
    }
    return texts.stream().map(text -> text.getBytes(StandardCharsets.UTF_8));
  }

  private static void addOddRows(String row, List<String> texts) {
    texts.add(row);
    JsonObject whole = JsonParser.parseString(row).getAsJsonObject();
    for (String member : whole.keySet()) {
      JsonObject without = whole.deepCopy();
      without.remove(member);
      texts.add(without.toString());
      for (JsonElement odd : ODD) {
        JsonObject changed = whole.deepCopy();
        changed.add(member, odd);
        texts.add(changed.toString());
      }
    }
  }
}
