package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;

/** Jars with a backend that is no part of the distribution. */
final class PluginJar {
  private static final String SOURCE =
      """
      package %1$s;

      import io.unifiedcache.api.config.Option;
      import io.unifiedcache.api.config.Settings;
      import io.unifiedcache.api.store.CacheStore;
      import io.unifiedcache.api.store.CacheStoreProvider;
      import io.unifiedcache.api.store.Capability;
      import io.unifiedcache.api.store.StoreContext;

      public final class PluginProvider implements CacheStoreProvider {
        @Override public String name() { return "%1$s"; }
        @Override public java.util.List<Option<?>> options() { return java.util.List.of(); }
        @Override public java.util.Set<Capability> capabilities() { return java.util.Set.of(); }
        @Override public CacheStore open(Settings settings, StoreContext context) {
          throw new AssertionError("to find a backend opens no store");
        }
      }
      """;

  private PluginJar() {}

  /**
   * Writes a jar with a backend.
   *
   * @param name of the backend and of its package
   * @param asModule whether a module descriptor names the provider, in place of a service file
   */
  static void install(Path scratch, Path jar, String name, boolean asModule) throws Exception {
    Path root = scratch.resolve("source-" + name);
    Path source = Files.createDirectories(root.resolve(name));
    Path classes = scratch.resolve("classes-" + name);
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--module-path",
                Distribution.LIB.toString(),
                "--add-modules",
                "io.unifiedcache.api",
                "-d",
                classes.toString(),
                Files.writeString(source.resolve("PluginProvider.java"), SOURCE.formatted(name))
                    .toString()));
    if (asModule) {
      String descriptor =
          """
          module %1$s {
            requires io.unifiedcache.api;
            requires java.sql; // which the command does not need
            provides io.unifiedcache.api.store.CacheStoreProvider with %1$s.PluginProvider;
          }
          """;
      arguments.add(
          Files.writeString(root.resolve("module-info.java"), descriptor.formatted(name))
              .toString());
    } else {
      Path services = Files.createDirectories(classes.resolve("META-INF/services"));
      Files.writeString(
          services.resolve("io.unifiedcache.api.store.CacheStoreProvider"),
          name + ".PluginProvider\n");
    }
    tool("javac", arguments.toArray(String[]::new));
    tool("jar", "--create", "--file", jar.toString(), "-C", classes.toString(), ".");
  }

  private static void tool(String name, String... arguments) {
    ToolProvider tool = ToolProvider.findFirst(name).orElseThrow();
    assertThat(tool.run(System.out, System.err, arguments)).as(name).isZero();
  }
}
