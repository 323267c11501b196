package io.unifiedcache.examples.llama;

import io.unifiedcache.linker.SettingsSources;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that say how a backend is set up. */
final class StoreSettings {
  private static final String MOONCAKE = "mooncake";

  /** What names a cluster of Mooncake, one way or the other. */
  private static final List<String> CLUSTER = List.of("master_server_address=", "config=");

  @Option(
      names = "-o",
      paramLabel = "KEY=VALUE",
      description = "A setting of the backend or the linker.")
  private List<String> assignments = new ArrayList<>();

  @Option(
      names = "--settings",
      paramLabel = "FILE",
      description =
          "A properties file with settings (default: for mooncake that of the cluster which"
              + " './unified-cache mooncake-dev' runs, if it does and -o names no other).")
  private @Nullable Path file;

  /** Returns where the settings of a backend come from. */
  SettingsSources of(String backend) {
    SettingsSources given =
        SettingsSources.none().environment(System.getenv()).commandLine(assignments);
    if (file != null) {
      return given.file(file);
    }
    // The script mooncake-dev has it there for as long as its cluster runs.
    Path running = CacheFolder.file("mooncake-dev.properties");
    boolean named =
        assignments.stream().anyMatch(each -> CLUSTER.stream().anyMatch(each::startsWith));
    return backend.equals(MOONCAKE) && !named && Files.exists(running)
        ? given.file(running)
        : given;
  }

  /** Returns these options as a command line. */
  List<String> toArguments() {
    List<String> arguments = new ArrayList<>();
    for (String assignment : assignments) {
      arguments.addAll(List.of("-o", assignment));
    }
    if (file != null) {
      arguments.addAll(List.of("--settings", file.toString()));
    }
    return arguments;
  }
}
