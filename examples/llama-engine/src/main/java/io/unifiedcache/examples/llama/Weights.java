package io.unifiedcache.examples.llama;

import java.nio.file.Path;

/** Where the weights are that the script {@code fetch-model} fetches. */
final class Weights {
  /** The line that fetches them. */
  static final String FETCH = "examples/llama-engine/fetch-model";

  private Weights() {}

  /** Returns the file, which need not be there. */
  static Path file() {
    String cache = System.getenv("XDG_CACHE_HOME");
    Path folder =
        cache == null || cache.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(cache);
    return folder.resolve("unified-cache/models/gemma-3-270m-q4_k_m.gguf");
  }
}
