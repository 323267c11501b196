package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Replays of which each rank has a process of its own. */
class ReplayProcessesTest {
  private final Path folder;

  ReplayProcessesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private JsonObject replay(String... arguments) throws IOException {
    Path json = folder.resolve("report.json");
    List<String> all = new ArrayList<>(List.of("replay", "--json", json.toString()));
    all.addAll(List.of(arguments));
    CommandRun run = CommandRun.of(all);
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).as(run.out()).isZero();
    return JsonParser.parseString(Files.readString(json)).getAsJsonObject();
  }

  /** Rules {@code restore.intersection}, {@code load.ranks-agree}. */
  @Test
  void replay_fourProcesses_haveTheKnownCounts() throws IOException {
    JsonObject report =
        replay("--requests", "200", "--page-bytes", "1KiB", "--ranks", "4", "--processes", "4");

    assertThat(report.get("requests").getAsLong()).isEqualTo(200);
    assertThat(report.get("pages").getAsLong()).isEqualTo(5_337);
    assertThat(report.get("distinctPages").getAsLong()).isEqualTo(5_015);
    assertThat(report.get("hitPages").getAsLong()).isEqualTo(322);
    assertThat(report.get("bytesLoaded").getAsLong()).isEqualTo(322 * 4 * 1024);
    assertThat(report.get("bytesOffloaded").getAsLong()).isEqualTo(5_015 * 4 * 1024);
    for (String latency : List.of("lookup", "firstLayer", "load", "offload")) {
      assertThat(report.getAsJsonObject(latency).get("p50").getAsDouble()).as(latency).isPositive();
    }
  }

  @Test
  void replay_failingLoads_failAsTheyDoInOneProcess() throws IOException {
    String[] one = {
      "--requests", "100", "--page-bytes", "1KiB", "--ranks", "2", "--fail", "0.5", "--seed", "7"
    };
    List<String> two = new ArrayList<>(List.of(one));
    two.addAll(List.of("--processes", "2"));

    JsonObject expected = replay(one);
    JsonObject report = replay(two.toArray(String[]::new));

    assertThat(expected.get("failedLoads").getAsLong()).isPositive();
    for (String member :
        List.of(
            "failedLoads",
            "failedOffloads",
            "hitPages",
            "bytesLoaded",
            "bytesOffloaded",
            "mismatches",
            "lostCompletions")) {
      assertThat(report.get(member)).as(member).isEqualTo(expected.get(member));
    }
    assertThat(report.has("firstFailure")).isTrue();
  }

  @Test
  void replay_mistakeThatARankFinds_isToldOnceInOneLine() {
    CommandRun run =
        CommandRun.of(
            "replay",
            "--requests",
            "1",
            "--ranks",
            "2",
            "--processes",
            "2",
            "-o",
            "keys=sglang-linker");

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).startsWith("unified-cache replay: ").contains("no names for pool kv");
    assertThat(run.out()).isEmpty();
  }
}
