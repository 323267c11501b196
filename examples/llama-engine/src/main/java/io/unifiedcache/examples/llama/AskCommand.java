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

/** Answers one prompt. */
@Command(name = "ask", description = "Answers one prompt.", mixinStandardHelpOptions = true)
final class AskCommand implements Runnable {
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

  @Option(
      names = "-o",
      paramLabel = "KEY=VALUE",
      description = "A setting of the backend or the linker.")
  private List<String> assignments = new ArrayList<>();

  @Option(
      names = "--tokens",
      paramLabel = "FROM-TO[,FROM-TO...]",
      description = "Which tokens of the text are the prompt (default: all).")
  private @Nullable String ranges;

  @Option(names = "--outcome", hidden = true)
  private @Nullable Path outcome;

  @Override
  public void run() {
    SettingsSources settings =
        SettingsSources.none().environment(System.getenv()).commandLine(assignments);
    try (LlamaModel model = options.load();
        LlamaEngine engine =
            new LlamaEngine(model, linker -> linker.backend(backend).settings(settings))) {
      int[] text = model.tokens(options.text());
      int[] prompt = ranges == null ? text : new TokenRanges(ranges).of(text);
      Answer answer = engine.ask(prompt, options.answer());
      if (outcome == null) {
        print(model.text(answer.tokens()), prompt.length, answer);
      } else {
        Outcome.of(prompt.length, answer).write(outcome);
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("the outcome cannot be written: " + e, e);
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
