package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.cli.packaging.Distribution.Artifact;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Holds what a jar offers on the class path against what its module offers. */
class ServicesFileIT {
  private static final String FOLDER = "META-INF/services/";

  @ParameterizedTest
  @MethodSource("io.unifiedcache.cli.packaging.Distribution#artifacts")
  void servicesFiles_nameTheProvidersOfTheModule(Artifact artifact) throws IOException {
    assertThat(listed(artifact)).isEqualTo(provided(artifact));
  }

  @Test
  void backends_provideStores() {
    assertThat(Distribution.artifacts())
        .filteredOn(artifact -> artifact.module().name().startsWith("io.unifiedcache.backend."))
        .isNotEmpty()
        .allSatisfy(
            artifact ->
                assertThat(provided(artifact))
                    .containsOnlyKeys("io.unifiedcache.api.store.CacheStoreProvider"));
  }

  private static Map<String, List<String>> provided(Artifact artifact) {
    Map<String, List<String>> providers = new TreeMap<>();
    artifact.module().provides().forEach(p -> providers.put(p.service(), p.providers()));
    return providers;
  }

  private static Map<String, List<String>> listed(Artifact artifact) throws IOException {
    Map<String, List<String>> providers = new TreeMap<>();
    try (JarFile jar = new JarFile(artifact.jar().toFile())) {
      for (JarEntry entry : jar.stream().toList()) {
        String name = entry.getName();
        if (name.startsWith(FOLDER) && !entry.isDirectory()) {
          providers.put(name.substring(FOLDER.length()), providers(jar, entry));
        }
      }
    }
    return providers;
  }

  /** The lines of a services file, comments and blank lines aside. */
  private static List<String> providers(JarFile jar, JarEntry entry) throws IOException {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(jar.getInputStream(entry), StandardCharsets.UTF_8))) {
      return reader
          .lines()
          .map(line -> line.replaceFirst("#.*", "").strip())
          .filter(line -> !line.isEmpty())
          .toList();
    }
  }
}
