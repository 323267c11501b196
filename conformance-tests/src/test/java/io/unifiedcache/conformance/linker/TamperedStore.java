package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.LinkerSpec;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** What a store says and does, but for what is overridden. */
class TamperedStore implements CacheStore {
  private final CacheStore store;

  TamperedStore(CacheStore store) {
    this.store = store;
  }

  /** Returns a description of the same linker over an edited store. */
  static LinkerSpec under(LinkerSpec spec, UnaryOperator<CacheStore> edit) {
    CacheStoreProvider real = spec.backend();
    CacheStoreProvider edited =
        new CacheStoreProvider() {
          @Override
          public String name() {
            return real.name();
          }

          @Override
          public List<Option<?>> options() {
            return real.options();
          }

          @Override
          public Set<Capability> capabilities() {
            return real.capabilities();
          }

          @Override
          public CacheStore open(Settings settings, StoreContext context) {
            return edit.apply(real.open(settings, context));
          }
        };
    return new LinkerSpec(
        edited, spec.identity(), spec.pools(), spec.ranks(), spec.settings(), spec.instance());
  }

  @Override
  public Set<Capability> capabilities() {
    return store.capabilities();
  }

  @Override
  public StoreLimits limits() {
    return store.limits();
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    return store.exists(keys, by);
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    return store.put(ops, by);
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return store.get(ops, by);
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    return store.openSession(keys, by);
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    return store.remove(keys, evenIfLeased, by);
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    return store.clear(prefix, by);
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    store.list(prefix, more, by);
  }

  @Override
  public Registration register(Memory memory) {
    return store.register(memory);
  }

  @Override
  public StoreStats stats() {
    return store.stats();
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return store.probe(by);
  }

  @Override
  public void close() {
    store.close();
  }
}
