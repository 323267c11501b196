package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
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
import io.unifiedcache.conformance.run.Violation;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A linker, as rules see it: what no call of any linker may end with, an exception of its own or
 * null, is a violation of the rule that is being tried.
 */
final class ObservedLinker implements CacheLinker {
  private final CacheLinker linker;

  private ObservedLinker(CacheLinker linker) {
    this.linker = linker;
  }

  /** Opens a linker. */
  static ObservedLinker open(Supplier<CacheLinker> opening) {
    return new ObservedLinker(answer("open", opening));
  }

  /** Returns the linker itself, for calls that it has to refuse. */
  CacheLinker unobserved() {
    return linker;
  }

  @Override
  public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
    return answer("lookup", () -> linker.lookup(pages, pools));
  }

  @Override
  public void load(TransferRequest request) {
    run("load", () -> linker.load(request));
  }

  @Override
  public LoadBatch startLayerWiseLoading() {
    return new ObservedBatch(answer("startLayerWiseLoading", linker::startLayerWiseLoading));
  }

  private record ObservedBatch(LoadBatch batch) implements LoadBatch {
    @Override
    public List<String> requests() {
      return answer("requests of a batch", batch::requests);
    }

    @Override
    public LayerProgress awaitLayer(int layer, Duration atMost) {
      return answer("awaitLayer", () -> batch.awaitLayer(layer, atMost));
    }
  }

  @Override
  public List<Completion> pollLoads(Duration atMost) {
    return answer("pollLoads", () -> linker.pollLoads(atMost));
  }

  @Override
  public void offload(TransferRequest request) {
    run("offload", () -> linker.offload(request));
  }

  @Override
  public List<Completion> pollOffloads(Duration atMost) {
    return answer("pollOffloads", () -> linker.pollOffloads(atMost));
  }

  @Override
  public CancelOutcome cancel(String loadId) {
    return answer("cancel", () -> linker.cancel(loadId));
  }

  @Override
  public Drained reset() {
    return answer("reset", linker::reset);
  }

  @Override
  public LinkerStats stats() {
    return answer("stats", linker::stats);
  }

  @Override
  public LinkerHealth health(Deadline by) {
    return answer("health", () -> linker.health(by));
  }

  @Override
  public void close() {
    run("close", linker::close);
  }

  private static void run(String call, Runnable action) {
    answer(
        call,
        () -> {
          action.run();
          return Boolean.TRUE;
        });
  }

  private static <T> T answer(String call, Supplier<? extends @Nullable T> action) {
    T answer;
    try {
      answer = action.get();
    } catch (CacheException | Violation e) {
      throw e;
    } catch (RuntimeException | Error e) {
      StackTraceElement[] frames = e.getStackTrace();
      throw new Violation(
          call + " to be served, or refused with a CacheException",
          e + (frames.length == 0 ? "" : " at " + frames[0]),
          e);
    }
    if (answer == null) {
      throw new Violation(call + " to return an answer", "null");
    }
    return answer;
  }
}
