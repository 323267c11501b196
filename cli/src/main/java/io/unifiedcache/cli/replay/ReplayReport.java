package io.unifiedcache.cli.replay;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * What a replay has found.
 *
 * @param trace the name of the trace
 * @param plan how it was replayed
 * @param requests requests served
 * @param pages full pages of their prompts
 * @param distinctPages different ones among them
 * @param hitPages pages of completed loads, counted once for all ranks
 * @param tokenHitRate tokens of hit pages, as a share of all prompt tokens
 * @param bestTokenHitRate what a store without bounds, empty at the start, would have given
 * @param bytesLoaded bytes of completed loads, of all ranks
 * @param bytesOffloaded bytes of the objects that were stored, of all ranks
 * @param loadGBps bytes loaded, in 10^9, per second with a load under way
 * @param offloadGBps bytes offloaded, in 10^9, per second with an offload under way
 * @param evictions objects that the store evicted meanwhile; negative if it does not tell
 * @param failedLoads load requests that failed, counted once for all ranks
 * @param failedOffloads offload requests of which a page was not stored, likewise
 * @param mismatches pieces of memory, of all ranks, that did not hold what they must
 * @param lostCompletions requests that never completed, likewise counted once
 * @param seconds how long the replay took
 * @param lookup latency of lookups
 * @param firstLayer latency from the start of a load to its first layer
 * @param load latency from the start of a load to its completion
 * @param offload latency from queueing an offload to its completion
 * @param lostRank why the ranks agreed no more, if they did not
 * @param firstMismatch where the first mismatch was
 * @param firstFailure what the first failure was
 * @param capacityBytes the budget of the store, or {@link
 *     io.unifiedcache.api.store.StoreStats#UNKNOWN}
 * @param windows what happened when; their counts add up to those above
 * @param reuse what caches of every size would have had of the trace
 * @param storedPageBytes bytes that a page takes in the store, on all ranks together; a mean where
 *     only some pages of windows are offloaded
 */
public record ReplayReport(
    String trace,
    ReplayPlan plan,
    int requests,
    long pages,
    long distinctPages,
    long hitPages,
    double tokenHitRate,
    double bestTokenHitRate,
    long bytesLoaded,
    long bytesOffloaded,
    double loadGBps,
    double offloadGBps,
    long evictions,
    long failedLoads,
    long failedOffloads,
    long mismatches,
    long lostCompletions,
    double seconds,
    Latency lookup,
    Latency firstLayer,
    Latency load,
    Latency offload,
    Optional<String> lostRank,
    Optional<String> firstMismatch,
    Optional<String> firstFailure,
    long capacityBytes,
    List<Window> windows,
    Reuse reuse,
    double storedPageBytes) {
  private static final String LATENCY_ROW = "%-16s  %12s %12s %12s";

  /**
   * Percentiles in microseconds, 0 if nothing was timed.
   *
   * @param buckets how the times are distributed, from the shortest to the longest
   */
  public record Latency(double p50, double p95, double p99, List<Bucket> buckets) {
    /** How many buckets there are from one power of ten to the next. */
    private static final int PER_DECADE = 8;

    static Latency of(List<Tally> tallies, Function<Tally, Histogram> which) {
      Histogram all = new Histogram(3);
      tallies.forEach(tally -> all.add(which.apply(tally)));
      return new Latency(micros(all, 50), micros(all, 95), micros(all, 99), buckets(all));
    }

    private static List<Bucket> buckets(Histogram histogram) {
      NavigableMap<Integer, Long> counts = new TreeMap<>();
      for (HistogramIterationValue value : histogram.recordedValues()) {
        double decades = Math.log10(Math.max(1, value.getValueIteratedTo()) / 1000.0);
        counts.merge(
            (int) Math.floor(decades * PER_DECADE),
            value.getCountAddedInThisIterationStep(),
            Long::sum);
      }
      return counts.entrySet().stream()
          .map(
              entry -> new Bucket(edge(entry.getKey()), edge(entry.getKey() + 1), entry.getValue()))
          .toList();
    }

    private static double edge(int bucket) {
      return Math.pow(10, (double) bucket / PER_DECADE);
    }

    /** Returns how often it was timed. */
    public long count() {
      return buckets.stream().mapToLong(Bucket::count).sum();
    }

    private static double micros(Histogram histogram, double percentile) {
      return histogram.getTotalCount() == 0
          ? 0
          : histogram.getValueAtPercentile(percentile) / 1000.0;
    }
  }

  /** Times within a span, in microseconds. */
  public record Bucket(double from, double to, long count) {}

  /** A fact as a reader sees it. */
  public record Fact(String name, String value) {}

  /** What is counted once, whatever the number of ranks. */
  record Served(int requests, long pages, long distinctPages, long nanos, long capacityBytes) {}

  static ReplayReport of(Trace trace, ReplayPlan plan, ReplayShare all) {
    Served served = all.served();
    List<Tally> ranks = all.ranks();
    Counts total = all.total();
    Reuse reuse = trace.reuse();
    long tokens = Math.max(1, trace.promptTokens());
    return new ReplayReport(
        trace.name(),
        plan,
        served.requests(),
        served.pages(),
        served.distinctPages(),
        total.hitPages(),
        (double) total.hitPages() * Trace.BLOCK_TOKENS / tokens,
        (double) reuse.bestHitPages() * Trace.BLOCK_TOKENS / tokens,
        total.bytesLoaded(),
        total.bytesOffloaded(),
        rate(total.bytesLoaded(), Counts.most(ranks, tally -> tally.loadNanos)),
        rate(total.bytesOffloaded(), Counts.most(ranks, tally -> tally.offloadNanos)),
        total.evictions(),
        total.failedLoads(),
        total.failedOffloads(),
        total.mismatches(),
        total.lostCompletions(),
        served.nanos() / 1e9,
        Latency.of(ranks, tally -> tally.lookup),
        Latency.of(ranks, tally -> tally.firstLayer),
        Latency.of(ranks, tally -> tally.load),
        Latency.of(ranks, tally -> tally.offload),
        ranks.stream().flatMap(tally -> tally.lostRank().stream()).findFirst(),
        ranks.stream().flatMap(tally -> tally.firstMismatch().stream()).findFirst(),
        ranks.stream().flatMap(tally -> tally.firstFailure().stream()).findFirst(),
        served.capacityBytes(),
        all.windows(),
        reuse,
        plan.storedPageBytes(reuse));
  }

  private static double rate(long bytes, long nanos) {
    return nanos == 0 ? 0 : (double) bytes / nanos;
  }

  /** Tells whether every byte was right, every request completed, and no rank was lost. */
  public boolean ok() {
    return mismatches == 0 && lostCompletions == 0 && lostRank.isEmpty();
  }

  /**
   * Returns the token hit rate of a cache that evicts the page unused for longest.
   *
   * @param cacheBytes its size
   */
  public double tokenHitRateOf(double cacheBytes) {
    // A size that was once a number of pages is that number again.
    long hits = reuse.hitPages((long) (cacheBytes / storedPageBytes + 1e-6));
    return hits * bestTokenHitRate / Math.max(1, reuse.bestHitPages());
  }

  /**
   * Returns the bytes of the smallest such cache that hits a share of what is possible, 0 if
   * nothing is.
   *
   * @param share from 0 to 1
   */
  public double cacheBytesFor(double share) {
    return reuse.pagesFor(share) * storedPageBytes;
  }

  /** Returns the bytes of all different pages, which is what a store without bounds would hold. */
  public double distinctBytes() {
    return reuse.distinctPages() * storedPageBytes;
  }

  /** Returns the report as one JSON object, in lines. */
  public String toJsonLines(String backend) {
    return new GsonBuilder().setPrettyPrinting().create().toJson(toJson(backend)) + "\n";
  }

  /** Returns the report as one JSON object. */
  public JsonObject toJson(String backend) {
    JsonObject json = new JsonObject();
    json.addProperty("trace", trace);
    json.addProperty("backend", backend);
    json.addProperty("model", plan.model().toString());
    json.addProperty("ranks", plan.ranks());
    json.addProperty("layers", plan.layers());
    json.addProperty("pageBytes", plan.pageBytes());
    json.addProperty("inFlight", plan.inFlight());
    json.addProperty("sidePages", plan.sidePages().toString());
    json.addProperty("failRate", plan.failRate());
    json.addProperty("seed", plan.seed());
    json.addProperty("requests", requests);
    json.addProperty("pages", pages);
    json.addProperty("distinctPages", distinctPages);
    json.addProperty("hitPages", hitPages);
    json.addProperty("tokenHitRate", tokenHitRate);
    json.addProperty("bestTokenHitRate", bestTokenHitRate);
    json.addProperty("bytesLoaded", bytesLoaded);
    json.addProperty("bytesOffloaded", bytesOffloaded);
    json.addProperty("loadGBps", loadGBps);
    json.addProperty("offloadGBps", offloadGBps);
    if (evictions >= 0) {
      json.addProperty("evictions", evictions);
    }
    json.addProperty("failedLoads", failedLoads);
    json.addProperty("failedOffloads", failedOffloads);
    json.addProperty("mismatches", mismatches);
    json.addProperty("lostCompletions", lostCompletions);
    json.addProperty("seconds", seconds);
    json.add("lookup", latency(lookup));
    json.add("firstLayer", latency(firstLayer));
    json.add("load", latency(load));
    json.add("offload", latency(offload));
    lostRank.ifPresent(why -> json.addProperty("lostRank", why));
    firstMismatch.ifPresent(where -> json.addProperty("firstMismatch", where));
    firstFailure.ifPresent(what -> json.addProperty("firstFailure", what));
    return json;
  }

  private static JsonObject latency(Latency latency) {
    JsonObject json = new JsonObject();
    json.addProperty("p50", latency.p50());
    json.addProperty("p95", latency.p95());
    json.addProperty("p99", latency.p99());
    return json;
  }

  /** Returns the report in lines for a reader. */
  public List<String> toLines(String backend) {
    List<String> lines = new ArrayList<>();
    totals(backend).forEach(fact -> lines.add(line(fact)));
    lines.add("");
    lines.add(LATENCY_ROW.formatted("latency, us", "p50", "p95", "p99"));
    latencies()
        .forEach(
            (name, latency) ->
                lines.add(
                    LATENCY_ROW.formatted(
                        name,
                        micros(latency.p50()),
                        micros(latency.p95()),
                        micros(latency.p99()))));
    lines.add("");
    troubles().forEach(fact -> lines.add(line(fact)));
    return lines;
  }

  private static String line(Fact fact) {
    return "%-16s  %s".formatted(fact.name(), fact.value());
  }

  /** Returns what was served, hit and moved. */
  public List<Fact> totals(String backend) {
    return List.of(
        fact("trace", "%s", trace),
        fact(
            "served",
            "by %s, model %s, %d rank(s), %d layers, in %.1f s",
            backend,
            plan.model(),
            plan.ranks(),
            plan.layers(),
            seconds),
        fact("requests", "%,d", requests),
        fact("pages", "%,d of %d tokens, %,d distinct", pages, Trace.BLOCK_TOKENS, distinctPages),
        fact("hit pages", "%,d", hitPages),
        fact(
            "token hit rate",
            "%s, best possible %s%s",
            percent(tokenHitRate),
            percent(bestTokenHitRate),
            tokenHitRate > bestTokenHitRate
                ? " from empty: the store held pages of earlier runs"
                : ""),
        fact("loaded", "%,d bytes, %.2f GB/s", bytesLoaded, loadGBps),
        fact("offloaded", "%,d bytes, %.2f GB/s", bytesOffloaded, offloadGBps));
  }

  /** Returns the latencies by their names. */
  public Map<String, Latency> latencies() {
    Map<String, Latency> latencies = new LinkedHashMap<>();
    latencies.put("lookup", lookup);
    latencies.put("first layer", firstLayer);
    latencies.put("load", load);
    latencies.put("offload", offload);
    return latencies;
  }

  /** Returns what was evicted and what went wrong. */
  public List<Fact> troubles() {
    List<Fact> facts = new ArrayList<>();
    facts.add(
        evictions < 0
            ? fact("evictions", "the store does not tell")
            : fact("evictions", "%,d", evictions));
    facts.add(fact("failed loads", "%,d", failedLoads));
    facts.add(fact("failed offloads", "%,d", failedOffloads));
    facts.add(fact("mismatches", "%,d", mismatches));
    facts.add(fact("lost completions", "%,d", lostCompletions));
    lostRank.ifPresent(why -> facts.add(fact("lost rank", "%s", why)));
    firstFailure.ifPresent(what -> facts.add(fact("first failure", "%s", what)));
    firstMismatch.ifPresent(where -> facts.add(fact("first mismatch", "%s", where)));
    return facts;
  }

  private static Fact fact(String name, String form, Object... values) {
    return new Fact(name, String.format(Locale.ROOT, form, values));
  }

  /** Returns a share, from 0 to 1, as a reader sees it. */
  public static String percent(double share) {
    return String.format(Locale.ROOT, "%.2f %%", 100 * share);
  }

  /** Returns a time as a reader sees it, without its unit. */
  public static String micros(double micros) {
    return String.format(Locale.ROOT, "%,.1f", micros);
  }
}
