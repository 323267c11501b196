package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Builds the sample backend as a project outside of this one, from artifacts in a repository, and
 * runs the suite on it in every way that the guide names.
 */
class BackendSampleIT {
  private static final String GROUP = "io/unifiedcache";
  private static final String VERSION = System.getProperty("project.version");
  private static final Path SAMPLE = Distribution.ROOT.resolve("examples/backend-sample");
  private static final Pattern SNIPPET = Pattern.compile("(?s)```(?:java|xml)\n(.*?)```");

  @TempDir Path scratch = Path.of("");

  @Test
  void sample_builtOutside_isConformantInEveryWay() throws Exception {
    Path project = copy(SAMPLE, scratch.resolve("folder-store"));
    Path repository = scratch.resolve("repository");
    for (String module : List.of("api", "linker-core", "conformance-tests")) {
      deploy(repository, "unified-cache-" + module, Distribution.ROOT.resolve(module));
    }
    deploy(repository, "unified-cache-parent", Distribution.ROOT);

    ChildJvm maven = maven(project, repository);

    String log = String.join("\n", maven.output());
    assertThat(maven.status()).as(log).isZero();
    assertThat(log)
        .contains("Running org.example.folder.FolderStoreConformanceTest")
        .contains("Running io.unifiedcache.conformance.NamedBackendConformanceTest");
    expectConformant(project.resolve("target/conformance/conformance-report.json"));
    expectConformantByCommand(project);
  }

  private void expectConformantByCommand(Path project) throws Exception {
    Path plugins = Files.createDirectory(scratch.resolve("plugins"));
    Files.copy(
        project.resolve("target/folder-store-1.0.0.jar"), plugins.resolve("folder-store.jar"));
    ProcessBuilder command =
        new ProcessBuilder(
            Distribution.ROOT.resolve("unified-cache").toString(),
            "conform",
            "--quick",
            "--backend",
            "folder",
            "-o",
            "root=" + scratch.resolve("objects"),
            "--report-dir",
            scratch.resolve("report").toString());
    command.environment().put("UNIFIED_CACHE_PLUGINS", plugins.toString());
    command.environment().put("UNIFIED_CACHE_BUILD", "never");

    ChildJvm run = ChildJvm.run(scratch, command);

    assertThat(run.status()).as(String.join("\n", run.output())).isZero();
    assertThat(run.output().getLast()).startsWith("folder: conformant in a quick run (");
    expectConformant(scratch.resolve("report/conformance-report.json"));
    try (Stream<Path> left = Files.list(scratch.resolve("objects"))) {
      assertThat(left).as("objects that the suite has left").isEmpty();
    }
  }

  private static void expectConformant(Path report) throws IOException {
    JsonObject json = JsonParser.parseString(Files.readString(report)).getAsJsonObject();
    assertThat(json.get("result").getAsString())
        .as(json.get("reasons").toString())
        .isEqualTo("conformant");
    assertThat(json.get("backend").getAsString()).isEqualTo("folder");
    assertThat(json.getAsJsonObject("counts").get("passed").getAsInt()).isGreaterThan(40);
  }

  private ChildJvm maven(Path project, Path repository) throws Exception {
    Path settings = Files.writeString(scratch.resolve("settings.xml"), settings(repository));
    ProcessBuilder maven =
        new ProcessBuilder(
                Path.of(System.getProperty("maven.home"), "bin", "mvn").toString(),
                "-B",
                "-ntp",
                "-s",
                settings.toString(),
                "-Dmaven.repo.local=" + scratch.resolve("local"),
                "-Dconformance.quick=true",
                "verify")
            .directory(project.toFile());
    maven.environment().put("JAVA_HOME", System.getProperty("java.home"));
    maven.environment().remove("MAVEN_OPTS");
    return ChildJvm.run(scratch, maven);
  }

  /** Whatever the build of this project has fetched comes from its own local repository. */
  private static String settings(Path repository) {
    return """
    <settings>
      <mirrors>
        <mirror><id>fetched</id><mirrorOf>central</mirrorOf><url>%s</url></mirror>
      </mirrors>
      <profiles>
        <profile>
          <id>built</id>
          <repositories>
            <repository>
              <id>built</id>
              <url>%s</url>
              <releases><enabled>false</enabled></releases>
              <snapshots><enabled>true</enabled></snapshots>
            </repository>
          </repositories>
        </profile>
      </profiles>
      <activeProfiles><activeProfile>built</activeProfile></activeProfiles>
    </settings>
    """
        .formatted(Path.of(System.getProperty("local.repository")).toUri(), repository.toUri());
  }

  private static void deploy(Path repository, String artifact, Path module) throws IOException {
    Path folder = repository.resolve(GROUP).resolve(artifact).resolve(VERSION);
    Files.createDirectories(folder);
    String name = artifact + "-" + VERSION;
    Files.copy(module.resolve("pom.xml"), folder.resolve(name + ".pom"));
    Path jar = module.resolve("target").resolve(name + ".jar");
    if (!artifact.endsWith("-parent")) {
      Files.copy(jar, folder.resolve(name + ".jar"));
    }
  }

  private static Path copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Path relative = from.relativize(file);
        if (!relative.startsWith("target")) {
          Files.copy(file, to.resolve(relative.toString()), StandardCopyOption.REPLACE_EXISTING);
        }
      }
    }
    return to;
  }

  @Test
  void snippetsOfTheGuide_arePartsOfTheSample() throws Exception {
    Map<Path, String> sources = new TreeMap<>();
    try (Stream<Path> files = Files.walk(SAMPLE)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        if (file.toString().matches(".*(\\.java|pom\\.xml)")) {
          sources.put(file, Files.readString(file));
        }
      }
    }
    List<String> snippets = new ArrayList<>();
    Matcher guide =
        SNIPPET.matcher(Files.readString(Distribution.ROOT.resolve("docs/writing-a-backend.md")));
    while (guide.find()) {
      snippets.add(guide.group(1));
    }

    assertThat(snippets).hasSizeGreaterThan(8);
    assertThat(snippets)
        .allSatisfy(
            snippet -> assertThat(sources.values()).anyMatch(source -> source.contains(snippet)));
  }
}
