package io.unifiedcache.cli.replay;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.linker.key.PageHasher;
import io.unifiedcache.linker.rank.LocalRanks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Serves the requests of a trace, one after the other, on all ranks of a model at once.
 *
 * <p>Each rank has a thread, pools and a linker of its own; those of one process share one store.
 * While the ranks serve a request, the next one is hashed.
 */
public final class Replay {
  /** Opens the linker of one rank. */
  @FunctionalInterface
  public interface LinkerFactory {
    /**
     * Returns a linker over a store that it must not close.
     *
     * @param ranks the collective of the rank
     */
    CacheLinker open(CacheStore store, DevicePools pools, RankCollective ranks);
  }

  /** Hears how far a replay is. */
  @FunctionalInterface
  public interface Progress {
    /** Is called after each request, with the number of those served. */
    void served(int requests);
  }

  private static final PageHasher HASHER = PageHasher.of(Trace.BLOCK_TOKENS);

  /** Longer than any deadline of a linker by default. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final Trace trace;
  private final ReplayPlan plan;
  private final Duration patience;

  /** Prepares a replay; nothing is allocated yet. */
  public Replay(Trace trace, ReplayPlan plan) {
    this(trace, plan, PATIENCE);
  }

  /**
   * Prepares a replay.
   *
   * @param patience how long to wait for a completion before it counts as lost
   */
  Replay(Trace trace, ReplayPlan plan, Duration patience) {
    this.trace = trace;
    this.plan = plan;
    this.patience = patience;
  }

  /**
   * Serves all requests, or as many as come before a completion or a rank is lost.
   *
   * @param store the store that all ranks share; stays open
   */
  public ReplayReport run(CacheStore store, LinkerFactory linkers, Progress progress) {
    List<RankCollective> collectives = LocalRanks.of(plan.ranks());
    List<Integer> ranks = IntStream.range(0, plan.ranks()).boxed().toList();
    return merge(List.of(serve(ranks, collectives::get, store, linkers, progress)));
  }

  /**
   * Serves all requests as one rank, while other processes do as the others.
   *
   * @param meeting waits for them; is called once this rank is ready
   * @param store the store of this rank; stays open
   * @return what this rank found, to be {@linkplain #merge merged}
   */
  public ReplayShare runRank(
      int rank,
      Supplier<RankCollective> meeting,
      CacheStore store,
      LinkerFactory linkers,
      Progress progress) {
    return serve(List.of(rank), any -> meeting.get(), store, linkers, progress);
  }

  /**
   * Returns the report of all ranks.
   *
   * @param shares what the processes found, in the order of ranks
   */
  public ReplayReport merge(List<ReplayShare> shares) {
    return ReplayReport.of(trace, plan, ReplayShare.merged(shares));
  }

  private ReplayShare serve(
      List<Integer> ranks,
      IntFunction<RankCollective> collectives,
      CacheStore store,
      LinkerFactory linkers,
      Progress progress) {
    List<RankEngine> engines = new ArrayList<>();
    List<RankStore> stores = new ArrayList<>();
    List<CacheLinker> opened = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(ranks.size(), daemons())) {
      try {
        int longest = Math.max(1, trace.longestPrompt());
        List<RankPools> pools = new ArrayList<>();
        List<Future<CacheLinker>> opening = new ArrayList<>();
        for (int rank : ranks) {
          RankPools own = pools(rank, longest);
          RankStore view = new RankStore(store, plan.layers());
          RankCollective collective = collectives.apply(rank);
          pools.add(own);
          stores.add(view);
          // Ranks open together, each on a thread of its own.
          opening.add(threads.submit(() -> linkers.open(view, own.pools(), collective)));
        }
        opened.addAll(join(opening));
        for (int i = 0; i < ranks.size(); i++) {
          engines.add(
              new RankEngine(
                  ranks.get(i),
                  plan,
                  opened.get(i),
                  stores.get(i),
                  pools.get(i),
                  longest,
                  patience));
        }
        return serve(engines, stores, store, threads, progress);
      } finally {
        opened.forEach(CacheLinker::close);
        threads.shutdownNow();
      }
    }
  }

  /**
   * Allocates the pools of a rank, with room for as many of the longest prompts as are in flight.
   */
  private RankPools pools(int rank, int longest) {
    long slots = Math.multiplyExact((long) longest, plan.inFlight());
    try {
      return new RankPools(plan.model().allocate(plan.layers(), plan.pageBytes(), slots), rank);
    } catch (OutOfMemoryError e) {
      throw new CacheException(
          FailureCode.NO_SPACE,
          "there is no memory for the pools of rank %d, %d pages of %s and as much to compare with: %s"
              .formatted(rank, slots, new ByteSize(plan.pageBytes()), e.getMessage()),
          e);
    }
  }

  private ReplayShare serve(
      List<RankEngine> engines,
      List<RankStore> stores,
      CacheStore store,
      ExecutorService threads,
      Progress progress) {
    Timeline timeline = new Timeline(trace, trace.reuse());
    long evictedBefore = store.stats().evicted();
    Set<PageKey> distinct = new HashSet<>();
    long pages = 0;
    int served = 0;
    long begin = System.nanoTime();
    List<TraceRequest> requests = trace.requests();
    Prompt prompt = prompt(0);
    while (served < requests.size() && !anyLost(engines)) {
      if (timeline.isCutBefore(served)) {
        StoreStats stats = store.stats();
        timeline.end(
            served, counts(engines, stores, stats.evicted() - evictedBefore), stats.liveBytes());
      }
      waitForTurn(served, begin);
      Prompt current = prompt;
      List<Future<Void>> running = start(threads, engines, engine -> engine.serve(current));
      pages += current.pages().size();
      distinct.addAll(current.pages());
      if (served + 1 < requests.size()) {
        prompt = prompt(served + 1);
      }
      var unused = join(running);
      served++;
      progress.served(served);
    }
    if (!anyLost(engines)) {
      var unused = join(start(threads, engines, RankEngine::finish));
    }
    long nanos = System.nanoTime() - begin;
    StoreStats stats = store.stats();
    long evictions = stats.evicted() - evictedBefore;
    boolean told = stats.evicted() != StoreStats.UNKNOWN;
    timeline.end(served, counts(engines, stores, evictions), stats.liveBytes());
    return new ReplayShare(
        new ReplayReport.Served(served, pages, distinct.size(), nanos, stats.capacityBytes()),
        engines.stream().map(RankEngine::tally).toList(),
        stores.stream().mapToLong(RankStore::bytesStored).sum(),
        told ? evictions : StoreStats.UNKNOWN,
        timeline.windows());
  }

  /** Adds up what the ranks have counted, none of which is serving. */
  private static Counts counts(List<RankEngine> engines, List<RankStore> stores, long evictions) {
    return Counts.of(
        engines.stream().map(RankEngine::tally).toList(),
        stores.stream().mapToLong(RankStore::bytesStored).sum(),
        evictions);
  }

  private static boolean anyLost(List<RankEngine> engines) {
    return engines.stream()
        .map(RankEngine::tally)
        .anyMatch(tally -> tally.lostCompletions > 0 || tally.lostRank().isPresent());
  }

  /** Returns a request with the keys of its pages, hashed from its tokens. */
  private Prompt prompt(int number) {
    TraceRequest request = trace.requests().get(number);
    int[] tokens = new int[request.pages() * Trace.BLOCK_TOKENS];
    for (int page = 0; page < request.pages(); page++) {
      long block = request.hashIds().get(page);
      for (int i = 0; i < Trace.BLOCK_TOKENS; i++) {
        tokens[page * Trace.BLOCK_TOKENS + i] = PageContent.token(block, i);
      }
    }
    return new Prompt(number, HASHER.pageKeys(tokens), request.usablePages());
  }

  /** Waits for the time at which a request came, if the replay keeps the trace's pace. */
  private void waitForTurn(int number, long begin) {
    if (plan.pace() == 0) {
      return;
    }
    double millis =
        trace.requests().get(number).timestamp() - trace.requests().getFirst().timestamp();
    long due = (long) (millis / plan.pace() * 1e6);
    for (long left = due - (System.nanoTime() - begin);
        left > 0 && !Thread.currentThread().isInterrupted();
        left = due - (System.nanoTime() - begin)) {
      LockSupport.parkNanos(left);
    }
  }

  private static ThreadFactory daemons() {
    return Thread.ofPlatform().daemon().name("replay-rank-", 0).factory();
  }

  /** A step that every rank takes. */
  private interface Step {
    void take(RankEngine engine);
  }

  private static List<Future<Void>> start(
      ExecutorService threads, List<RankEngine> engines, Step step) {
    List<Future<Void>> running = new ArrayList<>();
    for (RankEngine engine : engines) {
      Callable<Void> task =
          () -> {
            step.take(engine);
            return null;
          };
      running.add(threads.submit(task));
    }
    return running;
  }

  /** Waits for all ranks; what one of them threw is thrown here. */
  private static <T> List<T> join(List<Future<T>> running) {
    List<T> results = new ArrayList<>();
    for (Future<T> task : running) {
      try {
        results.add(task.get());
      } catch (ExecutionException e) {
        if (e.getCause() instanceof RuntimeException cause) {
          throw cause;
        }
        throw new IllegalStateException("a rank ended", e.getCause());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("the replay was interrupted", e);
      }
    }
    return results;
  }
}
