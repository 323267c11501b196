package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VectorsCommandTest {
  private static final Path GOLDEN = Path.of("../linker-core/src/test/resources/golden");

  @ParameterizedTest
  @CsvSource({
    "page-hash.jsonl,                   174, 0",
    "page-hash-512.jsonl,                24, 0",
    "keys-mooncake-store.jsonl,       2_539, 14",
    "keys-file.jsonl,                   695, 0",
    "keys-direct-linker.jsonl,          249, 0",
    "restorable.jsonl,                1_500, 0",
    "restorable-unknown-policy.jsonl,    40, 20",
  })
  void vectors_recordedFile_nothingDiffers(String file, String matched, int onPurpose) {
    CommandRun run = CommandRun.of("vectors", GOLDEN.resolve(file).toString());

    assertThat(run.err()).isEmpty();
    assertThat(run.status()).as(run.out()).isZero();
    assertThat(run.out().lines().toList().getLast())
        .startsWith(
            "total: %s matched, 0 differing, %d different on purpose, "
                .formatted(matched.strip().replace('_', ','), onPurpose));
  }

  @Test
  void vectors_severalFiles_areTotalledInOneLine() {
    CommandRun run =
        CommandRun.of(
            "vectors",
            GOLDEN.resolve("page-hash.jsonl").toString(),
            GOLDEN.resolve("page-hash-512.jsonl").toString());

    assertThat(run.status()).isZero();
    assertThat(run.out().lines().filter(line -> line.startsWith("total: ")))
        .containsExactly("total: 198 matched, 0 differing, 0 different on purpose, 12 not covered");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // a hash, an object key, a group, a restorable length, a hit count, a file name
        "page-hash.jsonl | \"hashes\":\\[\"6 | \"hashes\":[\"7 | plain",
        "keys-mooncake-store.jsonl | \"objectKeys\":\\[\"p | \"objectKeys\":[\"q | batchSetV1",
        "keys-mooncake-store.jsonl | \"groupIds\":\\[\"s | \"groupIds\":[\"t | batchSetV1",
        "keys-file.jsonl | \"page0__0_1.bin\"\\] | \"page0__0_2.bin\"] | batchSetV1",
        "restorable.jsonl | \"restorable\":\\[1 | \"restorable\":[3 | restorable sets",
        "restorable.jsonl | \"hitCount\":\\{\"kv\":3 | \"hitCount\":{\"kv\":4 | restorable sets",
        // where a piece lies, how large it is, where it stands in its object, what can be restored
        "keys-direct-linker.jsonl | \\[0,1,40\\] | [0,1,41] | offload",
        "keys-direct-linker.jsonl | \"sizes\":\\[\\[40,40 | \"sizes\":[[40,41 | offload",
        "keys-direct-linker.jsonl | \"objectOffsets\":\\[\\[0\\] | \"objectOffsets\":[[1] | load",
        "keys-direct-linker.jsonl | \"restorable\":\\[1,2 | \"restorable\":[1 | lookup",
      })
  void vectors_tamperedFile_isToldWithItsLine(
      String file, String original, String changed, String kind, @TempDir Path folder)
      throws IOException {
    Path tampered = folder.resolve("tampered.jsonl");
    int line = tamper(GOLDEN.resolve(file), original, changed, tampered);

    CommandRun run = CommandRun.of("vectors", tampered.toString());

    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out()).contains("differs: " + tampered + ":" + line + " " + kind + ": ");
    assertThat(run.out().lines().toList().getLast()).contains(" 1 differing, ");
  }

  /** Changes the first line that has the original, and returns its number. */
  private static int tamper(Path file, String original, String changed, Path to)
      throws IOException {
    Pattern pattern = Pattern.compile(original);
    List<String> lines = new ArrayList<>(Files.readAllLines(file));
    for (int i = 0; i < lines.size(); i++) {
      if (pattern.matcher(lines.get(i)).find()) {
        lines.set(i, pattern.matcher(lines.get(i)).replaceFirst(changed.replace("$", "\\$")));
        Files.write(to, lines);
        return i + 1;
      }
    }
    throw new AssertionError("no line of " + file + " has " + original);
  }

  @Test
  void vectors_refusalThatIsNoneAnyMore_differs(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("refusal.jsonl");
    Files.writeString(
        file,
        """
        {"kind":"negative","tokens":[1],"pageSize":2,"priorHash":null,"bigram":false,"error":"IndexError"}
        """);

    CommandRun run = CommandRun.of("vectors", file.toString());

    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out()).contains("expected a refusal (IndexError)");
  }

  @Test
  void vectors_otherLinkersAndSchemes_countAsNotCovered(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("others.jsonl");
    Files.writeString(
        file,
        """
        {"op":"suffixAndKeys","linker":"mori","config":{}}
        {"kind":"plan","input":{}}
        {"scenario":"load: all good"}
        {"op":"describeL3ObjectLayout","config":{}}
        {"kind":"eventInt64","hash":"00"}
        """);

    CommandRun run = CommandRun.of("vectors", file.toString());

    assertThat(run.status()).isZero();
    assertThat(run.out())
        .contains("total: 0 matched, 0 differing, 0 different on purpose, 5 not covered");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "no json | expected a JSON object",
        "[1] | expected a JSON object",
        "{\"what\":1} | expected a row of",
        "{\"kind\":\"unheard\"} | expected a row of",
        "{\"op\":\"unheard\"} | expected a row of",
        "{\"kind\":\"plain\",\"pageSize\":2} | expected a member tokens",
        "{\"kind\":\"plain\",\"pageSize\":2,\"tokens\":\"a\"} | member tokens cannot be \"a\"",
      })
  void vectors_lineInNoKnownFormat_isAMistakeThatNamesIt(
      String line, String message, @TempDir Path folder) throws IOException {
    Path file = folder.resolve("bad.jsonl");
    Files.writeString(file, "\n" + line + "\n");

    CommandRun run = CommandRun.of("vectors", file.toString());

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).contains(file + ":2: ", message);
  }

  @Test
  void vectors_missingOrEmptyFile_isAMistake(@TempDir Path folder) throws IOException {
    Path empty = Files.createFile(folder.resolve("empty.jsonl"));

    assertThat(CommandRun.of("vectors").status()).isEqualTo(2);
    assertThat(CommandRun.of("vectors", folder.resolve("none.jsonl").toString()))
        .satisfies(run -> assertThat(run.status()).isEqualTo(2))
        .satisfies(run -> assertThat(run.err()).contains("there is no vector file"));
    assertThat(CommandRun.of("vectors", empty.toString()).err()).contains("has no rows");
  }
}
