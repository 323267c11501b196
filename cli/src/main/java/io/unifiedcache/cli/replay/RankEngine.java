package io.unifiedcache.cli.replay;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * One rank of an engine that computes nothing: it looks prompts up, loads what can be restored,
 * checks every byte, writes the rest from its formula, and offloads it.
 *
 * <p>Used by one thread. All ranks serve the same prompts in the same order.
 */
final class RankEngine {
  /**
   * How often to wait for a completion before those outstanding count as lost. Counted in polls,
   * which answer alike on all ranks, so that all give up together.
   */
  private static final int POLLS = 100;

  private final int rank;
  private final ReplayPlan plan;
  private final CacheLinker linker;
  private final RankStore store;
  private final RankPools pools;
  private final int longestPrompt;
  private final FaultPlan faults;
  private final Duration patience;
  private final Tally tally = new Tally();

  /** The offloads without a completion. */
  private final Map<String, Offload> offloads = new LinkedHashMap<>();

  /** The areas of slots that they use. */
  private final BitSet areasInUse = new BitSet();

  private long offloadingSince;

  RankEngine(
      int rank,
      ReplayPlan plan,
      CacheLinker linker,
      RankStore store,
      RankPools pools,
      int longestPrompt,
      Duration patience) {
    this.rank = rank;
    this.plan = plan;
    this.linker = linker;
    this.store = store;
    this.pools = pools;
    this.longestPrompt = longestPrompt;
    this.patience = patience;
    this.faults = new FaultPlan(plan.failRate(), plan.seed());
  }

  Tally tally() {
    return tally;
  }

  /**
   * Serves one prompt, and waits until few enough offloads are unfinished. Once a completion is
   * {@linkplain Tally#lostCompletions lost}, whose slots may still be in use, no other prompt can
   * be served.
   */
  void serve(Prompt prompt) {
    int pages = prompt.pages().size();
    if (pages == 0) {
      return;
    }
    int area = areasInUse.nextClearBit(0);
    int restorable = lookup(prompt);
    boolean loaded = restorable > 0 && load(prompt, restorable, area);
    if (tally.lostCompletions > 0) {
      return;
    }
    List<PoolTransfer> missing =
        loaded ? missing(prompt, restorable, 0, area) : missing(prompt, 0, restorable, area);
    for (PoolTransfer transfer : missing) {
      pools.compute(transfer);
    }
    if (!missing.isEmpty()) {
      offload(prompt, missing, area);
    }
    settleOffloads(plan.inFlight() - 1);
  }

  /** Waits for all offloads. */
  void finish() {
    settleOffloads(0);
  }

  private int lookup(Prompt prompt) {
    long begin = System.nanoTime();
    int length =
        linker
            .lookup(prompt.pages(), plan.model().queries())
            .restorable()
            .longestAtMost(prompt.usable());
    tally.lookup.recordValue(System.nanoTime() - begin);
    return length;
  }

  /** Loads the first pages of a prompt and tells whether they are there. */
  private boolean load(Prompt prompt, int length, int area) {
    String id = "load-" + prompt.number();
    List<PoolTransfer> transfers = restorable(prompt, length, area);
    long bytes = 0;
    for (PoolTransfer transfer : transfers) {
      bytes += pools.poison(transfer);
    }
    OptionalLong fault = faults.fault(prompt.number(), /* attempt= */ 0);
    if (fault.isPresent() && fault.getAsLong() % plan.ranks() == rank) {
      store.failNextLoad(fault.getAsLong() / plan.ranks());
    }
    long begin = System.nanoTime();
    linker.load(new TransferRequest(id, transfers));
    awaitLayers(id, transfers, begin);
    boolean ok = awaitLoad(id);
    long nanos = System.nanoTime() - begin;
    store.failNoMore();
    tally.loadNanos += nanos;
    if (ok) {
      tally.load.recordValue(nanos);
      tally.hitPages += length;
      tally.bytesLoaded += bytes;
    }
    return ok;
  }

  /** Compares each layer as soon as it is announced, until the request fails or all are there. */
  private void awaitLayers(String id, List<PoolTransfer> transfers, long begin) {
    LoadBatch batch = linker.startLayerWiseLoading();
    for (int layer = 0; layer < plan.layers(); layer++) {
      StoreFailure failure;
      try {
        LayerProgress progress = batch.awaitLayer(layer, patience);
        failure = progress.failed().get(id);
      } catch (CacheException e) {
        tally.failure(id + ", layer " + layer + ": " + e.getMessage());
        return;
      }
      if (failure != null) {
        tally.failure(id + ", layer " + layer + ": " + failure.message());
        return;
      }
      if (layer == 0) {
        tally.firstLayer.recordValue(System.nanoTime() - begin);
      }
      for (PoolTransfer transfer : transfers) {
        pools.compare(transfer, layer, tally);
      }
    }
  }

  /** Returns the verdict of all ranks. */
  private boolean awaitLoad(String id) {
    for (int polls = 0; polls < POLLS; polls++) {
      for (Completion completion : linker.pollLoads(patience.dividedBy(POLLS))) {
        if (!completion.id().equals(id)) {
          throw new IllegalStateException(
              "rank %d waits for %s, but the linker completed %s"
                  .formatted(rank, id, completion.id()));
        }
        if (!completion.ok()) {
          tally.failedLoads++;
          failed(completion);
        }
        return completion.ok();
      }
    }
    tally.lostCompletions++;
    return false;
  }

  /** Notes what a request failed of, and whether that is the loss of a rank. */
  private void failed(Completion completion) {
    tally.failure(completion.id() + ": " + completion.failures().getFirst());
    if (completion.failures().stream()
        .anyMatch(failure -> failure.cause().code() == FailureCode.OTHER_RANK)) {
      LinkerHealth health = linker.health(Deadline.after(patience));
      if (health.state() == LinkerHealth.State.DOWN) {
        tally.loseRank(health.detail());
      }
    }
  }

  private void offload(Prompt prompt, List<PoolTransfer> transfers, int area) {
    String id = "offload-" + prompt.number();
    long now = System.nanoTime();
    if (offloads.isEmpty()) {
      offloadingSince = now;
    }
    offloads.put(id, new Offload(area, now));
    areasInUse.set(area);
    linker.offload(new TransferRequest(id, transfers));
  }

  private void settleOffloads(int most) {
    for (int polls = 0; offloads.size() > most && polls < POLLS; polls++) {
      List<Completion> completions = linker.pollOffloads(patience.dividedBy(POLLS));
      long now = System.nanoTime();
      for (Completion completion : completions) {
        Offload offload = offloads.remove(completion.id());
        if (offload == null) {
          throw new IllegalStateException(
              "rank %d was told twice, or for no reason, of %s".formatted(rank, completion.id()));
        }
        areasInUse.clear(offload.area());
        tally.offload.recordValue(now - offload.begin());
        if (!completion.ok()) {
          tally.failedOffloads++;
          failed(completion);
        }
        polls = 0;
      }
      if (!completions.isEmpty() && offloads.isEmpty()) {
        tally.offloadNanos += now - offloadingSince;
      }
    }
    if (offloads.size() > most) {
      tally.lostCompletions += offloads.size();
    }
  }

  /** Returns what a load of the first {@code length} pages moves: of windows their last pages. */
  private List<PoolTransfer> restorable(Prompt prompt, int length, int area) {
    List<PoolTransfer> transfers = new ArrayList<>();
    for (PoolQuery query : plan.model().queries()) {
      int from = isWindow(query) ? Math.max(0, length - query.window()) : 0;
      transfers.add(transfer(prompt, query, from, length, area));
    }
    return transfers;
  }

  /**
   * Returns what an offload moves once the first pages were loaded and the others computed.
   *
   * @param loaded the pages that were loaded
   * @param failed the pages that were to be loaded but failed; of windows, those that such a load
   *     needs are stored anew
   */
  private List<PoolTransfer> missing(Prompt prompt, int loaded, int failed, int area) {
    int pages = prompt.pages().size();
    List<PoolTransfer> transfers = new ArrayList<>();
    for (PoolQuery query : plan.model().queries()) {
      int from = loaded;
      if (isWindow(query) && plan.sidePages() == SidePages.TAIL) {
        from = Math.max(loaded, pages - query.window());
        int failedFrom = Math.max(0, failed - query.window());
        from = failed > 0 ? Math.min(from, failedFrom) : from;
      }
      if (from < pages) {
        transfers.add(transfer(prompt, query, from, pages, area));
      }
    }
    return transfers;
  }

  private static boolean isWindow(PoolQuery query) {
    return query.policy() == HitPolicy.TRAILING_PAGES;
  }

  private PoolTransfer transfer(Prompt prompt, PoolQuery query, int from, int to, int area) {
    List<PageKey> keys = prompt.pages().subList(from, to);
    long[] slots = new long[to - from];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = slot(prompt, query, from + i, area);
    }
    return new PoolTransfer(query.source(), keys, Slots.of(slots));
  }

  /**
   * Returns the place of a page. Requests in flight have areas of their own; within one the pages
   * begin at another slot each time, so that a page seldom meets its old place.
   *
   * @param area an area that no other request uses; there is one, as fewer offloads than areas are
   *     unfinished
   */
  private long slot(Prompt prompt, PoolQuery query, int page, int area) {
    long first = 31L * prompt.number() + 7L * query.window();
    return (long) area * longestPrompt + (first + page) % longestPrompt;
  }

  /** An offload without a completion. */
  private record Offload(int area, long begin) {}
}
