package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceTest {
  private static final String LINE =
      "{\"timestamp\": 5, \"input_length\": 1030, \"output_length\": 7, \"hash_ids\": [0, 1, 2]}";

  private final Path folder;

  TraceTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Trace trace(String text) throws IOException, TraceException {
    return Trace.of(Files.writeString(folder.resolve("trace.jsonl"), text));
  }

  @Test
  void sample_isTheFirstThousandRequests() throws TraceException {
    Trace sample = Trace.sample();

    assertThat(sample.size()).isEqualTo(1000);
    assertThat(sample.requests().getFirst().inputLength()).isEqualTo(6758);
    assertThat(sample.requests().stream().mapToInt(TraceRequest::pages).sum()).isEqualTo(26307);
    assertThat(sample.reuse().bestHitPages()).isEqualTo(5780);
  }

  @Test
  void of_line_hasItsMembers() throws IOException, TraceException {
    TraceRequest request = trace(LINE + "\n\n").requests().getFirst();

    assertThat(request.timestamp()).isEqualTo(5);
    assertThat(request.inputLength()).isEqualTo(1030);
    assertThat(request.outputLength()).isEqualTo(7);
    assertThat(request.hashIds()).containsExactly(0L, 1L, 2L);
    assertThat(request.pages()).isEqualTo(2);
  }

  @Test
  void of_gzippedFile_isUnzipped() throws IOException, TraceException {
    Path file = folder.resolve("trace.jsonl.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write(LINE.getBytes(StandardCharsets.UTF_8));
    }

    assertThat(Trace.of(file).size()).isEqualTo(1);
  }

  @Test
  void of_membersOfOtherNames_areIgnored() throws IOException, TraceException {
    Trace trace =
        trace(
            "{\"user\": {\"a\": [1]}, \"timestamp\": 0, \"input_length\": 4, \"output_length\": 1,"
                + " \"hash_ids\": []}");

    assertThat(trace.requests().getFirst().pages()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"0, 0, 0", "1, 0, 0", "512, 1, 0", "513, 1, 1", "1024, 2, 1", "1025, 2, 2"})
  void usablePages_leaveTheLastTokenToCompute(int inputLength, int pages, int usable)
      throws IOException, TraceException {
    String ids = "0, 1, 2".substring(0, Math.max(0, 3 * ((inputLength + 511) / 512) - 2));
    TraceRequest request =
        trace(
                "{\"timestamp\": 0, \"input_length\": %d, \"output_length\": 1, \"hash_ids\": [%s]}"
                    .formatted(inputLength, ids))
            .requests()
            .getFirst();

    assertThat(request.pages()).isEqualTo(pages);
    assertThat(request.usablePages()).isEqualTo(usable);
  }

  @Test
  void bestHitPages_countsLeadingBlocksSeenBefore() throws IOException, TraceException {
    String form =
        "{\"timestamp\": 0, \"input_length\": %d, \"output_length\": 1, \"hash_ids\": [%s]}%n";
    Trace trace =
        trace(
            form.formatted(1600, "1, 2, 3, 4") // all new
                + form.formatted(1600, "1, 2, 5, 6") // two
                + form.formatted(1600, "7, 2, 3, 8") // none: the first is new
                + form.formatted(1024, "1, 2")); // one: the last token is computed

    assertThat(trace.reuse().bestHitPages()).isEqualTo(3);
  }

  @Test
  void part_keepsOrderAndStopsAtTheEnd() throws TraceException {
    Trace sample = Trace.sample();

    assertThat(sample.part(990, 100).requests()).isEqualTo(sample.requests().subList(990, 1000));
    assertThat(sample.part(2000, 100).size()).isZero();
    assertThat(sample.part(1, Integer.MAX_VALUE).size()).isEqualTo(999);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nonsense | expected an object such as",
        "[1, 2] | expected an object such as",
        "{'timestamp': 0} | expected an object such as",
        "{\"timestamp\": \"soon\", \"input_length\": 1} | expected an object such as",
        "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1} | hash_ids is missing",
        "{\"timestamp\": 0, \"input_length\": 1, \"hash_ids\": [1]} | output_length is missing",
        "{\"timestamp\": 0, \"input_length\": -1, \"output_length\": 1, \"hash_ids\": []}"
            + " | expected input_length from 0",
        "{\"timestamp\": 0, \"input_length\": 9999999999, \"output_length\": 1, \"hash_ids\": []}"
            + " | expected input_length from 0 to 2147483647, not 9999999999",
        "{\"timestamp\": 0, \"input_length\": 1.5, \"output_length\": 1, \"hash_ids\": [1]}"
            + " | expected an object such as",
        "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [1]}"
            + " | expected 2 hash_ids for an input_length of 1024, one per 512 tokens, not 1",
        "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1, 2, 3]}"
            + " | expected 2 hash_ids",
        "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [1]} {}"
            + " | expected an object such as",
      })
  void of_lineNotInTheFormat_isRefusedWithItsPlace(String line, String message) {
    assertThatExceptionOfType(TraceException.class)
        .isThrownBy(() -> trace(LINE + "\n" + line + "\n"))
        .withMessageContaining("trace.jsonl:2: ")
        .withMessageContaining(message);
  }

  @Test
  void of_fileWithoutRequests_isRefused() {
    assertThatExceptionOfType(TraceException.class)
        .isThrownBy(() -> trace("\n"))
        .withMessageContaining("has no requests");
    assertThatExceptionOfType(TraceException.class)
        .isThrownBy(() -> Trace.of(folder))
        .withMessageContaining("cannot read the trace");
  }
}
