package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.TransferRequest;
import java.time.Duration;
import java.util.List;

/** A linker that does as another does, but for the methods that a mutant overrides. */
class EditedLinker implements CacheLinker {
  final CacheLinker linker;

  EditedLinker(CacheLinker linker) {
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
    return started(linker.startLayerWiseLoading());
  }

  /** Returns the batch to hand out in place of one that was started. */
  LoadBatch started(LoadBatch batch) {
    return batch;
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

  /** A batch that does as another does, but for the methods that a mutant overrides. */
  static class EditedBatch implements LoadBatch {
    final LoadBatch batch;

    EditedBatch(LoadBatch batch) {
      this.batch = batch;
    }

    @Override
    public List<String> requests() {
      return batch.requests();
    }

    @Override
    public LayerProgress awaitLayer(int layer, Duration atMost) {
      return batch.awaitLayer(layer, atMost);
    }
  }
}
