package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.TransferRequest;
import java.time.Duration;
import java.util.List;

/** What a linker says and does, but for what is overridden. */
class TamperedLinker implements CacheLinker {
  private final CacheLinker linker;

  TamperedLinker(CacheLinker linker) {
    this.linker = linker;
  }

  @Override
  public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
    return linker.lookup(pages, pools);
  }

  @Override
  public void load(TransferRequest request) {
    linker.load(request);
  }

  @Override
  public LoadBatch startLayerWiseLoading() {
    return linker.startLayerWiseLoading();
  }

  @Override
  public List<Completion> pollLoads(Duration atMost) {
    return linker.pollLoads(atMost);
  }

  @Override
  public void offload(TransferRequest request) {
    linker.offload(request);
  }

  @Override
  public List<Completion> pollOffloads(Duration atMost) {
    return linker.pollOffloads(atMost);
  }

  @Override
  public CancelOutcome cancel(String loadId) {
    return linker.cancel(loadId);
  }

  @Override
  public Drained reset() {
    return linker.reset();
  }

  @Override
  public LinkerStats stats() {
    return linker.stats();
  }

  @Override
  public LinkerHealth health(Deadline by) {
    return linker.health(by);
  }

  @Override
  public void close() {
    linker.close();
  }
}
