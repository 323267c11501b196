package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The cluster that {@code unified-cache mooncake-dev} starts, and a replay that it is made for. */
@Timeout(300)
class MooncakeIT {
  @TempDir Path scratch = Path.of("");

  /** Null if Mooncake is not installed. */
  private @Nullable Process cluster;

  @BeforeEach
  void startCluster() throws Exception {
    ProcessBuilder builder =
        LauncherIT.builder(
            scratch, Distribution.ROOT.resolve("unified-cache"), "mooncake-dev", "256 MB");
    builder.environment().put("MOONCAKE_TEST_HOME", mooncake().toString());
    builder.environment().put("XDG_CACHE_HOME", scratch.toString());
    Path errors = scratch.resolve("cluster-errors");
    Process started = builder.redirectError(errors.toFile()).start();
    cluster = started;
    BufferedReader output = started.inputReader();
    assertThat(output.readLine())
        .as("what the script says first; its errors are %s", errors)
        .contains("256 MB is up");
  }

  /** Returns the folder in which the script {@code .ci/mooncake} has installed Mooncake. */
  private static Path mooncake() {
    Path folder =
        variable("MOONCAKE_TEST_HOME")
            .map(Path::of)
            .orElseGet(
                () ->
                    variable("XDG_CACHE_HOME")
                        .map(Path::of)
                        .orElse(Path.of(System.getProperty("user.home"), ".cache"))
                        .resolve("unified-cache/mooncake"));
    boolean installed = Files.exists(folder.resolve("installed"));
    String missing = "Mooncake is not installed in " + folder + "; .ci/mooncake installs it";
    assertThat(installed || variable("DEMAND_MOONCAKE").isEmpty()).as(missing).isTrue();
    Assumptions.assumeTrue(installed, missing);
    return folder;
  }

  private static Optional<String> variable(String name) {
    return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isBlank());
  }

  @AfterEach
  void stopCluster() throws Exception {
    Process started = cluster;
    if (started != null) {
      started.destroy();
      assertThat(started.waitFor(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"python", "native"})
  void replay_sampleOnACluster_hasTheKnownCounts(String client) throws Exception {
    Path json = scratch.resolve("report.json");
    ProcessBuilder builder =
        LauncherIT.builder(
            scratch,
            Distribution.ROOT.resolve("unified-cache"),
            "replay",
            "--backend=mooncake",
            "--settings=" + scratch.resolve("unified-cache/mooncake-dev.properties"),
            "-oclient=" + client,
            "--page-bytes=4KiB",
            "--requests=200",
            "--json=" + json);
    ChildJvm replay = ChildJvm.run(scratch, builder);
    assertThat(replay.status()).as("%s", replay).isZero();
    JsonObject report = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    assertThat(report.get("distinctPages").getAsLong()).isEqualTo(5015);
    assertThat(report.get("hitPages").getAsLong()).isEqualTo(322);
    for (String none : new String[] {"failedLoads", "failedOffloads", "mismatches"}) {
      assertThat(report.get(none).getAsLong()).as(none).isZero();
    }
    // No number at all is better than one that is not known.
    assertThat(report.has("evictions")).isFalse();
    assertThat(replay.output()).contains("evictions         the store does not tell");
  }
}
