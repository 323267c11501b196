package io.unifiedcache.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.unifiedcache.cli.replay.ReplayReport;
import io.unifiedcache.cli.replay.SidePages;
import io.unifiedcache.cli.replay.Trace;
import io.unifiedcache.cli.replay.TraceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportPageTest {
  private static final Pattern DATA =
      Pattern.compile("<script type=\"application/json\" id=\"data\">(.*?)</script>");

  private static JsonObject data(String page) {
    Matcher matcher = DATA.matcher(page);
    assertThat(matcher.find()).isTrue();
    return JsonParser.parseString(matcher.group(1)).getAsJsonObject();
  }

  @Test
  void data_isThatOfTheReport() throws TraceException {
    ReplayReport report = Replayed.of(Trace.sample().part(0, 120), SidePages.TAIL, 0.3);

    JsonObject data = data(ReportPage.of(report, "memory", Map.of()));

    JsonObject totals = data.getAsJsonObject("report");
    assertThat(totals).isEqualTo(JsonParser.parseString(report.toJsonLines("memory")));
    for (String member :
        List.of(
            "requests",
            "hitPages",
            "bytesLoaded",
            "bytesOffloaded",
            "evictions",
            "failedLoads",
            "failedOffloads",
            "mismatches",
            "lostCompletions")) {
      long sum = 0;
      for (JsonElement window : data.getAsJsonArray("windows")) {
        sum += window.getAsJsonObject().get(member).getAsLong();
      }
      assertThat(sum).as(member).isEqualTo(totals.get(member).getAsLong());
    }
    assertThat(totals.get("failedLoads").getAsLong()).isPositive();
    JsonObject latencies = data.getAsJsonObject("latencies");
    assertThat(latencies.keySet()).containsExactly("lookup", "first layer", "load", "offload");
    long lookups = 0;
    for (JsonElement bucket : latencies.getAsJsonArray("lookup")) {
      lookups += bucket.getAsJsonArray().get(2).getAsLong();
    }
    assertThat(lookups).isEqualTo(2 * 120);
  }

  @Test
  void page_withNamesThatAreMarkup_showsThemAsText(@TempDir Path folder)
      throws IOException, TraceException {
    Path trace = folder.resolve("<script>alert('a')<&amp;\">.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [7, 8]}
        """);

    ReplayReport report = Replayed.changed(Replayed.of(trace), 0, 0, 0, 1, 0, -1);
    String page =
        ReportPage.of(report, "<i>memory</i>", Map.of("</script>", "\" onload=\"alert(1)"));

    assertThat(page)
        .doesNotContain("<script>", "<i>memory", "<img", "\" onload=")
        .contains("&lt;script&gt;alert('a')&lt;&amp;amp;&quot;&gt;.jsonl")
        .contains("&lt;img src=x&gt; &amp; more");
    assertThat(page.split("</script>", -1)).hasSize(2);
    assertThat(data(page).getAsJsonObject("report").get("trace").getAsString())
        .isEqualTo(trace.toString());
  }

  @Test
  void page_ofAStoreThatTellsNoEvictions_givesNoNumberOfThem() throws TraceException {
    ReplayReport report = Replayed.changed(Replayed.sample(20), 0, -1, 0, 0, 0, -1);
    String page = ReportPage.of(report, "mooncake", Map.of());

    assertThat(page).contains("The store does not tell what it evicts.", "<td>not told</td>");
    assertThat(report.toJsonLines("mooncake")).doesNotContain("evictions");
    JsonObject data = data(page);
    assertThat(data.getAsJsonObject("report").has("evictions")).isFalse();
    assertThat(data.getAsJsonArray("windows"))
        .isNotEmpty()
        .noneMatch(window -> window.getAsJsonObject().has("evictions"));
  }

  @Test
  void page_namesNothingOutside() throws TraceException {
    String page = ReportPage.of(Replayed.sample(20), "memory", Map.of());

    assertThat(page)
        .contains("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
        .doesNotContain("http://", "https://", "@import", "url(", " src=");
  }

  @Test
  void page_ofAnyLanguage_isTheSame() throws TraceException {
    ReplayReport report = Replayed.sample(20);
    String page = ReportPage.of(report, "memory", Map.of());
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.GERMANY);
    try {
      assertThat(ReportPage.of(report, "memory", Map.of())).isEqualTo(page);
    } finally {
      Locale.setDefault(before);
    }
  }
}
