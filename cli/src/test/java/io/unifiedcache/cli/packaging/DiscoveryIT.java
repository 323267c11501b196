package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.ListAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Finds the backends of the distribution, and one more, in JVMs of their own. */
class DiscoveryIT {
  @TempDir Path scratch = Path.of("");

  @Test
  void modulePath_linkerBindsTheBackends() throws Exception {
    assertQuiet(listOnModulePath(Distribution.LIB.toString()))
        .containsExactly(
            "file from io.unifiedcache.backend.file",
            "memory from io.unifiedcache.backend.memory",
            "mooncake from io.unifiedcache.backend.mooncake");
  }

  @Test
  void classPath_servicesFilesNameTheBackends() throws Exception {
    assertQuiet(listOnClassPath(Distribution.LIB.toString()))
        .containsExactly("file from null", "memory from null", "mooncake from null");
  }

  @Test
  void modulePath_jarWithoutDescriptorJoins() throws Exception {
    Path plugins = pluginFolder();
    assertQuiet(listOnModulePath(Distribution.LIB + File.pathSeparator + plugins))
        .containsExactly(
            "file from io.unifiedcache.backend.file",
            "memory from io.unifiedcache.backend.memory",
            "mooncake from io.unifiedcache.backend.mooncake",
            "plugin from plugin");
  }

  @Test
  void classPath_jarJoins() throws Exception {
    Path plugins = pluginFolder();
    assertQuiet(listOnClassPath(Distribution.LIB.toString(), plugins.toString()))
        .containsExactly(
            "file from null", "memory from null", "mooncake from null", "plugin from null");
  }

  /** The command's module alone is a root: the backends come by its linker's {@code uses}. */
  private ChildJvm listOnModulePath(String modulePath) throws Exception {
    return ChildJvm.java(
        scratch,
        List.of(
            "--module-path",
            modulePath,
            "--add-modules",
            "io.unifiedcache.cli",
            "--class-path",
            Distribution.TEST_CLASSES.toString(),
            ListProviders.class.getName()));
  }

  private ChildJvm listOnClassPath(String... folders) throws Exception {
    List<String> jars = Stream.of(folders).map(folder -> folder + File.separator + "*").toList();
    return ChildJvm.java(
        scratch,
        List.of(
            "--class-path",
            String.join(File.pathSeparator, jars) + File.pathSeparator + Distribution.TEST_CLASSES,
            ListProviders.class.getName()));
  }

  private static ListAssert<String> assertQuiet(ChildJvm jvm) {
    assertThat(jvm.errors()).as("warnings, of native access or else").isEmpty();
    assertThat(jvm.status()).as("status; output: %s", jvm.output()).isZero();
    return assertThat(jvm.output());
  }

  /** A directory with one jar, whose one service is named by a file alone. */
  private Path pluginFolder() throws Exception {
    Path plugins = Files.createDirectory(scratch.resolve("plugins"));
    PluginJar.install(scratch, plugins.resolve("plugin-1.0.jar"), "plugin", /* asModule= */ false);
    return plugins;
  }
}
