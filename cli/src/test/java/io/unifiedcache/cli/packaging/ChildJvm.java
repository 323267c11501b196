package io.unifiedcache.cli.packaging;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process that has ended: its status and what it wrote. */
record ChildJvm(int status, List<String> output, List<String> errors) {
  private static final long LIMIT_SECONDS = 300;

  /** Runs the JDK of this test with {@code arguments}. */
  static ChildJvm java(Path scratch, List<String> arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(arguments);
    return run(scratch, new ProcessBuilder(command));
  }

  /** Runs a process whose output goes to files in the folder {@code scratch}. */
  static ChildJvm run(Path scratch, ProcessBuilder builder) throws Exception {
    Path output = Files.createTempFile(scratch, "output", ".txt");
    Path errors = Files.createTempFile(scratch, "errors", ".txt");
    // With one of these set, a JVM says so on standard error.
    builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
    Process process =
        builder.redirectOutput(output.toFile()).redirectError(errors.toFile()).start();
    process.getOutputStream().close();
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new AssertionError("still running after " + LIMIT_SECONDS + " s: " + builder.command());
    }
    return new ChildJvm(process.exitValue(), lines(output), lines(errors));
  }

  private static List<String> lines(Path file) throws IOException {
    return Files.readAllLines(file, StandardCharsets.UTF_8);
  }
}
