package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The packaged demo, with processes of its own. */
class DemoIT {
  private static final long LIMIT_SECONDS = 300;

  @TempDir Path scratch = Path.of("");

  @Test
  void demo_shortPrompt_restoresInNewProcessesAndAnswersAreEqual() throws Exception {
    expectRestored(demo(0, shortPrompt()));
  }

  @Test
  @Timeout(LIMIT_SECONDS)
  void demo_mooncake_restoresInNewProcessesWhatEarlierOnesLeftInTheCluster() throws Exception {
    String[] arguments = shortPrompt("--backend", "mooncake");
    ProcessBuilder builder = new ProcessBuilder(System.getProperty("mooncake-dev"), "128 MB");
    builder.environment().put("MOONCAKE_TEST_HOME", Demanded.mooncake().toString());
    builder.environment().put("XDG_CACHE_HOME", scratch.toString());
    Path errors = scratch.resolve("cluster-errors");
    Process cluster = builder.redirectError(errors.toFile()).start();
    try (BufferedReader output = cluster.inputReader()) {
      // Nothing but the backend is named, as in the line that the script prints.
      assertThat(output.readLine())
          .as("what the script says first; its errors are %s", errors)
          .contains("128 MB is up");

      expectRestored(demo(0, arguments));
    } finally {
      cluster.destroy();
      assertThat(cluster.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static String[] shortPrompt(String... more) {
    List<String> arguments = new ArrayList<>(List.of("--model", Demanded.model().toString()));
    arguments.addAll(List.of("--tokens", "192", "--answer", "4"));
    arguments.addAll(List.of(more));
    return arguments.toArray(String[]::new);
  }

  private static void expectRestored(List<String> lines) {
    assertThat(lines.get(1)).matches("the prompt +192 +0 +[\\d,]+ ms *");
    assertThat(lines.get(2)).matches("again, in a new process +192 +128 +[\\d,]+ ms +yes");
    assertThat(lines.get(3)).matches("half of it is new, without store +192 +0 +[\\d,]+ ms *");
    assertThat(lines.get(4)).matches("half of it is new +192 +64 +[\\d,]+ ms +yes");
    assertThat(lines).filteredOn(line -> line.contains("#")).hasSize(4);
  }

  @Test
  void demo_noModel_saysSoInOneLine() throws Exception {
    Path missing = scratch.resolve("missing.gguf");

    List<String> lines = demo(2, "--model", missing.toString());

    assertThat(lines).singleElement().asString().contains(missing.toString(), Weights.FETCH);
  }

  /** Returns what it prints where all is well, and else what it prints of errors. */
  private List<String> demo(int status, String... arguments) throws Exception {
    Path output = scratch.resolve("output");
    Path errors = scratch.resolve("errors");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-jar", System.getProperty("engine.jar"), "demo"));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("XDG_CACHE_HOME", scratch.toString());
    Process process =
        builder.redirectOutput(output.toFile()).redirectError(errors.toFile()).start();
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new AssertionError("still running after " + LIMIT_SECONDS + " s: " + command);
    }
    assertThat(process.exitValue()).as(Files.readString(errors)).isEqualTo(status);
    return Files.readAllLines(status == 0 ? output : errors);
  }
}
