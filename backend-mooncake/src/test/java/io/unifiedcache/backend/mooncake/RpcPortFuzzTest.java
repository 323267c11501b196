package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever a port says, it is told what it is, with a version that is no longer than its answer.
 */
class RpcPortFuzzTest {
  /** Reads the bytes as an answer that has ended, and as one that was waited for in vain. */
  @MethodSource("answers")
  @FuzzTest
  void of_anyBytes_isWhatAnswers(byte[] bytes) {
    for (boolean ended : new boolean[] {true, false}) {
      byte[] heard = Arrays.copyOf(bytes, Math.min(bytes.length, RpcPort.MAX_HEARD_BYTES));
      RpcPort answer = RpcPort.of(new RpcPort.Heard(heard, ended));
      switch (answer.kind()) {
        case DROPS -> assertThat(heard.length == 0 && ended).isTrue();
        case SILENT -> assertThat(heard.length == 0 && !ended).isTrue();
        case HTTP -> assertThat(new String(heard, StandardCharsets.US_ASCII)).startsWith("HTTP/");
        case MASTER, OTHER_SERVER -> assertThat(heard[0]).isEqualTo((byte) 21);
        case OTHER_PROTOCOL -> assertThat(heard).isNotEmpty();
      }
      if (answer.kind() != RpcPort.Kind.MASTER) {
        assertThat(answer.version()).isEmpty();
      }
      assertThat(answer.version()).matches("[0-9A-Za-z_.+-]{0," + RpcPort.MAX_VERSION_CHARS + "}");
    }
  }

  static List<byte[]> answers() {
    return Stream.of(
            "",
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            "HTTP",
            "SSH-2.0\r\n",
            "\u0015",
            "\u0015\0\0\0\1\0\0\0\6\0\0\0\0\0\0\0\u00052.0.0",
            "\u0015\0\0\0\1\0\0\0\uffff\uffff\0\0\0\0\0\0\u00051.0.0-rc1+g1234 and more",
            "\u0015\0\0\0\1\0\0\0\7\0\0\u0080\0\0\0\0\u000511.1.1",
            "\u0015\0\13\0\1\0\0\0\16\0\0\0\0\0\0\0not registered",
            "\u0015\0\0\0\1\0\0\0\0\7\0\0\0\0\0\0" + "1.".repeat(900),
            "\u0015\0\0\0\1\0\0\0\0\7\0\0\0\0\0\0" + "1".repeat(1_800))
        .map(text -> text.getBytes(StandardCharsets.ISO_8859_1))
        .toList();
  }
}
