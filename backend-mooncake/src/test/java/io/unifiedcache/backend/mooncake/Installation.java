package io.unifiedcache.backend.mooncake;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

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

  /** Skips the test, or fails it where Mooncake is demanded, if Mooncake is not installed. */
  static void require() {
    if (Files.exists(HOME.resolve("installed"))) {
      return;
    }
    String message = "Mooncake is not installed in " + HOME + "; .ci/mooncake installs it";
    if ("1".equals(System.getenv("DEMAND_MOONCAKE"))) {
      Assertions.fail(message);
    }
    Assumptions.abort(message);
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
