package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * What has to be installed, without which tests are skipped, or fail where the environment demands
 * it.
 */
final class Demanded {
  /** The variable of the environment under which missing weights are a failure. */
  private static final String MODEL = "DEMAND_LLAMA";

  /** The same for Mooncake. */
  private static final String MOONCAKE = "DEMAND_MOONCAKE";

  private Demanded() {}

  /** Returns the file of the model. */
  static Path model() {
    require(hasModel(), MODEL, missingModel());
    return Weights.file();
  }

  /** Skips a class that needs the model where it is missing, except where it is demanded. */
  static ConditionEvaluationResult modelCondition(ExtensionContext context) {
    return hasModel() || System.getenv(MODEL) != null
        ? ConditionEvaluationResult.enabled("the weights are there, or demanded")
        : ConditionEvaluationResult.disabled(missingModel());
  }

  private static boolean hasModel() {
    return LlamaLibrary.resource().isPresent() && Files.isReadable(Weights.file());
  }

  private static String missingModel() {
    return LlamaLibrary.resource().isPresent()
        ? "the weights of Gemma 3 are not there; this fetches them: " + Weights.FETCH
        : "the engine runs on Linux on x86-64 alone";
  }

  /** Returns the folder in which the script {@code .ci/mooncake} has installed Mooncake. */
  static Path mooncake() {
    Path folder =
        Optional.ofNullable(System.getenv("MOONCAKE_TEST_HOME"))
            .filter(named -> !named.isBlank())
            .map(Path::of)
            .orElseGet(() -> CacheFolder.file("mooncake"));
    require(
        Files.exists(folder.resolve("installed")),
        MOONCAKE,
        "Mooncake is not installed in " + folder + "; .ci/mooncake installs it");
    return folder;
  }

  private static void require(boolean present, String demand, String missing) {
    if (System.getenv(demand) != null) {
      assertThat(present).as(missing).isTrue();
    }
    assumeTrue(present, missing);
  }
}
