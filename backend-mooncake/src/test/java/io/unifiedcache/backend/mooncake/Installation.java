package io.unifiedcache.backend.mooncake;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;

/**
 * The Mooncake that {@code .ci/mooncake} has installed for tests.
 *
 * <p>Tests that need it are skipped where it is missing, unless the variable {@code
 * DEMAND_MOONCAKE} is 1.
 */
final class Installation {
  private static final Path HOME = home();

  private Installation() {}

  private static Path home() {
    String named = System.getenv("MOONCAKE_TEST_HOME");
    if (named != null && !named.isBlank()) {
      return Path.of(named);
    }
    String cache = System.getenv("XDG_CACHE_HOME");
    return (cache == null || cache.isBlank()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(cache))
        .resolve("unified-cache/mooncake");
  }

  /** Skips what needs Mooncake if it is not installed, except where it is demanded. */
  static ConditionEvaluationResult condition() {
    return isThere() || isDemanded()
        ? ConditionEvaluationResult.enabled("Mooncake is there, or demanded")
        : ConditionEvaluationResult.disabled(missing());
  }

  /** Fails the test if Mooncake is not installed. */
  static void require() {
    if (!isThere()) {
      Assertions.fail(missing());
    }
  }

  private static boolean isThere() {
    return found().isPresent();
  }

  private static boolean isDemanded() {
    return "1".equals(System.getenv("DEMAND_MOONCAKE"));
  }

  private static String missing() {
    return "Mooncake is not installed in " + HOME + "; .ci/mooncake installs it";
  }

  /** Returns a program of Mooncake's. */
  static Path program(String name) {
    return HOME.resolve("bin").resolve(name);
  }

  /** Returns the interpreter that has Mooncake's package. */
  static Path python() {
    return HOME.resolve("python/bin/python");
  }

  /** Returns Mooncake's C library. */
  static Path library() {
    return HOME.resolve("native/mooncake").resolve(NativeLibrary.FILE);
  }

  /** Returns whether it is there. */
  static Optional<Path> found() {
    return Optional.of(HOME).filter(home -> Files.exists(home.resolve("installed")));
  }
}
