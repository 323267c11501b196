package io.unifiedcache.conformance.subject;

import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.linker.key.CacheIdentity;
import java.util.Map;
import java.util.Objects;

/**
 * What a linker is opened with.
 *
 * @param backend opens the store below the linker, which belongs to the linker from then on; has no
 *     options, and may fail or block as a store does that is away
 * @param identity what the cached bytes depend on
 * @param pools the memory of the engine
 * @param ranks how this rank agrees with the others
 * @param settings settings of the linker, by key, such as {@code linker.load-timeout}
 * @param instance the name of the linker in logs and thread names
 */
public record LinkerSpec(
    CacheStoreProvider backend,
    CacheIdentity identity,
    DevicePools pools,
    RankCollective ranks,
    Map<String, String> settings,
    String instance) {
  /** Creates a description. */
  public LinkerSpec {
    Objects.requireNonNull(backend, "backend");
    Objects.requireNonNull(identity, "identity");
    Objects.requireNonNull(pools, "pools");
    Objects.requireNonNull(ranks, "ranks");
    settings = Map.copyOf(settings);
    Objects.requireNonNull(instance, "instance");
  }
}
