package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.cli.packaging.Distribution.Artifact;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares {@code jar --describe-module} of every artifact with the text kept in {@code
 * modules/MODULE.txt}: an export, a requirement or a service that was not meant fails here.
 *
 * <p>Where a change is meant, replace the kept text by the one that the failure shows.
 */
class ModuleDescriptorIT {
  @ParameterizedTest
  @MethodSource("io.unifiedcache.cli.packaging.Distribution#artifacts")
  void descriptor_isTheKeptOne(Artifact artifact) throws Exception {
    String described = described(artifact);
    assertThat(described)
        .as("of %s; where this is meant, keep this text:%n%s", artifact, described)
        .isEqualTo(kept(artifact.module().name()));
  }

  @Test
  void artifacts_areTheModulesOfTheProject() {
    assertThat(Distribution.artifacts())
        .extracting(artifact -> artifact.module().name())
        .containsExactly(
            "io.unifiedcache.api",
            "io.unifiedcache.backend.file",
            "io.unifiedcache.backend.memory",
            "io.unifiedcache.backend.mooncake",
            "io.unifiedcache.cli",
            "io.unifiedcache.conformance",
            "io.unifiedcache.linker");
  }

  /** The module's name without its version, then the sorted lines of the jar tool. */
  private static String described(Artifact artifact) {
    ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(bytes, /* autoFlush= */ true, StandardCharsets.UTF_8);
    int status = jar.run(stream, stream, "--describe-module", "--file", artifact.jar().toString());
    String text = bytes.toString(StandardCharsets.UTF_8);
    assertThat(status).as(text).isZero();
    List<String> lines = text.lines().filter(line -> !line.isBlank()).toList();
    assertThat(lines.getFirst()).startsWith(artifact.module().name() + "@");
    return lines.stream()
        .skip(1)
        .sorted()
        .collect(Collectors.joining("\n", artifact.module().name() + "\n", "\n"));
  }

  private static String kept(String module) throws Exception {
    String file = "modules/" + module + ".txt";
    try (InputStream stream = ModuleDescriptorIT.class.getResourceAsStream(file)) {
      return stream == null
          ? "(no file " + file + ")"
          : new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
