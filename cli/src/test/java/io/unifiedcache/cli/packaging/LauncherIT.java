package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts the packaged command by its script, the way a user does. */
class LauncherIT {
  @TempDir Path scratch = Path.of("");

  @Test
  void version_isThatOfTheBuild() throws Exception {
    ChildJvm command = launch(Distribution.ROOT.resolve("unified-cache"), "--version");
    assertThat(command.errors()).as("warnings, of native access or else").isEmpty();
    assertThat(command.status()).isZero();
    assertThat(command.output())
        .containsExactly("unified-cache " + System.getProperty("project.version"));
  }

  @Test
  void linkFromAnotherFolder_startsTheSame() throws Exception {
    Path script = Distribution.ROOT.resolve("unified-cache").toAbsolutePath();
    Path first = Files.createSymbolicLink(scratch.resolve("first"), script);
    Path second = Files.createSymbolicLink(scratch.resolve("second"), first.getFileName());
    ChildJvm command;
    try {
      command = launch(second, "--help");
    } finally {
      Files.delete(first);
    }
    assertThat(command.errors()).isEmpty();
    assertThat(command.status()).isZero();
    assertThat(command.output()).first().asString().startsWith("Usage: unified-cache");
  }

  @Test
  void wrongOption_endsWithTheCommandsStatus() throws Exception {
    ChildJvm command = launch(Distribution.ROOT.resolve("unified-cache"), "--no-such-option");
    assertThat(command.status()).isEqualTo(2);
    assertThat(command.errors()).first().asString().contains("--no-such-option");
  }

  @Test
  void missingPluginFolder_isNamed() throws Exception {
    String missing = scratch.resolve("missing").toString();
    ProcessBuilder builder =
        builder(scratch, Distribution.ROOT.resolve("unified-cache"), "--version");
    builder.environment().put("UNIFIED_CACHE_PLUGINS", missing);
    ChildJvm command = ChildJvm.run(scratch, builder);
    assertThat(command.status()).isEqualTo(3);
    assertThat(command.errors())
        .containsExactly("unified-cache: UNIFIED_CACHE_PLUGINS is no directory: " + missing);
  }

  @Test
  void unknownDemo_isRefusedInOneLine() throws Exception {
    ChildJvm command = launch(Distribution.ROOT.resolve("unified-cache"), "demo", "gpt");
    assertThat(command.status()).isEqualTo(2);
    assertThat(command.errors())
        .containsExactly("unified-cache: the one demo is 'demo llama' (see demo llama --help).");
  }

  private ChildJvm launch(Path script, String... arguments) throws Exception {
    return ChildJvm.run(scratch, builder(scratch, script, arguments));
  }

  /** Returns the start of the script in a folder, on the JDK of this test. */
  static ProcessBuilder builder(Path scratch, Path script, String... arguments) {
    List<String> command = new ArrayList<>(List.of(script.toAbsolutePath().toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).directory(scratch.toFile());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("UNIFIED_CACHE_BUILD", "never");
    builder
        .environment()
        .keySet()
        .removeAll(List.of("UNIFIED_CACHE_PLUGINS", "UNIFIED_CACHE_JAVA_OPTS"));
    return builder;
  }
}
