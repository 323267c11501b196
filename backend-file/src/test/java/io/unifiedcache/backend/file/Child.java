package io.unifiedcache.backend.file;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Another JVM with a class of these tests as its main class. */
final class Child implements AutoCloseable {
  /** What begins each line that a child says; libraries say others. */
  static final String MARK = "> ";

  private final Process process;
  private final BufferedReader output;
  private final Writer input;

  /** What it has said otherwise. */
  final List<String> said = new ArrayList<>();

  private Child(Process process) {
    this.process = process;
    this.output = process.inputReader();
    this.input = process.outputWriter();
  }

  static Child start(Class<?> main, Object... arguments) {
    return startWithin("", main, arguments);
  }

  /** Starts one through a shell, which does something before. */
  static Child startWithin(String shellCommand, Class<?> main, Object... arguments) {
    try {
      return new Child(builder(shellCommand, main, arguments).redirectErrorStream(true).start());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns how to start one; the shell command may be empty. */
  static ProcessBuilder builder(String shellCommand, Class<?> main, Object... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m"));
    command.addAll(List.of("-cp", classPath(main), main.getName()));
    for (Object argument : arguments) {
      command.add(argument.toString());
    }
    if (shellCommand.isEmpty()) {
      return new ProcessBuilder(command);
    }
    List<String> shell = new ArrayList<>(List.of("sh", "-c", shellCommand + "; exec \"$@\"", "sh"));
    shell.addAll(command);
    return new ProcessBuilder(shell);
  }

  private static String classPath(Class<?> main) {
    Set<String> entries = new LinkedHashSet<>();
    for (Class<?> each :
        List.of(
            main,
            FileStore.class,
            io.unifiedcache.api.ObjectKey.class,
            org.slf4j.Logger.class,
            org.assertj.core.api.Assertions.class)) {
      entries.add(placeOf(each));
    }
    for (String path : List.of("java.class.path", "jdk.module.path")) {
      entries.addAll(List.of(System.getProperty(path, "").split(File.pathSeparator, -1)));
    }
    entries.remove("");
    return String.join(File.pathSeparator, entries);
  }

  private static String placeOf(Class<?> loaded) {
    String name = loaded.getName().replace('.', '/') + ".class";
    String text = String.valueOf(loaded.getResource("/" + name));
    if (text.startsWith("jar:file:")) {
      return Path.of(URI.create(text.substring("jar:".length(), text.indexOf("!/")))).toString();
    }
    return text.startsWith("file:")
        ? Path.of(URI.create(text.substring(0, text.length() - name.length()))).toString()
        : "";
  }

  /** Returns the next line of its output; null at the end. */
  @Nullable String line() throws IOException {
    String line = output.readLine();
    while (line != null && !line.startsWith(MARK)) {
      said.add(line);
      line = output.readLine();
    }
    return line == null ? null : line.substring(MARK.length());
  }

  /** Says a line to it, and returns what it answers. */
  @Nullable String ask(String line) throws IOException {
    input.write(line + "\n");
    input.flush();
    return line();
  }

  /** Returns all lines that are left, once it has ended. */
  List<String> lines() throws IOException {
    List<String> lines = new ArrayList<>();
    for (String line = line(); line != null; line = line()) {
      lines.add(line);
    }
    return lines;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  void kill() {
    process.destroyForcibly();
    awaitEnd();
  }

  int awaitEnd() {
    try {
      if (!process.waitFor(120, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new AssertionError("a child process did not end");
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
