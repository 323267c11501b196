package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What {@code .ci/mooncake} makes of the system it runs on, whose programs are played by scripts.
 */
class InstallingTest {
  private static final Path SCRIPT = Path.of("..", ".ci", "mooncake").toAbsolutePath().normalize();

  private static final String NEEDED =
      library("libibverbs.so.1")
          + library("libmlx5.so.1")
          + library("libnuma.so.1")
          + library("librdmacm.so.1");

  private static final String CURL = library("libcurl.so.4");

  @TempDir Path folder = Path.of("set by JUnit");

  private Path home = Path.of("set before each test");
  private Path standIn = Path.of("set before each test");

  @BeforeEach
  void installAllButTheStandIn() throws IOException {
    home = folder.resolve("home");
    standIn = home.resolve("native/nvidia/cu13/lib/libcuda.so.1");
    Files.createDirectories(standIn.getParent());
    Matcher pinned =
        Pattern.compile("(?m)^(?:servers|library|cuda_runtime)=(.+)$")
            .matcher(Files.readString(SCRIPT));
    String wanted = String.join(" ", pinned.results().map(match -> match.group(1)).toList());
    Files.writeString(home.resolve("installed"), wanted);
    Files.createDirectory(folder.resolve("bin"));
    program("cc", "while [ \"$1\" != -o ]; do shift; done; echo stand-in >\"$2\"");
    program("apt-get", "echo \"$@\" >>" + folder.resolve("apt-get.log"));
    program("apt-cache", "[ \"$2\" = libcurl4t64 ]");
    program("dpkg", "exit 1");
    user(1000);
  }

  @Test
  void driver_amongManyLibraries_isSeen() throws Exception {
    libraries(library("libcuda.so.1") + NEEDED + CURL + library("libother.so.1").repeat(100_000));
    Result result = run();
    assertThat(result.status()).as(result.errors()).isZero();
    assertThat(standIn).doesNotExist();
  }

  @Test
  void driver_missing_hasAStandInUntilThereIsOne() throws Exception {
    libraries(NEEDED + CURL + library("libcuda.so.12") + library("xlibcuda.so.1"));
    Result result = run();
    assertThat(result.status()).as(result.errors()).isZero();
    assertThat(result.output()).isEqualTo(home + "\n");
    assertThat(standIn).hasContent("stand-in");
    libraries(NEEDED + CURL + library("libcuda.so.1"));
    assertThat(run().status()).isZero();
    assertThat(standIn).doesNotExist();
  }

  @Test
  void libraries_ofPackagesByAnyName_areEnough() throws Exception {
    libraries(NEEDED + CURL);
    Result result = run();
    assertThat(result.status()).as(result.errors()).isZero();
    user(0);
    assertThat(run().status()).isZero();
    assertThat(folder.resolve("apt-get.log")).doesNotExist();
  }

  @Test
  void libraries_missing_areNamedToOthersThanRoot() throws Exception {
    libraries(NEEDED);
    Result result = run();
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.errors()).contains("libcurl.so.4", "libcurl4", "only root");
  }

  @Test
  void libraries_missing_areInstalledByTheNameThatThePackageHas() throws Exception {
    libraries(library("libibverbs.so.1") + library("libmlx5.so.1") + library("librdmacm.so.1"));
    user(0);
    Result result = run();
    assertThat(result.status()).as(result.errors()).isZero();
    assertThat(Files.readString(folder.resolve("apt-get.log")))
        .containsPattern("install .* libnuma1 libcurl4t64\n");
  }

  private static String library(String name) {
    return "\t" + name + " (libc6,x86-64) => /lib/" + name + "\n";
  }

  /** Has the system's linker find these. */
  private void libraries(String lines) throws IOException {
    Path list = Files.writeString(folder.resolve("libraries"), "found:\n" + lines);
    program("ldconfig", "exec cat " + list);
  }

  private void user(int id) throws IOException {
    program("id", "echo " + id);
  }

  private void program(String name, String commands) throws IOException {
    Path file = folder.resolve("bin").resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + commands + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
  }

  private Result run() throws Exception {
    Path errors = folder.resolve("errors");
    ProcessBuilder builder =
        new ProcessBuilder("bash", SCRIPT.toString()).redirectError(errors.toFile());
    builder.environment().put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
    builder.environment().put("MOONCAKE_TEST_HOME", home.toString());
    builder.environment().remove("CC");
    Process process = builder.start();
    try {
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return new Result(process.waitFor(), output, Files.readString(errors));
    } finally {
      process.destroyForcibly();
    }
  }

  private record Result(int status, String output, String errors) {}
}
