package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** The weights, without which tests are skipped, or fail where the environment demands them. */
final class Demanded {
  /** The variable of the environment under which missing weights are a failure. */
  private static final String DEMAND = "DEMAND_LLAMA";

  private Demanded() {}

  /** Returns the file of the model. */
  static Path model() {
    Path file = Weights.file();
    boolean present = LlamaLibrary.resource().isPresent() && Files.isReadable(file);
    String missing =
        LlamaLibrary.resource().isPresent()
            ? "the weights of Gemma 3 are not there; this fetches them: " + Weights.FETCH
            : "the engine runs on Linux on x86-64 alone";
    if (System.getenv(DEMAND) != null) {
      assertThat(present).as(missing).isTrue();
    }
    assumeTrue(present, missing);
    return file;
  }
}
