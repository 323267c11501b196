package io.unifiedcache.examples.llama;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Asks the same prompt in one process after another. */
@Command(
    name = "demo",
    description = {
      "Asks a long prompt, asks it again in a new process, and then asks one that shares half of"
          + " it; shows what came from the store and how long the first token took.",
      "Exit status: 0 if answers are equal with and without the store, 1 if they are not."
    },
    mixinStandardHelpOptions = true)
final class DemoCommand implements Callable<Integer> {
  private static final int DIFFERENT = 1;
  private static final int BAR = 40;
  private static final String FILE_BACKEND = "file";

  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin private EngineOptions options = new EngineOptions();

  @Option(
      names = "--backend",
      paramLabel = "NAME",
      defaultValue = FILE_BACKEND,
      description =
          "The backend (default: ${DEFAULT-VALUE}, in a folder that is deleted again unless"
              + " -o root= names one).")
  private String backend = "";

  @Mixin private StoreSettings settings = new StoreSettings();

  @Option(
      names = "--salt",
      paramLabel = "TEXT",
      description =
          "Only pages with the same salt are used (default: a new one, so that the first answer is"
              + " computed whatever the store has).")
  private String salt = UUID.randomUUID().toString();

  @Option(
      names = "--tokens",
      paramLabel = "N",
      defaultValue = "1500",
      description = "Tokens of the prompt (default: ${DEFAULT-VALUE}).")
  private int tokens;

  /** A line of the table. */
  private record Line(String name, Outcome outcome, String equal) {}

  @Override
  public Integer call() throws Exception {
    if (!Files.isReadable(options.model())) {
      throw new IllegalArgumentException(
          "the model cannot be read: %s; this fetches it, if its terms suit you: %s"
              .formatted(options.model(), Weights.FETCH));
    }
    Path scratch = Files.createTempDirectory("llama-engine");
    try {
      return run(scratch);
    } finally {
      delete(scratch);
    }
  }

  private int run(Path scratch) throws Exception {
    List<String> store = store(scratch);
    String prompt = TokenRanges.first(tokens).text();
    String half = TokenRanges.first(tokens / 2).and(tokens, tokens + tokens - tokens / 2).text();

    Path one = ask(scratch.resolve("one"), store, "--tokens", prompt, "--plain", half);
    Path two = ask(scratch.resolve("two"), store, "--tokens", prompt, "--tokens", half);
    Outcome first = Outcome.read(one.resolve("0"));
    Outcome again = Outcome.read(two.resolve("0"));
    Outcome plain = Outcome.read(one.resolve(AskCommand.PLAIN));
    Outcome shared = Outcome.read(two.resolve("1"));

    boolean againEqual = again.answer().equals(first.answer());
    boolean sharedEqual = shared.answer().equals(plain.answer());
    print(
        List.of(
            new Line("the prompt", first, ""),
            new Line("again, in a new process", again, againEqual ? "yes" : "NO"),
            new Line("half of it is new, without store", plain, ""),
            new Line("half of it is new", shared, sharedEqual ? "yes" : "NO")));
    return againEqual && sharedEqual ? 0 : DIFFERENT;
  }

  private List<String> store(Path scratch) {
    List<String> store = new ArrayList<>(List.of("--backend", backend));
    if (backend.equals(FILE_BACKEND)) {
      store.addAll(List.of("-o", "root=" + scratch.resolve("store"), "-o", "capacity=1GiB"));
    }
    store.addAll(List.of("--salt", salt));
    store.addAll(settings.toArguments());
    return store;
  }

  /** Asks in a process of its own; returns the folder in which the outcomes are. */
  private Path ask(Path outcomes, List<String> store, String... prompts) throws Exception {
    Files.createDirectory(outcomes);
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(Main.class.getName(), "ask", "--outcomes", outcomes.toString()));
    command.addAll(List.of(prompts));
    command.addAll(options.toArguments());
    command.addAll(store);
    ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
    // Mooncake's client tells a lot where all is well.
    builder.environment().putIfAbsent("MC_LOG_LEVEL", "ERROR");
    int status = builder.start().waitFor();
    if (status != 0) {
      throw new IllegalArgumentException("the process that asks ended with status " + status);
    }
    return outcomes;
  }

  private void print(List<Line> lines) {
    long longest =
        lines.stream().mapToLong(line -> line.outcome().firstToken().toMillis()).max().orElse(1);
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        "%-33s %7s %12s %12s  %s%n", "", "tokens", "from store", "first token", "equal answer");
    for (Line line : lines) {
      out.printf(
          "%-33s %,7d %,12d %,9d ms  %s%n",
          line.name(),
          line.outcome().promptTokens(),
          line.outcome().cachedTokens(),
          line.outcome().firstToken().toMillis(),
          line.equal());
    }
    out.println();
    out.println("time to the first token");
    for (Line line : lines) {
      long bar = line.outcome().firstToken().toMillis() * BAR / Math.max(1, longest);
      out.printf("%-33s %s%n", line.name(), "#".repeat((int) Math.max(1, bar)));
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
        Files.delete(file);
      }
    }
  }
}
