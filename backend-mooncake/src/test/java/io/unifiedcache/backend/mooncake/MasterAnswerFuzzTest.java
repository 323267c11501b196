package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a master or another server answers over HTTP, it is counted, or fails as foreseen. */
class MasterAnswerFuzzTest {
  /** The first byte says how long the prefix is that is looked for in the rest, after it. */
  @MethodSource("answers")
  @FuzzTest
  void answer_anyBytes_isANumberOrAnIoException(byte[] bytes) throws IOException {
    String text = new String(bytes, StandardCharsets.UTF_8);
    try {
      assertThat(Master.chargedBytes(text)).isNotNegative();
      assertThat(text).contains("charged_bytes");
    } catch (IOException e) {
      assertThat(e).hasMessageStartingWith("it does not say");
      assertThat(String.valueOf(e.getMessage()).length()).isLessThan(500);
    }
    int length = bytes.length == 0 ? 0 : Math.min(bytes.length - 1, bytes[0] & 0xff);
    byte[] prefix = bytes.length == 0 ? bytes : Arrays.copyOfRange(bytes, 1, 1 + length);
    byte[] lines = bytes.length == 0 ? bytes : Arrays.copyOfRange(bytes, 1 + length, bytes.length);
    long count = Master.countLines(new ByteArrayInputStream(lines), prefix);
    assertThat(count).isEqualTo(expected(lines, prefix));
    if (prefix.length > 0) {
      assertThat(Master.countLines(new ByteArrayInputStream(prefix), prefix)).isPositive();
    }
  }

  /** Counts one by one. */
  private static long expected(byte[] lines, byte[] prefix) {
    long count = 0;
    for (int at = 0; at < lines.length; at++) {
      boolean begins = at == 0 || lines[at - 1] == '\n';
      if (begins
          && lines.length - at >= prefix.length
          && Arrays.equals(lines, at, at + prefix.length, prefix, 0, prefix.length)) {
        count++;
      }
    }
    return count;
  }

  static List<byte[]> answers() {
    return Stream.of(
            "",
            "\0",
            "\4pre-pre-1\nx\npre-2\nxpre-3\npre",
            "\3a\na\na\na\na\na",
            "\1\n\n\n\na\n",
            "{\"charged_bytes\" : 12}",
            "{\"charged_bytes\":99999999999999999999}",
            "{\"charged_bytes\":123456789012345678}",
            "{\"charged_bytes\":-1, \"charged_bytes\": 7}",
            "{\"charged_bytes\":" + " ".repeat(1_000),
            "\"charged_bytes\"".repeat(100))
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }
}
