package io.unifiedcache.cli.replay;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;

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
 * @param evictions objects that the store evicted meanwhile
 * @param failedLoads load requests that failed, counted once for all ranks
 * @param failedOffloads offload requests of which a page was not stored, likewise
 * @param mismatches pieces of memory, of all ranks, that did not hold what they must
 * @param lostCompletions requests that never completed, likewise counted once
 * @param seconds how long the replay took
 * @param lookup latency of lookups
 * @param firstLayer latency from the start of a load to its first layer
 * @param load latency from the start of a load to its completion
 * @param offload latency from queueing an offload to its completion
 * @param firstMismatch where the first mismatch was
 * @param firstFailure what the first failure was
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
    Optional<String> firstMismatch,
    Optional<String> firstFailure) {
  /** Percentiles in microseconds, 0 if nothing was timed. */
  public record Latency(double p50, double p95, double p99) {
    static Latency of(List<Tally> tallies, Function<Tally, Histogram> which) {
      Histogram all = new Histogram(3);
      tallies.forEach(tally -> all.add(which.apply(tally)));
      return new Latency(micros(all, 50), micros(all, 95), micros(all, 99));
    }

    private static double micros(Histogram histogram, double percentile) {
      return histogram.getTotalCount() == 0
          ? 0
          : histogram.getValueAtPercentile(percentile) / 1000.0;
    }
  }

  /** What is counted once, whatever the number of ranks. */
  record Served(int requests, long pages, long distinctPages, long nanos) {}

  static ReplayReport of(Trace trace, ReplayPlan plan, ReplayShare all) {
    Served served = all.served();
    List<Tally> ranks = all.ranks();
    long tokens = Math.max(1, trace.promptTokens());
    long hitPages = most(ranks, tally -> tally.hitPages);
    long bytesLoaded = ranks.stream().mapToLong(tally -> tally.bytesLoaded).sum();
    return new ReplayReport(
        trace.name(),
        plan,
        served.requests(),
        served.pages(),
        served.distinctPages(),
        hitPages,
        (double) hitPages * Trace.BLOCK_TOKENS / tokens,
        (double) trace.bestHitPages() * Trace.BLOCK_TOKENS / tokens,
        bytesLoaded,
        all.bytesOffloaded(),
        rate(bytesLoaded, most(ranks, tally -> tally.loadNanos)),
        rate(all.bytesOffloaded(), most(ranks, tally -> tally.offloadNanos)),
        all.evictions(),
        most(ranks, tally -> tally.failedLoads),
        most(ranks, tally -> tally.failedOffloads),
        ranks.stream().mapToLong(tally -> tally.mismatches).sum(),
        most(ranks, tally -> tally.lostCompletions),
        served.nanos() / 1e9,
        Latency.of(ranks, tally -> tally.lookup),
        Latency.of(ranks, tally -> tally.firstLayer),
        Latency.of(ranks, tally -> tally.load),
        Latency.of(ranks, tally -> tally.offload),
        ranks.stream().flatMap(tally -> tally.firstMismatch().stream()).findFirst(),
        ranks.stream().flatMap(tally -> tally.firstFailure().stream()).findFirst());
  }

  /** Completions are verdicts of all ranks, so ranks differ only where one lost a completion. */
  private static long most(List<Tally> ranks, ToLongFunction<Tally> count) {
    return ranks.stream().mapToLong(count).max().orElse(0);
  }

  private static double rate(long bytes, long nanos) {
    return nanos == 0 ? 0 : (double) bytes / nanos;
  }

  /** Tells whether every byte was right and every request completed. */
  public boolean ok() {
    return mismatches == 0 && lostCompletions == 0;
  }

  /** Returns the report as one JSON object. */
  public String toJson(String backend) {
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
    json.addProperty("evictions", evictions);
    json.addProperty("failedLoads", failedLoads);
    json.addProperty("failedOffloads", failedOffloads);
    json.addProperty("mismatches", mismatches);
    json.addProperty("lostCompletions", lostCompletions);
    json.addProperty("seconds", seconds);
    json.add("lookup", latency(lookup));
    json.add("firstLayer", latency(firstLayer));
    json.add("load", latency(load));
    json.add("offload", latency(offload));
    firstMismatch.ifPresent(where -> json.addProperty("firstMismatch", where));
    firstFailure.ifPresent(what -> json.addProperty("firstFailure", what));
    return new GsonBuilder().setPrettyPrinting().create().toJson(json) + "\n";
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
    line(lines, "trace", "%s", trace);
    line(
        lines,
        "served",
        "by %s, model %s, %d rank(s), %d layers, in %.1f s",
        backend,
        plan.model(),
        plan.ranks(),
        plan.layers(),
        seconds);
    line(lines, "requests", "%,d", requests);
    line(
        lines, "pages", "%,d of %d tokens, %,d distinct", pages, Trace.BLOCK_TOKENS, distinctPages);
    line(lines, "hit pages", "%,d", hitPages);
    line(
        lines,
        "token hit rate",
        "%.2f %%, best possible %.2f %%",
        100 * tokenHitRate,
        100 * bestTokenHitRate);
    line(lines, "loaded", "%,d bytes, %.2f GB/s", bytesLoaded, loadGBps);
    line(lines, "offloaded", "%,d bytes, %.2f GB/s", bytesOffloaded, offloadGBps);
    lines.add("");
    lines.add(row("latency, us", "p50", "p95", "p99"));
    lines.add(row("lookup", lookup));
    lines.add(row("first layer", firstLayer));
    lines.add(row("load", load));
    lines.add(row("offload", offload));
    lines.add("");
    line(lines, "evictions", "%,d", evictions);
    line(lines, "failed loads", "%,d", failedLoads);
    line(lines, "failed offloads", "%,d", failedOffloads);
    line(lines, "mismatches", "%,d", mismatches);
    line(lines, "lost completions", "%,d", lostCompletions);
    firstFailure.ifPresent(what -> line(lines, "first failure", "%s", what));
    firstMismatch.ifPresent(where -> line(lines, "first mismatch", "%s", where));
    return lines;
  }

  private static void line(List<String> lines, String name, String form, Object... values) {
    lines.add("%-16s  ".formatted(name) + String.format(Locale.ROOT, form, values));
  }

  private static String row(String name, Latency latency) {
    return row(name, number(latency.p50()), number(latency.p95()), number(latency.p99()));
  }

  private static String row(String name, String p50, String p95, String p99) {
    return "%-16s  %12s %12s %12s".formatted(name, p50, p95, p99);
  }

  private static String number(double micros) {
    return String.format(Locale.ROOT, "%,.1f", micros);
  }
}
