package io.unifiedcache.conformance.subject;

import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.UnifiedCache;
import java.util.List;

/**
 * Opens the linkers that a run is about.
 *
 * <p>Called from several threads.
 */
@FunctionalInterface
public interface LinkerFactory {
  /**
   * Opens a linker as described.
   *
   * @throws io.unifiedcache.api.CacheException if it is to be refused
   */
  CacheLinker open(LinkerSpec spec);

  /** Returns the factory of this project's own linker. */
  static LinkerFactory unifiedCache() {
    return spec ->
        UnifiedCache.builder()
            .backends(
                Backends.of(
                    List.of(
                        new Backends.Found(
                            spec.backend().name(), spec.backend(), "the conformance suite"))))
            .backend(spec.backend().name())
            .settings(spec.settings())
            .identity(spec.identity())
            .pools(spec.pools())
            .ranks(spec.ranks())
            .instance(spec.instance())
            .open();
  }
}
