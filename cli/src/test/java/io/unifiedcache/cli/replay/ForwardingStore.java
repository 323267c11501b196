package io.unifiedcache.cli.replay;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.util.List;
import java.util.Set;

/** A store that passes every call on, for tests to change one of them. */
class ForwardingStore implements CacheStore {
  private final CacheStore store;

  ForwardingStore(CacheStore store) {
    this.store = store;
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
