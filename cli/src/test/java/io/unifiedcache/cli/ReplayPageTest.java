package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Looks at the page of a replay in a real browser, on screens of a phone and of a desk, light and
 * dark, and holds what it shows against the JSON of the same run.
 */
class ReplayPageTest {
  /** The variable of the environment under which a missing browser is a failure. */
  private static final String DEMAND = "DEMAND_CHROMIUM";

  private static final String MISSING =
      "there is no chromium on the path; on Debian: apt-get install chromium fonts-dejavu-core";

  /** The elements that are seen and have a text of their own. */
  private static final String TEXTS =
      """
      [...document.querySelectorAll('body *')].filter(e =>
          e.checkVisibility() && !e.closest('svg') &&
          [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim()))\
      """;

  /** The contrast of a colour and another, each as the browser computes it, after WCAG 2. */
  private static final String CONTRAST =
      """
      const rgba = color => color.match(/[0-9.]+/g).map(Number);
      const luminance = color => rgba(color).slice(0, 3)
          .map(v => v / 255)
          .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
          .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = e => (rgba(getComputedStyle(e).backgroundColor)[3] ?? 1) === 0
          ? behind(e.parentElement) : getComputedStyle(e).backgroundColor;
      const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05)
          / (Math.min(luminance(a), luminance(b)) + 0.05);
      """;

  @TempDir private static Path folder = Path.of("");

  private static Optional<Browser> browser = Optional.empty();
  private static JsonObject report = new JsonObject();

  @Target(ElementType.METHOD)
  @Retention(RetentionPolicy.RUNTIME)
  @ParameterizedTest(name = "{0} wide, dark {1}")
  @CsvSource({"360, false", "360, true", "1280, false", "1280, true"})
  private @interface OnEveryScreen {}

  @BeforeAll
  static void replay() throws IOException {
    Optional<Path> program = Browser.installed();
    assertThat(program.isPresent() || System.getenv(DEMAND) == null).as(MISSING).isTrue();
    Assumptions.assumeTrue(program.isPresent(), MISSING);
    Path json = folder.resolve("report.json");
    CommandRun run =
        CommandRun.of(
            "replay",
            "--requests=400",
            "--page-bytes=4KiB",
            "--ranks=2",
            "-o",
            "capacity=32MiB",
            "--fail=0.05",
            "--json=" + json,
            "--report=" + page());
    assertThat(run.status()).as(run.err()).isZero();
    report = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    for (String member : List.of("hitPages", "bytesLoaded", "evictions", "failedLoads")) {
      assertThat(count(member)).as(member).isPositive();
    }
    browser = Optional.of(Browser.start(program.orElseThrow(), folder));
  }

  @AfterAll
  static void end() throws IOException {
    if (browser.isPresent()) {
      browser.get().close();
    }
  }

  private static Path page() {
    return folder.resolve("report.html");
  }

  private static Browser shown(int width, boolean dark) throws IOException {
    Browser shown = browser.orElseThrow();
    shown.screen(width, 800, dark);
    shown.show(page());
    shown.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
    return shown;
  }

  @OnEveryScreen
  void page_asksForNothingAndLogsNothing(int width, boolean dark) throws IOException {
    Browser shown = shown(width, dark);

    assertThat(shown.requested()).containsExactly(page().toUri().toString());
    assertThat(shown.logged()).isEmpty();
  }

  @OnEveryScreen
  void page_showsTheNumbersOfTheJson(int width, boolean dark) throws IOException {
    Browser shown = shown(width, dark);

    assertThat(table(shown, "totals"))
        .containsEntry("requests", List.of(form("%,d", count("requests"))))
        .containsEntry(
            "pages",
            List.of(
                form("%,d of 512 tokens, %,d distinct", count("pages"), count("distinctPages"))))
        .containsEntry("hit pages", List.of(form("%,d", count("hitPages"))))
        .containsEntry(
            "token hit rate",
            List.of(
                form(
                    "%.2f %%, best possible %.2f %%",
                    100 * number("tokenHitRate"), 100 * number("bestTokenHitRate"))))
        .containsEntry(
            "loaded",
            List.of(form("%,d bytes, %.2f GB/s", count("bytesLoaded"), number("loadGBps"))))
        .containsEntry(
            "offloaded",
            List.of(form("%,d bytes, %.2f GB/s", count("bytesOffloaded"), number("offloadGBps"))));
    assertThat(table(shown, "troubles"))
        .containsEntry("evictions", List.of(form("%,d", count("evictions"))))
        .containsEntry("failed loads", List.of(form("%,d", count("failedLoads"))))
        .containsEntry("failed offloads", List.of("0"))
        .containsEntry("mismatches", List.of("0"))
        .containsEntry("lost completions", List.of("0"))
        .containsEntry("first failure", List.of(report.get("firstFailure").getAsString()));
    Map<String, List<String>> latencies = table(shown, "latencies");
    assertThat(latencies.get("lookup")).startsWith(percentiles("lookup")).endsWith("800");
    assertThat(latencies.get("first layer")).startsWith(percentiles("firstLayer"));
    assertThat(latencies.get("load")).startsWith(percentiles("load"));
    assertThat(latencies.get("offload")).startsWith(percentiles("offload"));
    assertThat(table(shown, "settings"))
        .containsEntry("model", List.of("mha"))
        .containsEntry("ranks", List.of("2"))
        .containsEntry("page bytes", List.of("4KiB"))
        .containsEntry("-o capacity", List.of("32MiB"));
    assertThat(shown.evaluate("document.getElementById('verdict').innerText").getAsString())
        .contains(form("Every byte was right, but %,d loads failed", count("failedLoads")));
  }

  @OnEveryScreen
  void windows_addUpToTheJson(int width, boolean dark) throws IOException {
    Browser shown = shown(width, dark);
    long[] sums = new long[7];

    Map<String, List<String>> windows = table(shown, "windows");
    for (List<String> row : windows.values()) {
      for (int i = 0; i < sums.length; i++) {
        sums[i] += Long.parseLong(row.get(3 + i).replace(",", ""));
      }
    }

    assertThat(windows).hasSize(100);
    assertThat(sums)
        .containsExactly(
            count("hitPages"),
            count("bytesLoaded"),
            count("bytesOffloaded"),
            count("evictions"),
            count("failedLoads"),
            count("failedOffloads"),
            count("mismatches"));
  }

  @OnEveryScreen
  void charts_areDrawn(int width, boolean dark) throws IOException {
    Browser shown = shown(width, dark);
    List<String> lastWindow = List.copyOf(table(shown, "windows").values()).getLast();

    // The share of its chart's height that each drawn shape takes.
    JsonArray charts =
        shown
            .evaluate(
                """
                [...document.querySelectorAll('svg')].map(svg => {
                  const whole = svg.getBoundingClientRect();
                  const path = [...svg.querySelectorAll('.area, .line')]
                      .map(p => p.getBoundingClientRect().height / whole.height);
                  return [whole.width, whole.height, Math.max(...path), svg.ariaLabel.length];
                })\
                """)
            .getAsJsonArray();

    assertThat(charts).hasSize(10);
    for (JsonElement chart : charts) {
      JsonArray measures = chart.getAsJsonArray();
      assertThat(measures.get(0).getAsDouble()).as("width").isBetween(200.0, (double) width);
      assertThat(measures.get(1).getAsDouble()).as("height").isGreaterThan(50);
      assertThat(measures.get(2).getAsDouble()).as("share that is used").isBetween(0.3, 1.01);
      assertThat(measures.get(3).getAsInt()).as("words for those who do not see it").isPositive();
    }
    assertThat(
            shown
                .evaluate(
                    "[...document.querySelectorAll('.hint title')].map(t => t.textContent).join()")
                .getAsString())
        .contains(form("loaded %s bytes", lastWindow.get(4)));
  }

  @OnEveryScreen
  void page_fitsTheScreen(int width, boolean dark) throws IOException {
    Browser shown = shown(width, dark);

    assertThat(shown.evaluate("document.documentElement.scrollWidth").getAsInt())
        .isLessThanOrEqualTo(width);
    assertThat(
            shown.evaluate(
                TEXTS
                    + """
                    .filter(e => !e.closest('.scroll')).filter(e => {
                      const box = e.getBoundingClientRect();
                      return box.left < 0 || box.right > document.documentElement.clientWidth;
                    }).map(e => e.outerHTML)\
                    """))
        .isEqualTo(new JsonArray());
  }

  @OnEveryScreen
  void texts_areReadable(int width, boolean dark) throws IOException {
    Browser shown = shown(width, dark);

    assertThat(
            shown.evaluate(
                "(() => {%s; return %s%s})()"
                    .formatted(
                        CONTRAST,
                        TEXTS,
                        """
                        .filter(e => parseFloat(getComputedStyle(e).fontSize) < 11.9
                            || contrast(getComputedStyle(e).color, behind(e)) < 4.5)
                        .map(e => e.outerHTML)\
                        """)))
        .isEqualTo(new JsonArray());
    assertThat(
            shown
                .evaluate(
                    "(() => {%s; return luminance(getComputedStyle(document.body).color)})()"
                        .formatted(CONTRAST))
                .getAsDouble())
        .isBetween(dark ? 0.5 : 0.0, dark ? 1.0 : 0.1);
  }

  /** Returns the cells of a table by the first of their row, as they are seen. */
  private static Map<String, List<String>> table(Browser shown, String id) throws IOException {
    JsonArray rows =
        shown
            .evaluate(
                """
                [...document.querySelectorAll('#%s tbody tr')]
                    .map(row => [...row.cells].map(cell => cell.innerText))\
                """
                    .formatted(id))
            .getAsJsonArray();
    Map<String, List<String>> table = new LinkedHashMap<>();
    for (JsonElement row : rows) {
      List<String> cells =
          row.getAsJsonArray().asList().stream().map(JsonElement::getAsString).toList();
      table.put(cells.getFirst(), cells.subList(1, cells.size()));
    }
    return table;
  }

  private static String[] percentiles(String latency) {
    JsonObject percentiles = report.getAsJsonObject(latency);
    return List.of("p50", "p95", "p99").stream()
        .map(name -> form("%,.1f", percentiles.get(name).getAsDouble()))
        .toArray(String[]::new);
  }

  private static long count(String member) {
    return report.get(member).getAsLong();
  }

  private static double number(String member) {
    return report.get(member).getAsDouble();
  }

  private static String form(String form, Object... values) {
    return String.format(Locale.ROOT, form, values);
  }
}
