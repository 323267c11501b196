package io.unifiedcache.benchmarks;

import io.unifiedcache.benchmarks.Rounds.Spread;
import java.io.PrintStream;
import java.util.Locale;

/** Prints ratios as the rows of a table in Markdown, each beside what it is held against. */
final class Table {
  /**
   * What a median is held against.
   *
   * @param text the goal in words
   * @param least the least value that meets it
   * @param most the greatest value that meets it
   */
  record Goal(String text, double least, double most) {
    /** Nothing: the row is there to be compared with others. */
    static final Goal NONE = new Goal("", Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY);

    static Goal atLeast(double value) {
      return new Goal("at least " + number(value), value, Double.POSITIVE_INFINITY);
    }

    static Goal atMost(double value) {
      return new Goal("at most " + number(value), Double.NEGATIVE_INFINITY, value);
    }

    static Goal above(double value) {
      return new Goal("above " + number(value), Math.nextUp(value), Double.POSITIVE_INFINITY);
    }

    private String verdict(double value) {
      if (text.isEmpty()) {
        return "";
      }
      return value >= least && value <= most ? "met" : "missed";
    }
  }

  private final PrintStream out;

  Table(PrintStream out) {
    this.out = out;
    out.println("| ratio | median | least - most | of the fastest | goal | |");
    out.println("|---|---|---|---|---|---|");
  }

  void row(String name, Spread spread, Goal goal) {
    out.printf(
        Locale.ROOT,
        "| %s | %s | %s - %s | %s | %s | %s |%n",
        name,
        number(spread.median()),
        number(spread.least()),
        number(spread.most()),
        number(spread.fastest()),
        goal.text(),
        goal.verdict(spread.median()));
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }
}
