package io.unifiedcache.conformance.result;

import static io.unifiedcache.conformance.result.Text.html;

import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/** A report for people: one page that needs nothing else. */
final class HtmlReport {
  private static final List<Outcome> WORST_FIRST =
      List.of(
          Outcome.FAILED,
          Outcome.HARNESS_ERROR,
          Outcome.SET_ASIDE,
          Outcome.NO_HOOK,
          Outcome.NOT_APPLICABLE,
          Outcome.PASSED);

  private static final String HEAD =
      """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>%s</title>
      <style>
      :root { color-scheme: light dark; --line: #8884; --bad: #c62828; --good: #2e7d32; }
      @media (prefers-color-scheme: dark) { :root { --bad: #ef9a9a; --good: #a5d6a7; } }
      body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: auto; padding: 1rem; }
      h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
      table { border-collapse: collapse; width: 100%%; }
      td, th { text-align: left; vertical-align: top; padding: .3rem .5rem; border-top: 1px solid var(--line); }
      td:first-child { font-family: ui-monospace, monospace; white-space: nowrap; }
      pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: .85rem/1.4 ui-monospace, monospace; }
      .failed, .harness-error, .not-conformant, .unknown { color: var(--bad); }
      .passed, .conformant { color: var(--good); }
      .num { text-align: right; white-space: nowrap; }
      @media (max-width: 40rem) { td:first-child { white-space: normal; overflow-wrap: anywhere; } }
      </style>
      """;

  private HtmlReport() {}

  static String of(ConformanceReport report) {
    StringBuilder page = new StringBuilder();
    page.append(HEAD.formatted(html("Conformance of " + report.subject())));
    page.append(
        "<h1>Conformance of %s: <span class=\"%s\">%s</span></h1>%n"
            .formatted(html(report.subject()), report.result(), report.result()));
    page.append("<p>").append(html(report.summary())).append("</p>\n");
    if (!report.reasons().isEmpty()) {
      page.append("<ul>\n");
      report.reasons().forEach(each -> page.append("<li>").append(html(each)).append("</li>\n"));
      page.append("</ul>\n");
    }
    page.append("<table>\n");
    row(page, "capabilities", new TreeSet<>(report.capabilities()).toString());
    row(page, "settings", new TreeMap<>(report.settings()).toString());
    row(page, "suite", report.suiteVersion());
    row(page, "api", report.apiVersion());
    row(page, "JDK", report.jdk());
    row(page, "system", report.os());
    row(page, "seed", Long.toString(report.seed()));
    page.append("</table>\n");
    for (Outcome outcome : WORST_FIRST) {
      if (report.count(outcome) > 0) {
        rules(page, report, outcome);
      }
    }
    return page.append("</html>\n").toString();
  }

  private static void row(StringBuilder page, String name, String value) {
    page.append("<tr><td>").append(html(name)).append("</td><td>").append(html(value));
    page.append("</td></tr>\n");
  }

  private static void rules(StringBuilder page, ConformanceReport report, Outcome outcome) {
    page.append(
        "<h2 class=\"%s\">%s (%d)</h2>%n<table>%n"
            .formatted(outcome, outcome, report.count(outcome)));
    for (RuleResult rule : report.rules()) {
      if (rule.outcome() == outcome) {
        page.append(
            "<tr><td>%s</td><td><pre>%s</pre></td><td class=\"num\">%d ms</td></tr>%n"
                .formatted(html(rule.rule()), html(rule.reason()), rule.time().toMillis()));
      }
    }
    page.append("</table>\n");
  }
}
