package io.unifiedcache.examples.llama;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * A store whose sessions fail in the middle: the first reads of each succeed, later ones do not.
 */
final class FailingStore implements CacheStore {
  private static final StoreFailure FAILURE =
      StoreFailure.of(FailureCode.IO, "this read was chosen to fail").asRetryable();

  private final CacheStore store;
  private final AtomicInteger failed = new AtomicInteger();
  private volatile int goodReads = Integer.MAX_VALUE;

  FailingStore(CacheStore store) {
    this.store = store;
  }

  /** Sets how many reads of a session succeed. */
  void failReadsFrom(int reads) {
    goodReads = reads;
  }

  /** Returns the number of reads that have failed. */
  int failed() {
    return failed.get();
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    return new FailingSession(store.openSession(keys, by));
  }

  private final class FailingSession implements ReadSession {
    private final ReadSession session;
    private int reads;

    private FailingSession(ReadSession session) {
      this.session = session;
    }

    @Override
    public BatchResult opened() {
      return session.opened();
    }

    @Override
    public long size(int entry) {
      return session.size(entry);
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      if (reads++ < goodReads) {
        return session.read(ops, by);
      }
      failed.incrementAndGet();
      return BatchResult.allFailed(ops.size(), FAILURE);
    }

    @Override
    public void close() {
      session.close();
    }
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
