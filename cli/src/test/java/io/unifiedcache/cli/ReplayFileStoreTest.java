package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Replays from a store in a folder: the answers of the store in memory, also in parts. */
class ReplayFileStoreTest {
  private static final List<String> COUNTS =
      List.of(
          "requests",
          "pages",
          "distinctPages",
          "hitPages",
          "bytesLoaded",
          "bytesOffloaded",
          "failedLoads",
          "failedOffloads",
          "mismatches",
          "lostCompletions",
          "evictions");

  @TempDir Path folder = Path.of("");

  private List<String> arguments(Path json, String... more) {
    List<String> arguments = new ArrayList<>(List.of("replay", "--page-bytes", "1KiB"));
    arguments.addAll(List.of("--json", json.toString()));
    arguments.addAll(List.of(more));
    return arguments;
  }

  private List<String> onFiles(Path json, String... more) {
    List<String> arguments = arguments(json, more);
    arguments.addAll(List.of("--backend", "file", "-o", "min-free=0"));
    arguments.addAll(List.of("-o", "root=" + folder.resolve("store")));
    return arguments;
  }

  private static JsonObject read(Path json) throws IOException {
    return JsonParser.parseString(Files.readString(json)).getAsJsonObject();
  }

  private JsonObject replay(List<String> arguments, Path json) throws IOException {
    CommandRun run = CommandRun.of(arguments);
    assertThat(run.status()).as(run.out() + run.err()).isZero();
    return read(json);
  }

  /** Does the same in a process of its own. */
  private JsonObject replayElsewhere(List<String> arguments, Path json) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(Main.class.getName());
    command.addAll(arguments);
    Path said = folder.resolve("said");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      assertThat(process.waitFor(300, TimeUnit.SECONDS)).isTrue();
    } finally {
      process.destroyForcibly();
    }
    assertThat(process.exitValue()).as(Files.readString(said)).isZero();
    return read(json);
  }

  private static long count(JsonObject report, String member) {
    return report.get(member).getAsLong();
  }

  @ParameterizedTest
  @CsvSource({"mha, layers", "mla, pages", "hybrid-mamba, layers"})
  void replay_sample_hasTheCountsOfTheStoreInMemory(String model, String path) throws IOException {
    Path json = folder.resolve("report.json");
    String[] options = {"--model", model, "--load-path", path};

    JsonObject memory = replay(arguments(json, options), json);
    JsonObject files = replay(onFiles(json, options), json);

    assertThat(count(files, "hitPages")).isEqualTo(5_780);
    for (String member : COUNTS) {
      assertThat(count(files, member)).as(member).isEqualTo(count(memory, member));
    }
  }

  @Test
  void replay_secondHalfInANewProcess_hitsWhatTheFirstHasLeft() throws Exception {
    Path json = folder.resolve("report.json");
    JsonObject whole = replay(arguments(json), json);

    JsonObject first = replay(onFiles(json, "--requests", "500"), json);
    JsonObject second = replayElsewhere(onFiles(json, "--skip", "500"), json);

    assertThat(count(second, "requests")).isEqualTo(500);
    assertThat(count(whole, "hitPages")).isEqualTo(5_780);
    for (String member :
        List.of("requests", "pages", "hitPages", "bytesLoaded", "bytesOffloaded")) {
      assertThat(count(first, member) + count(second, member))
          .as(member)
          .isEqualTo(count(whole, member));
    }
    assertThat(count(second, "mismatches") + count(second, "lostCompletions")).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"mla", "indexer"})
  void replay_asSglangsFiles_hasTheKnownCounts(String model) throws IOException {
    Path json = folder.resolve("report.json");
    String[] options = {"--requests", "200", "--model", model, "-o", "format=sglang"};

    JsonObject files = replay(onFiles(json, options), json);

    assertThat(count(files, "hitPages")).isEqualTo(322);
    assertThat(count(files, "mismatches")).isZero();
    try (Stream<Path> all = Files.list(folder.resolve("store"))) {
      assertThat(all).as("a file for each object").hasSizeGreaterThan(5_015);
    }
  }
}
