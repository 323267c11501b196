package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged demo, with processes of its own. */
class DemoIT {
  private static final long LIMIT_SECONDS = 300;

  @TempDir Path scratch = Path.of("");

  @Test
  void demo_shortPrompt_restoresInNewProcessesAndAnswersAreEqual() throws Exception {
    List<String> lines =
        demo(0, "--model", Demanded.model().toString(), "--tokens", "256", "--answer", "8");

    assertThat(lines.get(1)).matches("the prompt +256 +0 +[\\d,]+ ms *");
    assertThat(lines.get(2)).matches("again, in a new process +256 +192 +[\\d,]+ ms +yes");
    assertThat(lines.get(3)).matches("half of it is new, without store +256 +0 +[\\d,]+ ms *");
    assertThat(lines.get(4)).matches("half of it is new +256 +128 +[\\d,]+ ms +yes");
    assertThat(lines).filteredOn(line -> line.contains("#")).hasSize(4);
  }

  @Test
  void demo_noModel_saysSoInOneLine() throws Exception {
    Path missing = scratch.resolve("missing.gguf");

    List<String> lines = demo(2, "--model", missing.toString());

    assertThat(lines).singleElement().asString().contains(missing.toString(), Weights.FETCH);
  }

  private List<String> demo(int status, String... arguments) throws Exception {
    Path output = scratch.resolve("output");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-jar", System.getProperty("engine.jar"), "demo"));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new AssertionError("still running after " + LIMIT_SECONDS + " s: " + command);
    }
    List<String> lines = Files.readAllLines(output);
    assertThat(process.exitValue()).as(String.join("\n", lines)).isEqualTo(status);
    return lines;
  }
}
