package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts the packaged command by its script with plug-ins, sound and broken ones. */
class PluginsIT {
  private final Path scratch;
  private final Path plugins;

  PluginsIT(@TempDir Path scratch) {
    this.scratch = scratch;
    plugins = scratch.resolve("plugins");
  }

  @BeforeEach
  void createDirectory() throws Exception {
    Files.createDirectory(plugins);
  }

  private ChildJvm launch(String... arguments) throws Exception {
    return launch(List.of(), arguments);
  }

  private ChildJvm launch(List<String> variables, String... arguments) throws Exception {
    ProcessBuilder builder =
        LauncherIT.builder(scratch, Distribution.ROOT.resolve("unified-cache"), arguments);
    builder.environment().put("UNIFIED_CACHE_PLUGINS", plugins.toString());
    for (int i = 0; i < variables.size(); i += 2) {
      builder.environment().put(variables.get(i), variables.get(i + 1));
    }
    return ChildJvm.run(scratch, builder);
  }

  private Path breakOne() throws Exception {
    return Files.writeString(plugins.resolve("broken.jar"), "this is no jar");
  }

  @Test
  void backends_showsPlugins_andExitsWith3BesideABrokenOne() throws Exception {
    PluginJar.install(scratch, plugins.resolve("plain.jar"), "plain", /* asModule= */ false);
    PluginJar.install(scratch, plugins.resolve("module.jar"), "modular", /* asModule= */ true);

    ChildJvm sound = launch("backends");
    assertThat(sound.errors()).isEmpty();
    assertThat(sound.status()).isZero();
    assertThat(sound.output()).contains("memory", "file", "mooncake", "plain", "modular");

    Path broken = breakOne();
    ChildJvm command = launch("backends");
    assertThat(command.status()).isEqualTo(3);
    assertThat(command.errors()).isEmpty();
    assertThat(command.output())
        .contains("memory", "file", "mooncake", "plain", "modular")
        .contains("  from          " + broken)
        .anySatisfy(line -> assertThat(line).contains("reason", "ZipException"));
  }

  @Test
  void brokenPlugin_othersAreServed_andItIsNamed() throws Exception {
    Path broken = breakOne();
    Path root = Files.createDirectory(scratch.resolve("objects"));

    ChildJvm served = launch("conform", "--quick", "--rule", "settings.", "--backend", "memory");
    assertThat(served.status()).as(String.join("\n", served.output())).isEqualTo(2);
    assertThat(served.output()).anyMatch(line -> line.contains("passed"));
    assertThat(served.errors())
        .singleElement()
        .asString()
        .startsWith("unified-cache: warning: ")
        .contains(broken.toString(), "ZipException");

    for (String command : List.of("verify", "stat", "conform", "replay")) {
      ChildJvm missing = launch(command, "--backend", "broken", "-o", "root=" + root);
      assertThat(missing.status()).as(command).isEqualTo(3);
      assertThat(missing.errors())
          .singleElement()
          .asString()
          .startsWith("unified-cache " + command + ": there is no backend \"broken\"")
          .contains(broken.toString(), "ZipException");
    }
  }

  @Test
  void javaThatDoesNotStart_exitsWith3() throws Exception {
    ChildJvm command =
        launch(List.of("UNIFIED_CACHE_JAVA_OPTS", "-XX:+NoSuchOption"), "verify", "--help");

    assertThat(command.status()).isEqualTo(3);
    assertThat(command.errors()).anyMatch(line -> line.contains("NoSuchOption"));
    assertThat(command.errors())
        .last()
        .asString()
        .startsWith("unified-cache: Java does not start (see above)");
  }

  @Test
  void besideAServiceOfKubernetes_commandsWork() throws Exception {
    List<String> variables = new ArrayList<>();
    variables.addAll(List.of("UNIFIED_CACHE_PORT", "tcp://10.96.14.3:80"));
    variables.addAll(List.of("UNIFIED_CACHE_SERVICE_HOST", "10.96.14.3"));
    variables.addAll(List.of("UNIFIED_CACHE_SERVICE_PORT", "80"));
    variables.addAll(List.of("UNIFIED_CACHE_PORT_80_TCP_ADDR", "10.96.14.3"));

    ChildJvm command = launch(variables, "stat", "--backend", "file", "-o", "root=" + plugins);

    assertThat(command.errors()).noneMatch(line -> line.contains("UNIFIED_CACHE_"));
    assertThat(command.status()).as(String.join("\n", command.errors())).isNotEqualTo(3);
  }
}
