package io.unifiedcache.examples.llama;

import java.nio.file.Path;

/** Where the weights are that the script {@code fetch-model} fetches. */
final class Weights {
  /** The line that fetches them. */
  static final String FETCH = "examples/llama-engine/fetch-model";

  private Weights() {}

  /** Returns the file, which need not be there. */
  static Path file() {
    return CacheFolder.file("models/gemma-3-270m-q4_k_m.gguf");
  }
}
