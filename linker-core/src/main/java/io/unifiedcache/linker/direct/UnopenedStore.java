package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * What a linker has in place of a store that has not been opened (rule {@code
 * linker.start-policy}): it has nothing, takes nothing, and says why.
 */
final class UnopenedStore implements CacheStore {
  private final Supplier<String> why;
  private final Supplier<String> progress;

  /**
   * Creates the stand-in.
   *
   * @param why returns why the store is not open; the same text for as long as the reason is
   * @param progress returns that and how far opening it has come
   */
  UnopenedStore(Supplier<String> why, Supplier<String> progress) {
    this.why = why;
    this.progress = progress;
  }

  private StoreFailure failure() {
    return new StoreFailure(
        FailureCode.UNREACHABLE,
        "the store is not open: " + why.get(),
        /* retryable= */ true,
        MemoryState.UNTOUCHED);
  }

  @Override
  public Set<Capability> capabilities() {
    return Set.of();
  }

  @Override
  public StoreLimits limits() {
    return StoreLimits.NONE;
  }

  /**
   * Has none of the objects, and fails the first alone, so that a lookup fails once and not per
   * key.
   */
  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    return Outage.nothing(keys.size(), failure());
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    return BatchResult.allFailed(ops.size(), failure());
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return BatchResult.allFailed(ops.size(), failure());
  }

  @Override
  public StoreStats stats() {
    return new StoreStats(0, 0, StoreStats.UNKNOWN, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return new StoreHealth(StoreHealth.State.DOWN, progress.get());
  }

  @Override
  public void close() {}
}
