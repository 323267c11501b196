package io.unifiedcache.backend.memory;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import java.util.List;
import java.util.Set;

/**
 * The backend {@code memory}: objects in native memory of this process, within a budget.
 *
 * <p>Thread-safe and without state; each store that it opens is separate from the others.
 */
public final class MemoryStoreProvider implements CacheStoreProvider {
  static final Option<ByteSize> CAPACITY =
      Option.bytes(
              "capacity",
              "The most bytes that objects take; native memory is reserved as they come.")
          .where("at least 4KiB", size -> size.bytes() >= 4 << 10)
          .withDefault(ByteSize.parse("4GiB"));

  static final Option<Long> COPY_THREADS =
      Option.number(
              "copy-threads",
              "Threads that copy the bytes of one large batch, the calling thread included.",
              1,
              64)
          .withDefault((long) Math.clamp(Runtime.getRuntime().availableProcessors(), 1, 4));

  /** Creates the provider, for {@link java.util.ServiceLoader}. */
  public MemoryStoreProvider() {}

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public List<Option<?>> options() {
    return List.of(CAPACITY, COPY_THREADS);
  }

  @Override
  public Set<Capability> capabilities() {
    return MemoryStore.CAPABILITIES;
  }

  @Override
  public CacheStore open(Settings settings, StoreContext context) {
    return new MemoryStore(
        settings.get(CAPACITY).bytes(),
        Slabs.DEFAULT_SLAB_BYTES,
        Math.toIntExact(settings.get(COPY_THREADS)),
        context.threads());
  }
}
