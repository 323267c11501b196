package io.unifiedcache.conformance.store;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import io.unifiedcache.linker.Backends;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Another process that has the store under test open, and does with it what it is asked.
 *
 * <p>Used by one thread.
 */
final class OtherProcess implements AutoCloseable {
  /** What stands for the end of its answers. */
  private static final String END = "";

  private static final int SHOWN_CHARS = 4_000;

  private final Process process;
  private final Writer requests;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

  /** Guarded by itself. */
  private final StringBuilder said = new StringBuilder();

  private final boolean ours;
  private boolean started;

  private OtherProcess(Process process, boolean ours) {
    this.process = process;
    this.ours = ours;
    this.requests = process.outputWriter(StandardCharsets.UTF_8);
    follow("answers", process.getInputStream(), this::hear, () -> answers.add(END));
    follow("errors", process.getErrorStream(), this::keep, () -> {});
  }

  /**
   * Starts one, which begins to open the store; {@link #awaitReady} waits for it. It is ended after
   * the rule.
   *
   * @throws RuntimeException that says that the rule needs a hook, where there is no way
   */
  static OtherProcess start(Trial trial) {
    StoreUnderTest subject = trial.subject();
    Supplier<ProcessBuilder> hook = subject.process().orElse(null);
    if (hook == null && !subject.isNamed()) {
      throw trial.noHook("another process that opens the store: StoreUnderTest.withProcess");
    }
    ProcessBuilder builder = hook == null ? named(subject) : hook.get();
    OtherProcess other;
    try {
      other = new OtherProcess(builder.redirectErrorStream(false).start(), hook == null);
    } catch (IOException e) {
      throw new UncheckedIOException("another process cannot be started", e);
    }
    trial.cleanup(other);
    if (hook == null) {
      other.send(StoreServer.line(subject.settings()));
    }
    return other;
  }

  /** A JVM that finds what this one has found. */
  private static ProcessBuilder named(StoreUnderTest subject) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of("--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-Xshare:auto"));
    String libraries = System.getProperty("java.library.path");
    if (libraries != null && !libraries.isEmpty()) {
      command.add("-Djava.library.path=" + libraries);
    }
    Module own = StoreServer.class.getModule();
    if (own.isNamed()) {
      // Modules of plug-ins need ours, and may need any of the JDK.
      command.addAll(
          List.of(
              "--module-path",
              System.getProperty("jdk.module.path", ""),
              "--add-modules",
              "ALL-DEFAULT",
              "-m",
              own.getName() + "/" + StoreServer.class.getName()));
    } else {
      command.addAll(
          List.of("-cp", classPath(subject.provider().getClass()), StoreServer.class.getName()));
    }
    command.addAll(List.of("--backend", subject.name()));
    for (Path plugins : subject.backends().plugins()) {
      command.addAll(List.of("--plugins", plugins.toString()));
    }
    return new ProcessBuilder(command);
  }

  private static String classPath(Class<?> provider) {
    Set<String> entries = new LinkedHashSet<>();
    // Those first that a class loader of its own may have found elsewhere.
    for (Class<?> each : List.of(provider, StoreServer.class, Backends.class, CacheStore.class)) {
      entries.add(placeOf(each));
    }
    for (String path : List.of("java.class.path", "jdk.module.path")) {
      for (String entry : System.getProperty(path, "").split(File.pathSeparator, -1)) {
        entries.add(entry);
        if (Files.isDirectory(Path.of(entry))) {
          // A folder of modules is written so on a class path.
          entries.add(entry + File.separator + "*");
        }
      }
    }
    entries.remove("");
    return String.join(File.pathSeparator, entries);
  }

  /** Returns the jar or folder that a class was loaded from; empty if it is in neither. */
  static String placeOf(Class<?> loaded) {
    String name = loaded.getName().replace('.', '/') + ".class";
    URL url = loaded.getResource("/" + name);
    String text = url == null ? "" : url.toString();
    if (text.startsWith("jar:file:") && text.contains("!/")) {
      return Path.of(URI.create(text.substring("jar:".length(), text.indexOf("!/")))).toString();
    }
    if (text.startsWith("file:") && text.endsWith(name)) {
      return Path.of(URI.create(text.substring(0, text.length() - name.length()))).toString();
    }
    return "";
  }

  private static void follow(
      String what, InputStream stream, Consumer<String> listener, Runnable atEnd) {
    Thread.ofPlatform()
        .daemon()
        .name("conformance-" + what + "-of-a-process")
        .start(
            () -> {
              try (BufferedReader lines =
                  new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                  listener.accept(line);
                }
              } catch (IOException e) {
                listener.accept("(" + what + " cannot be read: " + e + ")");
              } finally {
                atEnd.run();
              }
            });
  }

  private void hear(String line) {
    if (line.startsWith(StoreServer.MARK)) {
      answers.add(line.substring(StoreServer.MARK.length()));
    } else {
      keep(line);
    }
  }

  private void keep(String line) {
    synchronized (said) {
      if (said.length() < SHOWN_CHARS) {
        said.append(line).append(" | ");
      }
    }
  }

  /** Waits until it has opened the store. Fails the rule if it does not. */
  void awaitReady() {
    String first = firstAnswer();
    if (!first.equals(StoreServer.READY)) {
      throw new Violation("another process to open the store", described(first));
    }
  }

  private String firstAnswer() {
    String first = answer();
    if (first.equals(StoreServer.STARTED)) {
      started = true;
      first = answer();
    }
    if (ours && !started) {
      throw new IllegalStateException("another process did not start: " + described(first));
    }
    return first;
  }

  private String described(String answer) {
    String end = answer.equals(END) ? "it has ended" : answer;
    synchronized (said) {
      return said.isEmpty() ? end : end + "; it said: " + said;
    }
  }

  /** Returns the id of the process. */
  long pid() {
    return process.pid();
  }

  /** Sends a request, whose answer {@link #answer} returns in its turn. */
  void send(String request) {
    try {
      requests.write(request + "\n");
      requests.flush();
    } catch (IOException e) {
      // It has ended, as the missing answer will tell.
      keep("a request could not be sent: " + e);
    }
  }

  void sendPut(ObjectKey key, long content, long bytes) {
    send("put " + StoreServer.encoded(key.value()) + " " + content + " " + bytes);
  }

  void sendGet(ObjectKey key, long bytes) {
    send("get " + StoreServer.encoded(key.value()) + " " + bytes);
  }

  /** Returns the next answer, empty where there is none any more. */
  String answer() {
    try {
      String answer = answers.poll(2 * Trial.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      if (answer == null) {
        throw new Violation(
            "another process to answer within " + 2 * Trial.PATIENCE.toSeconds() + " s",
            described("it has not"));
      }
      if (answer.equals(END)) {
        answers.add(END);
      }
      return answer;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Sends one request and returns its answer. Fails the rule if the process has ended. */
  String ask(String verb, ObjectKey key, long... numbers) {
    StringBuilder request =
        new StringBuilder(verb).append(' ').append(StoreServer.encoded(key.value()));
    for (long number : numbers) {
      request.append(' ').append(number);
    }
    send(request.toString());
    return servedAnswer();
  }

  /** Returns the next answer. Fails the rule if the process has ended. */
  String servedAnswer() {
    String answer = answer();
    if (answer.equals(END)) {
      throw new Violation("another process to answer", described(answer));
    }
    return answer;
  }

  /** Ends it as a power switch would, and waits until it is gone. */
  void kill() {
    process.destroyForcibly();
    awaitExit();
  }

  private boolean awaitExit() {
    try {
      return process.waitFor(Trial.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Has it close the store and end. */
  @Override
  public void close() {
    try {
      requests.close();
    } catch (IOException e) {
      keep("its requests could not be ended: " + e);
    }
    if (!awaitExit()) {
      kill();
    }
  }
}
