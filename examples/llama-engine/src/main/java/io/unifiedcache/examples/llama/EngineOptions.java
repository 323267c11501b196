package io.unifiedcache.examples.llama;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that name the model and the text. */
final class EngineOptions {
  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Gemma 3 as a GGUF file (default: where the script fetch-model puts it, which is"
              + " unified-cache/models in the user's cache folder).")
  private @Nullable Path model;

  @Option(
      names = "--prompt",
      paramLabel = "FILE",
      description = "The text of the prompt (default: the licence of this project).")
  private @Nullable Path prompt;

  @Option(
      names = "--threads",
      paramLabel = "N",
      defaultValue = "2",
      description = "Threads that compute (default: ${DEFAULT-VALUE}).")
  private int threads;

  @Option(
      names = "--answer",
      paramLabel = "N",
      defaultValue = "64",
      description = "Tokens to answer with (default: ${DEFAULT-VALUE}).")
  private int answer;

  /** Returns the file of the model. */
  Path model() {
    return model == null ? Weights.file() : model;
  }

  /** Loads the model. */
  LlamaModel load() {
    return new LlamaModel(model(), LlamaEngine.CONTEXT_TOKENS, LlamaEngine.PAGE_TOKENS, threads);
  }

  /** Returns the number of tokens to answer with. */
  int answer() {
    return answer;
  }

  /** Reads the text. */
  String text() {
    Path file = prompt;
    try {
      return file == null ? licence() : Files.readString(file);
    } catch (IOException e) {
      throw new IllegalArgumentException("the prompt cannot be read: " + e, e);
    }
  }

  /** Returns these options as a command line. */
  List<String> toArguments() {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("--model", model().toString()));
    arguments.addAll(List.of("--threads", Integer.toString(threads)));
    arguments.addAll(List.of("--answer", Integer.toString(answer)));
    if (prompt != null) {
      arguments.addAll(List.of("--prompt", prompt.toString()));
    }
    return arguments;
  }

  /** Returns the text of the project's licence. */
  static String licence() {
    try (InputStream in = EngineOptions.class.getResourceAsStream("LICENSE")) {
      if (in == null) {
        throw new IllegalStateException("LICENSE is not beside " + EngineOptions.class);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("LICENSE cannot be read: " + e, e);
    }
  }
}
