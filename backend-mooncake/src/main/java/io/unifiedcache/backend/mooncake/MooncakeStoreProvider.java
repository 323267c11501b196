package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import java.util.List;
import java.util.Set;

/**
 * The backend {@code mooncake}: objects in a Mooncake cluster, through the client code that
 * Mooncake brings.
 *
 * <p>Thread-safe and without state. Nothing is loaded before {@link #open}.
 */
public final class MooncakeStoreProvider implements CacheStoreProvider {
  /** Creates the provider, for {@link java.util.ServiceLoader}. */
  public MooncakeStoreProvider() {}

  @Override
  public String name() {
    return "mooncake";
  }

  @Override
  public List<Option<?>> options() {
    return MooncakeSettings.OPTIONS;
  }

  @Override
  public Set<Capability> capabilities() {
    return Set.of(
        Capability.REMOVE,
        Capability.CLEAR,
        Capability.RANGED_READ,
        Capability.SHARED,
        Capability.DEVICE_MEMORY);
  }

  @Override
  public CacheStore open(Settings settings, StoreContext context) {
    return MooncakeStore.open(MooncakeSettings.of(settings, System.getenv()), context);
  }
}
