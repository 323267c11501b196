package io.unifiedcache.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Another store in a process of its own, which is told line by line what to do.
 *
 * <p>{@code prepare ROUND OBJECT BATCH} names the bytes of a round and of an object, and the
 * objects of a batch; {@code put} stores all objects of a round under keys that it has not, {@code
 * get} reads all of them back. Each is answered by one line: the nanoseconds that the store's own
 * calls took, or {@code 0}. The process ends with its input.
 */
final class PeerProcess implements AutoCloseable {
  private final Process process;
  private final Writer input;
  private final BufferedReader output;

  PeerProcess(List<String> command) throws IOException {
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    input = process.outputWriter(StandardCharsets.US_ASCII);
    output = process.inputReader(StandardCharsets.US_ASCII);
  }

  void prepare(long roundBytes, long objectBytes, int batch) {
    var unused = nanos("prepare " + roundBytes + " " + objectBytes + " " + batch);
  }

  long put() {
    return nanos("put");
  }

  long get() {
    return nanos("get");
  }

  /** Returns the nanoseconds that something took. */
  long nanos(String line) {
    return Long.parseLong(ask(line));
  }

  /** Returns what a line is answered with. */
  String ask(String line) {
    try {
      input.write(line + "\n");
      input.flush();
      String answer = output.readLine();
      if (answer == null) {
        throw new IllegalStateException("the other store's process has ended");
      }
      return answer;
    } catch (IOException e) {
      throw new UncheckedIOException("no answer to " + line, e);
    }
  }

  @Override
  public void close() throws IOException {
    input.close();
    try {
      int unused = process.waitFor();
    } catch (InterruptedException e) {
      process.destroy();
      Thread.currentThread().interrupt();
    }
  }
}
