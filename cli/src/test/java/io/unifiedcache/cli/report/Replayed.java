package io.unifiedcache.cli.report;

import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.cli.replay.ModelPreset;
import io.unifiedcache.cli.replay.Replay;
import io.unifiedcache.cli.replay.ReplayPlan;
import io.unifiedcache.cli.replay.ReplayReport;
import io.unifiedcache.cli.replay.SidePages;
import io.unifiedcache.cli.replay.Trace;
import io.unifiedcache.cli.replay.TraceException;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import java.nio.file.Path;
import java.util.Optional;

/** Reports of real replays, and what they would be had more gone wrong. */
final class Replayed {
  private Replayed() {}

  static ReplayReport sample(int requests) throws TraceException {
    return of(Trace.sample().part(0, requests), SidePages.ALL, 0);
  }

  static ReplayReport of(Path trace) throws TraceException {
    return of(Trace.of(trace), SidePages.ALL, 0);
  }

  /** Replays a trace on two ranks of a model with a window. */
  static ReplayReport of(Trace trace, SidePages sidePages, double failRate) {
    CacheStoreProvider provider = Backends.discover().named("memory");
    ReplayPlan plan =
        new ReplayPlan(ModelPreset.HYBRID_SWA, 1024, 8, 2, 1, sidePages, 0, failRate, 1);
    try (CacheStore store =
        provider.open(
            Settings.builder(provider.options()).build(), StoreContext.of("report-test"))) {
      return new Replay(trace, plan)
          .run(
              store,
              (view, pools, ranks) ->
                  UnifiedCache.builder()
                      .store(view)
                      .identity(
                          CacheIdentity.builder()
                              .model("test")
                              .tensor(ranks.rank(), ranks.size())
                              .build())
                      .pools(pools)
                      .ranks(ranks)
                      .open(),
              served -> {});
    }
  }

  /** Returns a report of which all is the same but what is given. */
  static ReplayReport changed(
      ReplayReport report,
      double tokenHitRate,
      long evictions,
      long failedLoads,
      long mismatches,
      long lostCompletions,
      long capacityBytes) {
    return new ReplayReport(
        report.trace(),
        report.plan(),
        report.requests(),
        report.pages(),
        report.distinctPages(),
        report.hitPages(),
        tokenHitRate,
        report.bestTokenHitRate(),
        report.bytesLoaded(),
        report.bytesOffloaded(),
        report.loadGBps(),
        report.offloadGBps(),
        evictions,
        failedLoads,
        report.failedOffloads(),
        mismatches,
        lostCompletions,
        report.seconds(),
        report.lookup(),
        report.firstLayer(),
        report.load(),
        report.offload(),
        report.lostRank(),
        mismatches > 0 ? Optional.of("page <img src=x> & more") : Optional.empty(),
        report.firstFailure(),
        capacityBytes,
        report.windows(),
        report.reuse(),
        report.storedPageBytes());
  }
}
