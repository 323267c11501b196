package io.unifiedcache.examples.llama;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures what the store is worth. */
@Command(
    name = "ratio",
    description =
        "Measures the time to the first token with all pages in a file store, by that with none.",
    mixinStandardHelpOptions = true)
final class RatioCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin private EngineOptions options = new EngineOptions();

  @Option(
      names = "--root",
      required = true,
      paramLabel = "FOLDER",
      description = "The folder of the store; what is in it is deleted.")
  private Path root = Path.of("");

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
    CacheStoreProvider provider = Backends.discover().named("file");
    Map<String, String> settings = Map.of("root", root.toString(), "capacity", "1GiB");
    try (CacheStore store =
            provider.open(
                SettingsSources.of(settings).resolve(provider.options()),
                StoreContext.of("llama-engine"));
        LlamaModel model = options.load();
        LlamaEngine engine = new LlamaEngine(model, linker -> linker.store(store))) {
      int[] prompt = TokenRanges.first(tokens).of(model.tokens(options.text()));
      double[] ratios = new double[rounds];
      for (int round = -1; round < rounds; round++) {
        store.clear(KeyPrefix.EVERYTHING, Deadline.after(Duration.ofSeconds(30)));
        Answer cold = engine.ask(prompt, 1);
        Answer warm = engine.ask(prompt, 1);
        double ratio = (double) warm.firstToken().toNanos() / cold.firstToken().toNanos();
        if (round >= 0) {
          ratios[round] = ratio;
        }
      }
      print(ratios);
    }
  }

  private void print(double[] ratios) {
    Arrays.sort(ratios);
    spec.commandLine()
        .getOut()
        .println(
            String.format(
                Locale.ROOT,
                "first token, all pages stored / none: %d tokens: median %.3f, %.3f - %.3f",
                tokens,
                ratios[ratios.length / 2],
                ratios[0],
                ratios[ratios.length - 1]));
  }
}
