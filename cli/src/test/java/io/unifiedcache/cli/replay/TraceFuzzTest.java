package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a trace file says, it has requests, or is refused with the place. */
class TraceFuzzTest {
  private static final String REQUEST =
      "{\"timestamp\": 0, \"input_length\": 1030, \"output_length\": 5, \"hash_ids\": [0, 1, 2]}";

  @MethodSource("traces")
  @FuzzTest
  void read_anyBytes_isATraceOrRefused(byte[] bytes) {
    Trace trace;
    try {
      trace = Trace.read("fuzzed", new ByteArrayInputStream(bytes));
    } catch (TraceException e) {
      assertThat(e.getMessage()).contains("fuzzed");
      assertThat(String.valueOf(e.getMessage()).length()).isLessThan(1000);
      return;
    }
    assertThat(trace.size()).isPositive();
    assertThat(trace.requests())
        .allSatisfy(
            request -> {
              assertThat(request.inputLength()).isNotNegative();
              assertThat(request.hashIds().size()).isBetween(request.pages(), request.pages() + 1);
              assertThat(request.timestamp()).isFinite();
            });
  }

  @Test
  void read_lineThatNeverEnds_isRefused() {
    InputStream endless =
        new InputStream() {
          @Override
          public int read() {
            return 'x';
          }
        };

    assertThatThrownBy(() -> Trace.read("endless", endless))
        .isInstanceOf(TraceException.class)
        .hasMessage("cannot read the trace endless: a line has more than 16777216 characters");
  }

  static Stream<byte[]> traces() throws IOException {
    byte[] zipped = zipped(REQUEST + "\n" + REQUEST);
    return Stream.concat(
        Stream.of(zipped, Arrays.copyOf(zipped, zipped.length - 9), zipped("\n".repeat(1_000))),
        Stream.of(
                "",
                "\n \n",
                REQUEST,
                REQUEST + "\r\n\n" + REQUEST,
                REQUEST.replace("1030", "2147483647"),
                REQUEST.replace("1030", "1e3"),
                REQUEST.replace("1030", "\"1030\""),
                REQUEST.replace("5,", "1e400,"),
                REQUEST.replace("0, \"input", "1e999, \"input"),
                REQUEST.replace("0, \"input", "NaN, \"input"),
                REQUEST.replace("0, \"input", "-1e308, \"input"),
                REQUEST.replace("[0, 1, 2]", "[".repeat(1_000)),
                REQUEST.replace("{", "{\"other\": " + "[".repeat(1_000) + "], "),
                "{\"timestamp\": " + "9".repeat(1_000),
                "[".repeat(1_000))
            .map(text -> text.getBytes(StandardCharsets.UTF_8)));
  }

  private static byte[] zipped(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }
}
