package io.unifiedcache.backend.mooncake;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Python program beside this process, which answers each line with one. */
final class OtherPython implements AutoCloseable {
  private static final long END_SECONDS = 30;

  private final Path log;
  private final Process process;
  private final Writer input;
  private final BufferedReader output;

  private OtherPython(Path log, Process process) {
    this.log = log;
    this.process = process;
    input = process.outputWriter(StandardCharsets.UTF_8);
    output = process.inputReader(StandardCharsets.UTF_8);
  }

  /**
   * Starts a program that is a resource beside this class.
   *
   * @param interpreter what runs it
   * @param modules a folder of modules beyond those of the interpreter
   * @param folder where its files go
   */
  static OtherPython start(
      Path interpreter, Path modules, Path folder, String program, List<String> arguments)
      throws IOException {
    Path script = folder.resolve(program);
    try (InputStream source = OtherPython.class.getResourceAsStream(program)) {
      if (source == null) {
        throw new IOException("there is no resource " + program);
      }
      Files.write(script, source.readAllBytes());
    }
    List<String> command = new ArrayList<>(List.of(interpreter.toString(), script.toString()));
    command.addAll(arguments);
    Path log = Files.createTempFile(folder, program, ".log");
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
    builder.environment().put("PYTHONPATH", modules.toString());
    return new OtherPython(log, builder.start());
  }

  /** Tells it a line, and returns what it answers. */
  String ask(String line) {
    try {
      input.write(line + "\n");
      input.flush();
      return nextLine();
    } catch (IOException e) {
      throw new UncheckedIOException(said(), e);
    }
  }

  /** Returns the next line of what it prints. */
  String nextLine() throws IOException {
    String answer = output.readLine();
    if (answer == null) {
      throw new IOException("the program has ended: " + said());
    }
    return answer;
  }

  private String said() {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return e.toString();
    }
  }

  @Override
  public void close() throws IOException {
    try (output) {
      input.close();
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("the program does not end: " + said());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      process.destroyForcibly();
    }
  }
}
