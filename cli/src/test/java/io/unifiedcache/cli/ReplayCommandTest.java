package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReplayCommandTest {
  private static final List<String> PRESETS =
      List.of("mha", "mla", "hybrid-swa", "hybrid-mamba", "indexer", "draft", "dsv4");

  private static final Set<String> PRESETS_WITH_WINDOWS =
      Set.of("hybrid-swa", "hybrid-mamba", "dsv4");

  /** The folder of the whole traces, which are not part of the sources. */
  private static final String TRACES = "traces.folder";

  private final Path folder;

  ReplayCommandTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** A report, and how the command ended. */
  private record Report(CommandRun run, JsonObject json) {
    long count(String member) {
      return json.get(member).getAsLong();
    }

    double share(String member) {
      return json.get(member).getAsDouble();
    }
  }

  private Report replay(String... arguments) throws IOException {
    Path json = folder.resolve("report.json");
    List<String> all = new ArrayList<>(List.of("replay", "--json", json.toString()));
    all.addAll(List.of(arguments));
    CommandRun run = CommandRun.of(all);
    assertThat(run.err()).isEmpty();
    return new Report(run, JsonParser.parseString(Files.readString(json)).getAsJsonObject());
  }

  private static void assertRight(Report report) {
    assertThat(report.run().status()).as(report.run().out()).isZero();
    assertThat(report.count("mismatches")).isZero();
    assertThat(report.count("lostCompletions")).isZero();
    assertThat(report.count("failedOffloads")).isZero();
  }

  private static void assertCounts(
      Report report, long requests, long pages, long distinctPages, long hitPages) {
    assertRight(report);
    assertThat(report.count("requests")).isEqualTo(requests);
    assertThat(report.count("pages")).isEqualTo(pages);
    assertThat(report.count("distinctPages")).isEqualTo(distinctPages);
    assertThat(report.count("hitPages")).isEqualTo(hitPages);
  }

  static List<Arguments> combinations() {
    List<Arguments> combinations = new ArrayList<>();
    for (String preset : PRESETS) {
      for (String ranks : List.of("1", "4")) {
        for (String path : List.of("layers", "pages")) {
          for (String side : List.of("all", "tail")) {
            if (side.equals("all") || PRESETS_WITH_WINDOWS.contains(preset)) {
              combinations.add(Arguments.of(preset, ranks, path, side));
            }
          }
        }
      }
    }
    return combinations;
  }

  /**
   * Rules {@code restore.trailing-window}, {@code restore.intersection}, {@code load.ranks-agree}.
   */
  @ParameterizedTest
  @MethodSource("combinations")
  void replay_200Requests_hasTheKnownCounts(
      String preset, String ranks, String path, String sidePages) throws IOException {
    long hitPages = sidePages.equals("all") ? 322 : preset.equals("hybrid-mamba") ? 306 : 319;

    Report report =
        replay(
            "--requests",
            "200",
            "--page-bytes",
            "1KiB",
            "--model",
            preset,
            "--ranks",
            ranks,
            "--load-path",
            path,
            "--side-pages",
            sidePages);

    assertCounts(report, 200, 5337, 5015, hitPages);
    assertThat(report.json().get("model").getAsString()).isEqualTo(preset);
    assertThat(report.count("ranks")).isEqualTo(Long.parseLong(ranks));
  }

  @ParameterizedTest
  @ValueSource(strings = {"mha", "mla", "hybrid-swa", "hybrid-mamba", "indexer", "draft", "dsv4"})
  void replay_sample_hasTheKnownCountsInTheDefaultCapacity(String preset) throws IOException {
    Report report = replay("--model", preset);

    assertCounts(report, 1000, 26307, 20527, 5780);
    assertThat(report.count("evictions")).isZero();
    assertThat(report.share("tokenHitRate")).isEqualTo(report.share("bestTokenHitRate"));
  }

  @ParameterizedTest
  @CsvSource({"hybrid-mamba, 5264", "hybrid-swa, 5284", "dsv4, 5284"})
  void replay_sampleWithTails_hasTheKnownCounts(String preset, long hitPages) throws IOException {
    Report report = replay("--model", preset, "--side-pages", "tail", "--page-bytes", "1KiB");

    assertCounts(report, 1000, 26307, 20527, hitPages);
    assertThat(report.share("tokenHitRate")).isLessThan(report.share("bestTokenHitRate"));
  }

  @Tag("stress")
  @ParameterizedTest
  @CsvSource({
    "conversation, mha,          all,  12031, 276491, 170899, 105592, 0.37338",
    "conversation, hybrid-mamba, tail, 12031, 276491, 170899,  98899, 0.34971",
    "conversation, hybrid-swa,   tail, 12031, 276491, 170899,  99056, 0.35027",
    "synthetic,    mha,          all,   3993, 117888,  40148,  77740, 0.650431",
    "synthetic,    hybrid-mamba, tail,  3993, 117888,  40148,  60812, 0.508796",
    "synthetic,    hybrid-swa,   tail,  3993, 117888,  40148,  60882, 0.509382",
  })
  void replay_wholeTrace_hasTheKnownCounts(
      String name,
      String preset,
      String sidePages,
      long requests,
      long pages,
      long distinctPages,
      long hitPages,
      double tokenHitRate)
      throws IOException {
    String traces = System.getProperty(TRACES);
    Assumptions.assumeTrue(
        traces != null, "-D" + TRACES + "=FOLDER names no folder of whole traces");
    Path trace = Path.of(traces, name + "_trace.jsonl");

    Report report =
        replay(
            trace.toString(), "--page-bytes", "4KiB", "--model", preset, "--side-pages", sidePages);

    assertCounts(report, requests, pages, distinctPages, hitPages);
    assertThat(report.share("tokenHitRate")).isCloseTo(tokenHitRate, within(0.00001));
  }

  @Test
  void replay_promptOfExactlyTwoPagesTwice_hitsOne() throws IOException {
    Path trace = folder.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [7, 8]}
        {"timestamp": 9, "input_length": 1024, "output_length": 1, "hash_ids": [7, 8]}
        """);

    Report report = replay(trace.toString());

    assertCounts(report, 2, 4, 2, 1);
    assertThat(report.share("tokenHitRate")).isEqualTo(0.25);
    assertThat(report.share("bestTokenHitRate")).isEqualTo(0.25);
    assertThat(report.count("bytesLoaded")).isEqualTo(32 << 10);
    assertThat(report.count("bytesOffloaded")).isEqualTo((2 * 32) << 10);
  }

  @Test
  void replay_skipAndRequests_takeThatPart() throws IOException {
    Report first = replay("--requests", "10", "--page-bytes", "1KiB");
    Report both = replay("--requests", "20", "--page-bytes", "1KiB");
    Report second = replay("--skip", "10", "--requests", "10", "--page-bytes", "1KiB");

    assertThat(second.count("requests")).isEqualTo(10);
    assertThat(first.count("pages") + second.count("pages")).isEqualTo(both.count("pages"));
  }

  @Test
  void replay_manyInFlight_keepsEveryByteRight() throws IOException {
    Report report =
        replay("--requests", "200", "--page-bytes", "1KiB", "--in-flight", "8", "--ranks", "2");

    assertRight(report);
    assertThat(report.count("hitPages")).isBetween(0L, 322L);
  }

  @Test
  void replay_atATenthOfTheRoom_evictsAndKeepsEveryByteRight() throws IOException {
    // 1,000 requests leave 20,527 pages of 4 KiB.
    Report report = replay("--page-bytes", "4KiB", "-o", "capacity=8MiB");

    assertThat(report.run().status()).as(report.run().out()).isZero();
    assertThat(report.count("evictions")).isPositive();
    assertThat(report.count("mismatches")).isZero();
    assertThat(report.count("hitPages")).isBetween(1L, 5779L);
  }

  @ParameterizedTest
  @CsvSource({
    "mha, 1, layers, all",
    "mha, 1, pages, all",
    "mla, 4, layers, all",
    "hybrid-swa, 1, layers, all",
    "hybrid-mamba, 4, pages, tail",
    "dsv4, 4, layers, tail",
  })
  void replay_failingLoads_areRecomputedAndEqualSeedsFailEqually(
      String preset, String ranks, String path, String sidePages) throws IOException {
    String[] arguments = {
      "--requests",
      "500",
      "--page-bytes",
      "1KiB",
      "--model",
      preset,
      "--ranks",
      ranks,
      "--load-path",
      path,
      "--side-pages",
      sidePages
    };
    Report sound = replay(arguments);
    Report failing = replay(with(arguments, "--fail", "0.05", "--seed", "42"));
    Report again = replay(with(arguments, "--fail", "0.05", "--seed", "42"));
    Report other = replay(with(arguments, "--fail", "0.05", "--seed", "43"));

    assertRight(sound);
    assertRight(failing);
    assertRight(other);
    assertThat(sound.count("failedLoads")).isZero();
    assertThat(failing.count("failedLoads")).isPositive();
    assertThat(failing.count("hitPages")).isLessThan(sound.count("hitPages"));
    for (String member : List.of("failedLoads", "hitPages", "bytesLoaded", "bytesOffloaded")) {
      assertThat(again.count(member)).as(member).isEqualTo(failing.count(member));
    }
    assertThat(other.count("hitPages")).isNotEqualTo(failing.count("hitPages"));
  }

  private static String[] with(String[] arguments, String... more) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of(more));
    return all.toArray(String[]::new);
  }

  @Test
  void replay_everyLoadFailing_hitsNothing() throws IOException {
    Report report = replay("--requests", "100", "--page-bytes", "1KiB", "--fail", "1");

    assertRight(report);
    assertThat(report.count("failedLoads")).isPositive();
    assertThat(report.count("hitPages")).isZero();
  }

  @Test
  void replay_pace_keepsTheTracesTimes() throws IOException {
    Path trace = folder.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 1000, "input_length": 600, "output_length": 1, "hash_ids": [7, 8]}
        {"timestamp": 4000, "input_length": 600, "output_length": 1, "hash_ids": [7, 9]}
        """);

    Report report = replay(trace.toString(), "--pace", "10");

    assertCounts(report, 2, 2, 1, 1);
    assertThat(report.share("seconds")).isGreaterThanOrEqualTo(0.3);
  }

  @Test
  void replay_json_hasEveryMember() throws IOException {
    Report report = replay("--requests", "20", "--page-bytes", "1KiB", "--model", "draft");

    assertThat(report.json().keySet())
        .contains(
            "backend",
            "model",
            "ranks",
            "requests",
            "pages",
            "distinctPages",
            "hitPages",
            "tokenHitRate",
            "bestTokenHitRate",
            "bytesLoaded",
            "bytesOffloaded",
            "loadGBps",
            "offloadGBps",
            "evictions",
            "failedLoads",
            "mismatches",
            "lostCompletions");
    assertThat(report.json().get("backend").getAsString()).isEqualTo("memory");
    for (String latency : List.of("lookup", "firstLayer", "load", "offload")) {
      JsonObject percentiles = report.json().getAsJsonObject(latency);
      assertThat(percentiles.get("p50").getAsDouble()).as(latency).isPositive();
      assertThat(percentiles.get("p99").getAsDouble())
          .isGreaterThanOrEqualTo(percentiles.get("p95").getAsDouble());
    }
  }

  @Test
  void replay_report_isReadable() throws IOException {
    String out = replay("--requests", "200", "--page-bytes", "1KiB").run().out();

    assertThat(out)
        .contains("requests          200")
        .contains("pages             5,337 of 512 tokens, 5,015 distinct")
        .contains("hit pages         322")
        .contains("token hit rate    5.93 %, best possible 5.93 %")
        .contains("mismatches        0")
        .containsPattern("loaded +[0-9,]+ bytes, [0-9.]+ GB/s")
        .containsPattern("lookup +[0-9.,]+ +[0-9.,]+ +[0-9.,]+");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--backend nowhere | there is no backend \"nowhere\"; found are memory",
        "-o capasity=1GiB | did you mean \"capacity\"?",
        "-o capacity=much | \"much\" is not a size",
        "-o capacity | is not of the form key=value",
        "-o keys=sglang-linker | no names for pool kv",
        "--settings nowhere.properties | nowhere.properties",
        "--model gpt | --model",
        "--page-bytes 100 | --page-bytes must be a multiple of 128",
        "--page-bytes lots | \"lots\" is not a size",
        "--page-bytes 1TiB | there is no memory for the pools of rank 0",
        "--layers 0 | --layers must be at least 1, not 0",
        "--ranks 0 | --ranks must be at least 1, not 0",
        "--ranks 4 --processes 3 | --processes must be 1 or the number of --ranks, which is 4, not"
            + " 3",
        "--processes 0 | --processes must be 1 or the number of --ranks, which is 1, not 0",
        "--model mla --ranks 2 --processes 2 | which memory is not: one rank writes what all read",
        "--ranks 2 --processes 2 --report page.html | --report shows what happened when",
        "--in-flight 0 | --in-flight must be at least 1, not 0",
        "--requests 0 | --requests must be at least 1, not 0",
        "--skip -1 | --skip must not be negative, not -1",
        "--skip 1000 | --skip 1000 leaves none of the 1000 requests",
        "--fail 1.5 | --fail must be from 0 to 1, not 1.5",
        "--pace 0 | --pace must be a number above 0, not 0.0",
        "--side-pages some | --side-pages",
        "--load-path some | --load-path",
        "--json nowhere/report.json | --json nowhere/report.json is not a file in a folder",
        "--report nowhere/report.html | --report nowhere/report.html is not a file in a folder",
        "nowhere.jsonl | there is no trace file nowhere.jsonl",
      })
  void replay_mistake_isToldInOneLine(String arguments, String message) {
    List<String> all = new ArrayList<>(List.of("replay"));
    all.addAll(List.of(arguments.split(" ", -1)));

    CommandRun run = CommandRun.of(all);

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).startsWith("unified-cache replay: ").contains(message);
    assertThat(run.out()).isEmpty();
  }

  @Test
  void replay_badTraceLine_isToldWithItsPlace() throws IOException {
    Path trace = folder.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [7, 8]}
        {"timestamp": 0, "input_length": 600, "output_length": 1}
        """);

    CommandRun run = CommandRun.of("replay", trace.toString());

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).contains(trace + ":2: ", "hash_ids is missing");
  }

  @Test
  void replay_settingsFile_isOverruledByTheCommandLine() throws IOException {
    Path settings = folder.resolve("store.properties");
    Files.writeString(settings, "capacity = 8MiB\n");
    String[] arguments = {
      "--requests", "200", "--page-bytes", "4KiB", "--settings", settings.toString()
    };

    assertThat(replay(arguments).count("evictions")).isPositive();
    assertThat(replay(with(arguments, "-o", "capacity=1GiB")).count("evictions")).isZero();
  }
}
