package io.unifiedcache.examples.llama;

import static io.unifiedcache.examples.llama.LlamaEngine.PAGE_TOKENS;

import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.linker.Backends;
import java.util.Arrays;
import java.util.Locale;
import java.util.UUID;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures what the store is worth. */
@Command(
    name = "ratio",
    description =
        "Measures the time to the first token with all pages in the store, by that with none.",
    mixinStandardHelpOptions = true)
final class RatioCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin private EngineOptions options = new EngineOptions();

  @Option(
      names = "--backend",
      paramLabel = "NAME",
      defaultValue = "file",
      description = "The backend (default: ${DEFAULT-VALUE}).")
  private String backend = "";

  @Mixin private StoreSettings settings = new StoreSettings();

  @Option(
      names = "--tokens",
      paramLabel = "N",
      defaultValue = "1500",
      description = "Tokens of the prompt (default: ${DEFAULT-VALUE}).")
  private int tokens;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "5",
      description = "Rounds to measure, after one that warms up (default: ${DEFAULT-VALUE}).")
  private int rounds;

  @Override
  public void run() {
    try (CacheStore store =
            Backends.discover().open(backend, settings.of(backend), "llama-engine");
        LlamaModel model = options.load()) {
      int[] prompt = TokenRanges.first(tokens).of(model.tokens(options.text()));
      double[] ratios = new double[rounds];
      for (int round = -1; round < rounds; round++) {
        double ratio = ratio(model, store, prompt);
        if (round >= 0) {
          ratios[round] = ratio;
        }
      }
      print(ratios);
    }
  }

  /** With a salt that no pages have yet. */
  private static double ratio(LlamaModel model, CacheStore store, int[] prompt) {
    String salt = UUID.randomUUID().toString();
    try (LlamaEngine engine = new LlamaEngine(model, salt, linker -> linker.store(store))) {
      Answer cold = engine.ask(prompt, 1);
      Answer warm = engine.ask(prompt, 1);
      if (cold.cachedTokens() != 0 || warm.cachedTokens() < prompt.length - 2 * PAGE_TOKENS) {
        throw new IllegalArgumentException(
            "the store does not keep the prompt: %d of its tokens came from it, and then %d"
                .formatted(cold.cachedTokens(), warm.cachedTokens()));
      }
      return (double) warm.firstToken().toNanos() / cold.firstToken().toNanos();
    }
  }

  private void print(double[] ratios) {
    Arrays.sort(ratios);
    spec.commandLine()
        .getOut()
        .println(
            String.format(
                Locale.ROOT,
                "first token, all pages stored / none: %d tokens, %s: median %.3f, %.3f - %.3f",
                tokens,
                backend,
                ratios[ratios.length / 2],
                ratios[0],
                ratios[ratios.length - 1]));
  }
}
