package io.unifiedcache.cli.report;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.cli.replay.Counts;
import io.unifiedcache.cli.replay.ReplayPlan;
import io.unifiedcache.cli.replay.ReplayReport;
import io.unifiedcache.cli.replay.ReplayReport.Bucket;
import io.unifiedcache.cli.replay.ReplayReport.Fact;
import io.unifiedcache.cli.replay.ReplayReport.Latency;
import io.unifiedcache.cli.replay.Window;
import io.unifiedcache.cli.report.Chart.Step;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The page that shows what a replay has found: one HTML file that needs nothing else, runs no
 * script, and forbids the browser to ask the network for anything.
 *
 * <p>The element {@code data} holds the numbers behind it as one JSON object: {@code report}, as
 * the command writes it, {@code windows} and {@code latencies}.
 */
public final class ReportPage {
  private static final String STYLE = "report.css";
  private static final List<Double> SHARES = List.of(0.5, 0.75, 0.9, 0.95, 0.99, 1.0);
  private static final int CURVE_STEPS = 200;

  private final ReplayReport report;
  private final String backend;
  private final Map<String, String> settings;
  private final Html html = new Html();

  private ReportPage(ReplayReport report, String backend, Map<String, String> settings) {
    this.report = report;
    this.backend = backend;
    this.settings = settings;
  }

  /**
   * Returns the page.
   *
   * @param settings the settings of the store and the linker to show, by key
   */
  public static String of(ReplayReport report, String backend, Map<String, String> settings) {
    return new ReportPage(report, backend, settings).write();
  }

  private String write() {
    html.open("html", "lang", "en");
    head();
    html.open("body").open("main");
    headline();
    html.open("div", "class", "charts");
    cacheSizes();
    hitRate();
    bytes();
    latencies();
    html.open("div", "class", "stack");
    evictions();
    failures();
    html.close();
    html.close();
    html.open("div", "class", "charts");
    facts("Totals", "totals", report.totals(backend));
    facts("Settings", "settings", settings());
    html.close();
    windows();
    html.close();
    html.open("script", "type", "application/json", "id", "data");
    html.verbatim(new Gson().toJson(data())).close();
    return html.close().close().toString();
  }

  private void head() {
    html.open("head");
    html.empty("meta", "charset", "utf-8");
    html.empty(
        "meta",
        "http-equiv",
        "Content-Security-Policy",
        "content",
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'");
    html.empty("meta", "name", "viewport", "content", "width=device-width, initial-scale=1");
    html.empty("meta", "name", "color-scheme", "content", "light dark");
    // Without it, a browser asks for one.
    html.empty("link", "rel", "icon", "href", "data:,");
    html.leaf("title", Numbers.text("Replay of %s on %s", report.trace(), backend));
    html.open("style").verbatim(style()).close();
    html.close();
  }

  private static String style() {
    try (InputStream in = ReportPage.class.getResourceAsStream(STYLE)) {
      if (in == null) {
        throw new IllegalStateException("the resource " + STYLE + " is missing");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void headline() {
    Headline headline = Headline.of(report);
    html.open("header");
    html.leaf("p", Numbers.text("Replay of %s on %s", report.trace(), backend), "class", "what");
    html.leaf("h1", headline.size(), "id", "size");
    html.leaf("p", headline.run(), "id", "run");
    html.open("p", "id", "verdict", "class", headline.state().name().toLowerCase(Locale.ROOT));
    html.leaf("span", headline.state() == Headline.State.SOUND ? "✓" : "!", "aria-hidden", "true");
    html.text(headline.verdict()).close();
    html.close();
  }

  private void cacheSizes() {
    section(
        "How large a cache",
        "Token hit rate by cache size, if the page unused for longest is evicted first",
        "wide");
    if (report.bestTokenHitRate() == 0) {
      html.leaf("p", "There is nothing to hit in this traffic.", "class", "none").close();
      return;
    }
    html.open("div", "class", "beside");
    cacheSizeChart();
    html.open("table", "id", "sizes");
    head("Cache size", "Token hit rate", "Of the possible");
    html.open("tbody");
    for (double share : SHARES) {
      double bytes = report.cacheBytesFor(share);
      row(
          Numbers.sizeUp(bytes),
          ReplayReport.percent(report.tokenHitRateOf(bytes)),
          Numbers.text("%.0f %%", 100 * share));
    }
    html.close().close().close();
    String note =
        Numbers.text(
            "A page takes %s in the store, on all ranks together; all different pages take %s.",
            Numbers.size(report.storedPageBytes()), Numbers.size(report.distinctBytes()));
    String windows = " Windows, of which only the ends of prompts are kept, hit less.";
    html.leaf("p", report.plan().keepsTailsAlone() ? note + windows : note, "class", "note");
    html.close();
  }

  private void cacheSizeChart() {
    double from = Math.max(report.storedPageBytes(), report.distinctBytes() / 4096);
    double to = 1.2 * Math.max(report.distinctBytes(), (double) report.capacityBytes());
    List<Step> curve = new ArrayList<>();
    double last = from;
    for (int i = 1; i <= CURVE_STEPS; i++) {
      double next = from * Math.pow(to / from, (double) i / CURVE_STEPS);
      curve.add(new Step(last, next, report.tokenHitRateOf(last)));
      last = next;
    }
    double enough = report.cacheBytesFor(Headline.ENOUGH);
    Chart chart =
        new Chart(
                Axis.powers(from, to, to / from > 1 << 10 ? 16 : 4, Numbers::size),
                Axis.shares(report.bestTokenHitRate()))
            .area("hit", curve)
            .line("hit", curve)
            .mark("advice", enough, Numbers.sizeUp(enough) + " deserved");
    if (report.capacityBytes() >= from) {
      chart.mark(
          "run",
          (double) report.capacityBytes(),
          "this run, " + Numbers.size((double) report.capacityBytes()));
    }
    for (Step step : curve) {
      chart.hint(
          step.from(),
          step.to(),
          Numbers.size(step.from()) + ": " + ReplayReport.percent(step.value()));
    }
    chart.write(html, "", "Token hit rate by cache size; the table beside it has its main values");
  }

  private void hitRate() {
    section("Hit rate over time", "Tokens from the cache, of the prompt tokens of a window", "");
    legend("hit", "hit", "best", "best possible");
    Axis y =
        Axis.shares(most(window -> Math.max(window.tokenHitRate(), window.bestTokenHitRate())));
    overTime(
        new Chart(requests(), y)
            .area("best", steps(Window::bestTokenHitRate))
            .line("hit", steps(Window::tokenHitRate)),
        window ->
            Numbers.text(
                "hit %s, best possible %s",
                ReplayReport.percent(window.tokenHitRate()),
                ReplayReport.percent(window.bestTokenHitRate())),
        "Token hit rate of each window beside the best possible");
    html.close();
  }

  private void bytes() {
    section("Bytes over time", "Loaded from the store and offloaded into it, per window", "");
    legend("load", "loaded", "offload", "offloaded");
    Axis y =
        Axis.bytes(
            most(
                window ->
                    Math.max(window.counts().bytesLoaded(), window.counts().bytesOffloaded())));
    overTime(
        new Chart(requests(), y)
            .area("offload", steps(window -> window.counts().bytesOffloaded()))
            .line("offload", steps(window -> window.counts().bytesOffloaded()))
            .line("load", steps(window -> window.counts().bytesLoaded())),
        window ->
            Numbers.text(
                "loaded %,d bytes, offloaded %,d bytes",
                window.counts().bytesLoaded(), window.counts().bytesOffloaded()),
        "Bytes loaded and offloaded in each window");
    html.close();
  }

  private void latencies() {
    section("Latencies", "How many took how long, on a logarithmic axis", "fill");
    double from = Double.POSITIVE_INFINITY;
    double to = 0;
    for (Latency latency : report.latencies().values()) {
      for (Bucket bucket : latency.buckets()) {
        from = Math.min(from, bucket.from());
        to = Math.max(to, bucket.to());
      }
    }
    if (to == 0) {
      html.leaf("p", "Nothing was timed.", "class", "none").close();
      return;
    }
    legend("p50", "p50", "p95", "p95", "p99", "p99");
    Axis x = Axis.powers(from, to, 10, Numbers::duration);
    report.latencies().forEach((name, latency) -> latency(name, latency, x));
    html.open("table", "id", "latencies");
    head("latency, us", "p50", "p95", "p99", "count");
    html.open("tbody");
    report
        .latencies()
        .forEach(
            (name, latency) ->
                row(
                    name,
                    ReplayReport.micros(latency.p50()),
                    ReplayReport.micros(latency.p95()),
                    ReplayReport.micros(latency.p99()),
                    Numbers.count(latency.count())));
    html.close().close();
    html.close();
  }

  private void latency(String name, Latency latency, Axis x) {
    double most = latency.buckets().stream().mapToDouble(Bucket::count).max().orElse(1);
    Chart chart = new Chart(x, new Axis(0, most, /* logarithmic= */ false, List.of()));
    for (Bucket bucket : latency.buckets()) {
      // A bar of which nothing is seen would hide the slowest.
      chart.bar(
          "hit",
          new Step(bucket.from(), bucket.to(), Math.max((double) bucket.count(), 0.04 * most)),
          0,
          Numbers.text(
              "%s to %s us: %,d",
              ReplayReport.micros(bucket.from()),
              ReplayReport.micros(bucket.to()),
              bucket.count()));
    }
    if (latency.count() > 0) {
      chart
          .mark("p50", latency.p50(), "")
          .mark("p95", latency.p95(), "")
          .mark("p99", latency.p99(), "");
    }
    html.leaf("h3", name);
    chart.write(
        html, "low", "Distribution of the latency of " + name + "; the table has its percentiles");
  }

  private void evictions() {
    section("Evictions over time", "Objects evicted per window, and what the store holds", "");
    if (report.evictions() <= 0) {
      html.leaf(
          "p",
          report.evictions() < 0
              ? "The store does not tell what it evicts."
              : "Nothing was evicted.",
          "class",
          "none");
    } else {
      overTime(
          new Chart(requests(), Axis.counts(most(window -> window.counts().evictions())))
              .area("evicted", steps(window -> window.counts().evictions()))
              .line("evicted", steps(window -> window.counts().evictions())),
          window -> Numbers.text("%,d evictions", window.counts().evictions()),
          "Objects evicted in each window");
    }
    if (report.windows().stream().allMatch(window -> window.liveBytes() >= 0)) {
      html.leaf("h3", "Bytes in the store at the end of a window");
      overTime(
          new Chart(requests(), Axis.bytes(most(Window::liveBytes)))
              .area("best", steps(Window::liveBytes))
              .line("live", steps(Window::liveBytes)),
          window -> Numbers.text("%,d bytes in the store", window.liveBytes()),
          "Bytes in the store at the end of each window");
    }
    html.close();
  }

  private void failures() {
    section("Failures", "Requests that failed per window", "");
    List<Failure> kinds =
        List.of(
            new Failure("failed loads", "load", Counts::failedLoads),
            new Failure("failed offloads", "offload", Counts::failedOffloads),
            new Failure("mismatches", "wrong", Counts::mismatches),
            new Failure("lost completions", "lost", Counts::lostCompletions));
    double most = most(window -> kinds.stream().mapToDouble(kind -> kind.in(window)).sum());
    if (most == 0) {
      html.leaf("p", "Nothing failed.", "class", "none");
    } else {
      legend(
          kinds.stream()
              .flatMap(kind -> Stream.of(kind.style(), kind.name()))
              .toArray(String[]::new));
      Chart chart = new Chart(requests(), Axis.counts(most));
      for (Window window : report.windows()) {
        double bottom = 0;
        for (Failure kind : kinds) {
          double count = kind.in(window);
          if (count > 0) {
            double end = window.firstRequest() + window.requests();
            chart.bar(
                kind.style(), new Step(window.firstRequest(), end, bottom + count), bottom, "");
          }
          bottom += count;
        }
      }
      overTime(
          chart,
          window ->
              kinds.stream()
                  .map(kind -> Numbers.text("%s %,.0f", kind.name(), kind.in(window)))
                  .collect(Collectors.joining(", ")),
          "Failures of each window");
    }
    table("troubles", report.troubles());
    html.close();
  }

  private record Failure(String name, String style, ToDoubleFunction<Counts> count) {
    double in(Window window) {
      return count.applyAsDouble(window.counts());
    }
  }

  private List<Fact> settings() {
    ReplayPlan plan = report.plan();
    List<Fact> facts = new ArrayList<>();
    facts.add(new Fact("backend", backend));
    facts.add(
        new Fact(
            "capacity",
            report.capacityBytes() < 0
                ? "unknown"
                : new ByteSize(report.capacityBytes()).toString()));
    facts.add(new Fact("model", plan.model().toString()));
    facts.add(new Fact("ranks", Numbers.count(plan.ranks())));
    facts.add(new Fact("layers", Numbers.count(plan.layers())));
    facts.add(new Fact("page bytes", new ByteSize(plan.pageBytes()).toString()));
    facts.add(new Fact("in flight", Numbers.count(plan.inFlight())));
    facts.add(new Fact("side pages", plan.sidePages().toString()));
    facts.add(new Fact("pace", plan.pace() == 0 ? "as fast as possible" : plan.pace() + " times"));
    facts.add(new Fact("loads to fail", ReplayReport.percent(plan.failRate())));
    facts.add(new Fact("seed", Long.toString(plan.seed())));
    settings.forEach((key, value) -> facts.add(new Fact("-o " + key, value)));
    return facts;
  }

  private void facts(String title, String id, List<Fact> facts) {
    section(title, "", "");
    table(id, facts);
    html.close();
  }

  private void table(String id, List<Fact> facts) {
    html.open("table", "class", "facts", "id", id).open("tbody");
    facts.forEach(fact -> row(fact.name(), fact.value()));
    html.close().close();
  }

  private void windows() {
    html.open("details", "class", "card");
    html.leaf("summary", "The numbers behind the charts, window by window");
    html.open("div", "class", "scroll", "tabindex", "0");
    html.open("table", "id", "windows");
    head(
        "Requests",
        "Trace time",
        "Hit rate",
        "Best",
        "Hit pages",
        "Bytes loaded",
        "Bytes offloaded",
        "Evictions",
        "Failed loads",
        "Failed offloads",
        "Mismatches",
        "Lost");
    html.open("tbody");
    for (Window window : report.windows()) {
      Counts counts = window.counts();
      row(
          range(window),
          Numbers.time(window.fromSeconds()),
          ReplayReport.percent(window.tokenHitRate()),
          ReplayReport.percent(window.bestTokenHitRate()),
          Numbers.count(counts.hitPages()),
          Numbers.count(counts.bytesLoaded()),
          Numbers.count(counts.bytesOffloaded()),
          report.evictions() < 0 ? "not told" : Numbers.count(counts.evictions()),
          Numbers.count(counts.failedLoads()),
          Numbers.count(counts.failedOffloads()),
          Numbers.count(counts.mismatches()),
          Numbers.count(counts.lostCompletions()));
    }
    html.close().close().close().close();
  }

  private JsonObject data() {
    JsonArray windows = new JsonArray();
    report.windows().forEach(window -> windows.add(data(window)));
    JsonObject latencies = new JsonObject();
    report.latencies().forEach((name, latency) -> latencies.add(name, data(latency)));
    JsonObject data = new JsonObject();
    data.add("report", report.toJson(backend));
    data.add("windows", windows);
    data.add("latencies", latencies);
    return data;
  }

  private JsonObject data(Window window) {
    JsonObject json = new JsonObject();
    json.addProperty("firstRequest", window.firstRequest());
    json.addProperty("requests", window.requests());
    json.addProperty("fromSeconds", window.fromSeconds());
    json.addProperty("toSeconds", window.toSeconds());
    json.addProperty("promptTokens", window.promptTokens());
    json.addProperty("bestHitPages", window.bestHitPages());
    json.addProperty("hitPages", window.counts().hitPages());
    json.addProperty("bytesLoaded", window.counts().bytesLoaded());
    json.addProperty("bytesOffloaded", window.counts().bytesOffloaded());
    if (report.evictions() >= 0) {
      json.addProperty("evictions", window.counts().evictions());
    }
    json.addProperty("failedLoads", window.counts().failedLoads());
    json.addProperty("failedOffloads", window.counts().failedOffloads());
    json.addProperty("mismatches", window.counts().mismatches());
    json.addProperty("lostCompletions", window.counts().lostCompletions());
    json.addProperty("liveBytes", window.liveBytes());
    return json;
  }

  /** Returns the buckets, each as its bounds in microseconds and its count. */
  private static JsonArray data(Latency latency) {
    JsonArray buckets = new JsonArray();
    for (Bucket bucket : latency.buckets()) {
      JsonArray row = new JsonArray();
      row.add(bucket.from());
      row.add(bucket.to());
      row.add(bucket.count());
      buckets.add(row);
    }
    return buckets;
  }

  private void section(String title, String what, String style) {
    html.open("section", "class", ("card " + style).strip());
    html.leaf("h2", title);
    if (!what.isEmpty()) {
      html.leaf("p", what, "class", "what");
    }
  }

  private void legend(String... stylesAndNames) {
    html.open("p", "class", "legend");
    for (int i = 0; i < stylesAndNames.length; i += 2) {
      html.open("span").leaf("i", "", "class", stylesAndNames[i]);
      html.text(stylesAndNames[i + 1]).close();
    }
    html.close();
  }

  private void overTime(Chart chart, Function<Window, String> hint, String label) {
    for (Window window : report.windows()) {
      chart.hint(
          window.firstRequest(),
          window.firstRequest() + window.requests(),
          Numbers.text(
              "requests %s, from %s: %s",
              range(window), Numbers.time(window.fromSeconds()), hint.apply(window)));
    }
    chart.write(html, "", label + "; the table at the end of the page has all values");
  }

  private List<Step> steps(ToDoubleFunction<Window> value) {
    return report.windows().stream()
        .map(
            window ->
                new Step(
                    window.firstRequest(),
                    window.firstRequest() + window.requests(),
                    value.applyAsDouble(window)))
        .toList();
  }

  private double most(ToDoubleFunction<Window> value) {
    return report.windows().stream().mapToDouble(value).max().orElse(0);
  }

  /** Returns the axis of requests, with the trace's time below their numbers. */
  private Axis requests() {
    Axis round = Axis.linear(report.requests(), 1, value -> "");
    List<Axis.Tick> ticks =
        round.ticks().stream()
            .filter(tick -> tick.value() <= report.requests())
            .map(
                tick ->
                    new Axis.Tick(
                        tick.value(),
                        Numbers.text("%,.0f\n%s", tick.value(), timeAt(tick.value()))))
            .toList();
    return new Axis(0, report.requests(), /* logarithmic= */ false, ticks);
  }

  private String timeAt(double request) {
    double seconds = 0;
    for (Window window : report.windows()) {
      seconds = window.firstRequest() <= request ? window.fromSeconds() : seconds;
    }
    return Numbers.time(
        request >= report.requests() ? report.windows().getLast().toSeconds() : seconds);
  }

  private static String range(Window window) {
    int last = window.firstRequest() + window.requests();
    return window.requests() == 1
        ? Numbers.count(last)
        : Numbers.text("%,d–%,d", window.firstRequest() + 1, last);
  }

  private void head(String... names) {
    html.open("thead").open("tr");
    for (String name : names) {
      html.leaf("th", name, "scope", "col");
    }
    html.close().close();
  }

  private void row(String name, String... values) {
    html.open("tr").leaf("th", name, "scope", "row");
    for (String value : values) {
      html.leaf("td", value);
    }
    html.close();
  }
}
