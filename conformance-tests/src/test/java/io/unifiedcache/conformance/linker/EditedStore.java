package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * What a broken linker puts between itself and its store: it does as the store does, but for the
 * methods that a mutant overrides.
 */
class EditedStore implements CacheStore {
  final CacheStore store;

  EditedStore(CacheStore store) {
    this.store = store;
  }

  /** Makes any call that has an answer for each of some entries. */
  BatchResult call(int entries, Supplier<BatchResult> call) {
    return call.get();
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
    return call(keys.size(), () -> store.exists(keys, by));
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    return call(ops.size(), () -> store.put(ops, by));
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return call(ops.size(), () -> store.get(ops, by));
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    return new EditedSession(store.openSession(keys, by), keys.size());
  }

  /** A session whose calls are {@link #call calls} of the store. */
  class EditedSession implements ReadSession {
    final ReadSession session;
    private final int entries;

    EditedSession(ReadSession session, int entries) {
      this.session = session;
      this.entries = entries;
    }

    @Override
    public BatchResult opened() {
      return call(entries, session::opened);
    }

    @Override
    public long size(int entry) {
      return session.size(entry);
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      return call(ops.size(), () -> session.read(ops, by));
    }

    @Override
    public void close() {
      session.close();
    }
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    return call(keys.size(), () -> store.remove(keys, evenIfLeased, by));
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
