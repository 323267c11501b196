package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The jars of the distribution, as the build has packaged them. */
final class Distribution {
  /** The folder of all jars, the project's and those of the libraries. */
  static final Path LIB = Path.of(required("dist.lib"));

  /** The folder of the project. */
  static final Path ROOT = Path.of(required("project.root"));

  /** The compiled tests of this module. */
  static final Path TEST_CLASSES = Path.of(required("test.classes"));

  private Distribution() {}

  /** The project's own artifacts, in the order of their modules' names; never empty. */
  static List<Artifact> artifacts() {
    try (Stream<Path> jars = Files.list(LIB)) {
      List<Artifact> artifacts =
          jars.filter(jar -> jar.getFileName().toString().startsWith("unified-cache-"))
              .map(jar -> new Artifact(jar, descriptor(jar)))
              .sorted(Comparator.comparing(artifact -> artifact.module().name()))
              .toList();
      assertThat(artifacts).isNotEmpty();
      return artifacts;
    } catch (IOException e) {
      throw new AssertionError("cannot list " + LIB, e);
    }
  }

  private static ModuleDescriptor descriptor(Path jar) {
    return ModuleFinder.of(jar).findAll().iterator().next().descriptor();
  }

  private static String required(String property) {
    String value = System.getProperty(property);
    if (value == null) {
      throw new IllegalStateException("the build sets the system property " + property);
    }
    return value;
  }

  /** One of the project's jars and the module that it holds. */
  record Artifact(Path jar, ModuleDescriptor module) {
    @Override
    public String toString() {
      return module.name();
    }
  }
}
