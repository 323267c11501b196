package io.unifiedcache.examples.llama;

import java.nio.file.Path;

/** The folder in which this project keeps what it has fetched or started for a user. */
final class CacheFolder {
  private CacheFolder() {}

  /** Returns a file in it, which need not be there. */
  static Path file(String name) {
    String cache = System.getenv("XDG_CACHE_HOME");
    Path folder =
        cache == null || cache.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(cache);
    return folder.resolve("unified-cache").resolve(name);
  }
}
