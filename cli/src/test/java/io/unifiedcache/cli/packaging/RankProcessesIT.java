package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A replay in several processes, of which one is killed. */
@Timeout(120)
class RankProcessesIT {
  @TempDir Path scratch = Path.of("");

  @SuppressWarnings("NullAway.Init") // Set before each test.
  private Process command;

  private List<ProcessHandle> ranks = List.of();

  /** Starts a replay that waits an hour for its second request. */
  @BeforeEach
  void start() throws Exception {
    Path trace = scratch.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [7, 8]}
        {"timestamp": 3600000, "input_length": 600, "output_length": 1, "hash_ids": [7, 9]}
        """);
    command =
        LauncherIT.builder(
                scratch,
                Distribution.ROOT.resolve("unified-cache"),
                "replay",
                trace.toString(),
                "--pace",
                "1",
                "--ranks",
                "3",
                "--processes",
                "3")
            .redirectError(scratch.resolve("errors").toFile())
            .redirectOutput(scratch.resolve("output").toFile())
            .start();
    while (ranks.size() < 3) {
      assertThat(command.waitFor(20, TimeUnit.MILLISECONDS)).isFalse();
      ranks = command.children().filter(RankProcessesIT::isJava).toList();
    }
  }

  /** The script has other children before it becomes the command. */
  private static boolean isJava(ProcessHandle process) {
    return process.info().command().filter(command -> command.endsWith("java")).isPresent();
  }

  @AfterEach
  void endAll() {
    command.destroyForcibly();
    ranks.forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void rankKilled_endsAllWithOneLine() throws Exception {
    ranks.get(1).destroyForcibly();
    assertThat(command.waitFor()).isEqualTo(1);
    assertThat(Files.readAllLines(scratch.resolve("errors")))
        .singleElement()
        .asString()
        .matches("unified-cache replay: rank \\d of 3 ended with status 137 before the replay did");
    assertThat(Files.readString(scratch.resolve("output"))).isEmpty();
    assertThat(ranks).noneMatch(ProcessHandle::isAlive);
  }

  @Test
  void commandKilled_endsTheRanks() throws Exception {
    command.destroyForcibly();
    for (ProcessHandle rank : ranks) {
      rank.onExit().get(60, TimeUnit.SECONDS);
    }
    assertThat(ranks).noneMatch(ProcessHandle::isAlive);
  }
}
