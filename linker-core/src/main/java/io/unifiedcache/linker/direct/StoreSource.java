package io.unifiedcache.linker.direct;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Where a linker gets its store from.
 *
 * @param capabilities the most that such a store can offer
 * @param opening opens the store; may take long, may throw, and is called by one thread at a time,
 *     again after it has thrown. A {@link io.unifiedcache.api.CacheException} with code {@code
 *     REFUSED} says that to try again would not help
 */
public record StoreSource(Set<Capability> capabilities, Supplier<CacheStore> opening) {
  /** Creates a source. */
  public StoreSource {
    capabilities = Set.copyOf(capabilities);
    requireNonNull(opening, "opening");
  }
}
