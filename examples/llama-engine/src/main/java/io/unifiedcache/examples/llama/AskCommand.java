package io.unifiedcache.examples.llama;

import io.unifiedcache.linker.SettingsSources;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Answers prompts, one after the other. */
@Command(name = "ask", description = "Answers prompts.", mixinStandardHelpOptions = true)
final class AskCommand implements Runnable {
  /** The name of the outcome of the prompt that is answered without the store. */
  static final String PLAIN = "plain";

  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin private EngineOptions options = new EngineOptions();

  @Option(
      names = "--backend",
      paramLabel = "NAME",
      defaultValue = "memory",
      description = "The backend (default: ${DEFAULT-VALUE}).")
  private String backend = "";

  @Mixin private StoreSettings settings = new StoreSettings();

  @Option(
      names = "--salt",
      paramLabel = "TEXT",
      defaultValue = "",
      description = "Only pages with the same salt are used (default: none).")
  private String salt = "";

  @Option(
      names = "--tokens",
      paramLabel = "FROM-TO[,FROM-TO...]",
      description =
          "Which tokens of the text are the prompt (default: all). Repeated: one prompt after the"
              + " other.")
  private List<String> prompts = new ArrayList<>();

  /** One that is answered without the store, before the others. */
  @Option(names = "--plain", hidden = true)
  private @Nullable String plain;

  /** Where the outcomes go, instead of being printed: {@code 0}, {@code 1} and {@code plain}. */
  @Option(names = "--outcomes", hidden = true)
  private @Nullable Path outcomes;

  @Override
  public void run() {
    try (LlamaModel model = options.load()) {
      int[] text = model.tokens(options.text());
      if (plain != null) {
        try (LlamaEngine engine = engine(model, SettingsSources.none(), "memory")) {
          ask(model, engine, new TokenRanges(plain).of(text), PLAIN);
        }
      }
      try (LlamaEngine engine = engine(model, settings.of(backend), backend)) {
        if (prompts.isEmpty()) {
          ask(model, engine, text, "0");
        }
        for (int i = 0; i < prompts.size(); i++) {
          ask(model, engine, new TokenRanges(prompts.get(i)).of(text), Integer.toString(i));
        }
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("the outcome cannot be written: " + e, e);
    }
  }

  private LlamaEngine engine(LlamaModel model, SettingsSources sources, String name) {
    return new LlamaEngine(model, salt, linker -> linker.backend(name).settings(sources));
  }

  private void ask(LlamaModel model, LlamaEngine engine, int[] prompt, String name)
      throws IOException {
    Answer answer = engine.ask(prompt, options.answer());
    if (outcomes == null) {
      print(model.text(answer.tokens()), prompt.length, answer);
    } else {
      Outcome.of(prompt.length, answer).write(outcomes.resolve(name));
    }
  }

  private void print(String text, int promptTokens, Answer answer) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(text);
    out.printf(
        "(%,d of %,d tokens from the store, first token after %,d ms)%n",
        answer.cachedTokens(), promptTokens, answer.firstToken().toMillis());
  }
}
