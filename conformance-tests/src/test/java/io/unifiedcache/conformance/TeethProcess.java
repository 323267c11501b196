package io.unifiedcache.conformance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A process that tries some of the broken ones, one after the other. */
final class TeethProcess implements AutoCloseable {
  private @Nullable Process process;
  private final Map<Integer, CompletableFuture<String>> problems = new HashMap<>();

  /** Starts the process. */
  void start(Class<? extends Teeth> teeth, List<Integer> places) throws IOException {
    places.forEach(place -> problems.put(place, new CompletableFuture<>()));
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // A heap that is kept small hides no leak of other memory.
    command.addAll(
        List.of("--enable-native-access=ALL-UNNAMED", "-ea", "-XX:+UseSerialGC", "-Xms16m"));
    String seed = System.getProperty(Teeth.SEED);
    if (seed != null) {
      command.add("-D" + Teeth.SEED + "=" + seed);
    }
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(TeethProcess.class.getName(), teeth.getName()));
    places.forEach(place -> command.add(place.toString()));
    Process started =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    process = started;
    Thread.ofPlatform().daemon().name("teeth").start(() -> follow(started));
  }

  private void follow(Process started) {
    try (BufferedReader lines = started.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] answer = line.split(" ", -1);
        problem(Integer.parseInt(answer[0]))
            .complete(new String(Base64.getDecoder().decode(answer[1]), StandardCharsets.UTF_8));
      }
    } catch (IOException | RuntimeException e) {
      // Also where a line is no answer: whoever waits is told.
      problems.values().forEach(each -> each.completeExceptionally(e));
    }
    problems.values().forEach(each -> each.complete("the process that was to try it has ended"));
  }

  private CompletableFuture<String> problem(int place) {
    CompletableFuture<String> problem = problems.get(place);
    if (problem == null) {
      throw new IllegalArgumentException("place " + place + " is tried by another process");
    }
    return problem;
  }

  /** Waits for one of its broken ones, and returns what is wrong with it; empty if nothing is. */
  String problemOf(int place) {
    return problem(place).join();
  }

  @Override
  public void close() {
    Process started = process;
    if (started == null) {
      return;
    }
    try {
      // It deletes its folders when it ends, which it does by itself when all have been tried.
      if (!started.waitFor(20, TimeUnit.SECONDS)) {
        started.destroyForcibly();
      }
    } catch (InterruptedException e) {
      started.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  /** Tries what the arguments say: a class and which of its broken ones. */
  public static void main(String[] args) throws ReflectiveOperationException {
    PrintStream answers = System.out;
    // Whatever else is said is not an answer.
    System.setOut(System.err);
    Teeth teeth =
        Class.forName(args[0]).asSubclass(Teeth.class).getDeclaredConstructor().newInstance();
    List<Mutant> all = teeth.all().toList();
    for (int i = 1; i < args.length; i++) {
      int place = Integer.parseInt(args[i]);
      String problem = "";
      try {
        Teeth.check(all.get(place));
      } catch (AssertionError | RuntimeException e) {
        problem = e.toString();
      }
      answers.println(
          place
              + " "
              + Base64.getEncoder().encodeToString(problem.getBytes(StandardCharsets.UTF_8)));
      if (answers.checkError()) {
        throw new UncheckedIOException(new IOException("nobody listens any more"));
      }
    }
    // Threads of what is broken may go on for ever.
    System.exit(0);
  }
}
