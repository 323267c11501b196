package io.unifiedcache.cli.vectors;

import io.unifiedcache.cli.vectors.Verdict.Outcome;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Counts of outcomes by kind of row. Not thread-safe. */
public final class VectorReport {
  private static final int SHOWN_DIFFERENCES = 5;
  private static final String FORM = "%-28s %9s %10s %11s %12s";

  private final String file;
  private final Map<String, Map<Outcome, Integer>> counts = new LinkedHashMap<>();
  private final List<String> differences = new ArrayList<>();

  VectorReport(String file) {
    this.file = file;
  }

  void add(String kind, String where, Verdict verdict) {
    counts
        .computeIfAbsent(kind, added -> new EnumMap<>(Outcome.class))
        .merge(verdict.outcome(), 1, Integer::sum);
    if (verdict.outcome() == Outcome.DIFFERING && differences.size() < SHOWN_DIFFERENCES) {
      differences.add(where + " " + kind + ": " + verdict.detail());
    }
  }

  /** Returns how many comparisons had an outcome. */
  public int count(Outcome outcome) {
    return counts.keySet().stream().mapToInt(kind -> count(kind, outcome)).sum();
  }

  private int count(String kind, Outcome outcome) {
    Map<Outcome, Integer> ofKind = counts.get(kind);
    return ofKind == null ? 0 : ofKind.getOrDefault(outcome, 0);
  }

  /** Returns the counts by kind and the first differences, in lines for a reader. */
  public List<String> toLines() {
    List<String> lines = new ArrayList<>();
    lines.add(file);
    lines.add("  " + FORM.formatted("kind", "matched", "differing", "on purpose", "not covered"));
    for (String kind : counts.keySet()) {
      List<Object> row = new ArrayList<>();
      row.add(kind);
      for (Outcome outcome : Outcome.values()) {
        row.add(count(kind, outcome));
      }
      lines.add("  " + FORM.formatted(row.toArray()));
    }
    differences.forEach(difference -> lines.add("  differs: " + difference));
    int hidden = count(Outcome.DIFFERING) - differences.size();
    if (hidden > 0) {
      lines.add("  and " + hidden + " more");
    }
    return lines;
  }

  /** Returns the closing line over several files. */
  public static String totals(List<VectorReport> reports) {
    return "total: %,d matched, %,d differing, %,d different on purpose, %,d not covered"
        .formatted(
            total(reports, Outcome.MATCHED),
            total(reports, Outcome.DIFFERING),
            total(reports, Outcome.ON_PURPOSE),
            total(reports, Outcome.NOT_COVERED));
  }

  private static int total(List<VectorReport> reports, Outcome outcome) {
    return reports.stream().mapToInt(report -> report.count(outcome)).sum();
  }
}
