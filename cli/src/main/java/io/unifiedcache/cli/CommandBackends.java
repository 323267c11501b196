package io.unifiedcache.cli;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.linker.Backends;
import java.io.PrintWriter;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The backends of the command: those that it is built with, and those of plug-ins. */
final class CommandBackends {
  /**
   * The variable that names the directory of plug-ins; the script {@code unified-cache} sets it.
   */
  static final String PLUGINS = "UNIFIED_CACHE_PLUGINS";

  private CommandBackends() {}

  /** Searches for them. */
  static Backends discover() {
    return discover(System.getenv(PLUGINS));
  }

  /** Searches for them, with plug-ins in the given directory, if any is given. */
  static Backends discover(@Nullable String plugins) {
    Backends own = Backends.discover();
    return plugins == null || plugins.isEmpty() ? own : own.withPlugins(Path.of(plugins));
  }

  /**
   * Returns the backend of the given name, and warns of those that cannot be loaded.
   *
   * @throws NotLoadedException if no backend that could be loaded has the name, and one that could
   *     not be loaded may have it
   * @throws CacheException if there is none, or several
   */
  static CacheStoreProvider named(Backends backends, String name, PrintWriter err) {
    CacheStoreProvider provider;
    try {
      provider = backends.named(name);
    } catch (CacheException e) {
      boolean isFound = backends.found().stream().anyMatch(found -> found.name().equals(name));
      throw isFound || backends.broken().isEmpty() ? e : new NotLoadedException(e);
    }
    for (Backends.Broken broken : backends.broken()) {
      String line =
          "unified-cache: warning: %s in %s could not be loaded: %s"
              .formatted(broken.provider(), broken.origin(), broken.cause());
      err.println(PlainText.of(line));
    }
    err.flush();
    return provider;
  }
}
