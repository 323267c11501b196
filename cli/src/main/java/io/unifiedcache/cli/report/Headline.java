package io.unifiedcache.cli.report;

import io.unifiedcache.cli.replay.ReplayReport;
import java.util.ArrayList;
import java.util.List;

/**
 * What an operator wants to know first.
 *
 * @param size how large a cache the traffic deserves
 * @param run how this run compares
 * @param state whether anything went wrong
 * @param verdict the same in words
 */
record Headline(String size, String run, State state, String verdict) {
  /** The share of what is possible that a cache must reach to be called large enough. */
  static final double ENOUGH = 0.95;

  /** Whether anything went wrong. */
  enum State {
    /** Nothing did. */
    SOUND,
    /** Requests failed, and were computed instead; every byte was right. */
    FAILURES,
    /** A byte differed, or a completion or a rank was lost. */
    WRONG
  }

  static Headline of(ReplayReport report) {
    return new Headline(size(report), run(report), state(report), verdict(report));
  }

  private static String size(ReplayReport report) {
    return report.bestTokenHitRate() == 0
        ? "No cache helps this traffic: no prompt begins with a page of one before it."
        : Numbers.text(
            "This traffic deserves a cache of about %s: enough for %.0f %% of the hits that are"
                + " possible.",
            Numbers.sizeUp(report.cacheBytesFor(ENOUGH)), 100 * ENOUGH);
  }

  private static String run(ReplayReport report) {
    String reached =
        Numbers.text(
            "This run%s took %s of its prompt tokens from the cache, of %s possible%s",
            report.capacityBytes() < 0
                ? ""
                : ", with " + Numbers.size((double) report.capacityBytes()) + ",",
            ReplayReport.percent(report.tokenHitRate()),
            ReplayReport.percent(report.bestTokenHitRate()),
            report.tokenHitRate() > report.bestTokenHitRate() ? " from empty" : "");
    if (report.tokenHitRate() > report.bestTokenHitRate()) {
      return reached + ": the store held pages of earlier runs.";
    }
    return reached + (isEnough(report, report.tokenHitRate()) ? "." : "; " + lack(report) + ".");
  }

  /** Returns what kept a run from what is possible. */
  private static String lack(ReplayReport report) {
    if (report.capacityBytes() < 0) {
      return report.evictions() < 0
          ? "it does not tell what it evicted"
          : Numbers.text("it evicted %,d objects", report.evictions());
    }
    double room = report.tokenHitRateOf((double) report.capacityBytes());
    if (!isEnough(report, room)) {
      return "a cache of that size has room for " + ReplayReport.percent(room);
    }
    if (report.failedLoads() > 0) {
      return "it lacked no room, but loads failed";
    }
    return report.plan().keepsTailsAlone()
        ? "it lacked no room, but of windows only the ends of prompts are kept"
        : "it lacked no room";
  }

  private static boolean isEnough(ReplayReport report, double tokenHitRate) {
    return tokenHitRate >= ENOUGH * report.bestTokenHitRate();
  }

  private static State state(ReplayReport report) {
    if (!report.ok()) {
      return State.WRONG;
    }
    return report.failedLoads() + report.failedOffloads() > 0 ? State.FAILURES : State.SOUND;
  }

  private static String verdict(ReplayReport report) {
    List<String> what = new ArrayList<>();
    add(
        what,
        report.mismatches(),
        "piece of memory held wrong bytes",
        "pieces of memory held wrong bytes");
    add(what, report.lostRank().isPresent() ? 1 : 0, "rank was lost", "ranks were lost");
    add(what, report.lostCompletions(), "request never completed", "requests never completed");
    add(
        what,
        report.failedLoads(),
        "load failed and was computed instead",
        "loads failed and were computed instead");
    add(what, report.failedOffloads(), "offload failed", "offloads failed");
    return switch (state(report)) {
      case SOUND -> "Nothing went wrong: every byte was right, and every request completed.";
      case FAILURES ->
          Numbers.text(
              "Every byte was right, but %s%s.",
              String.join(", ", what),
              report.plan().failRate() > 0 ? " (the run was told to fail loads)" : "");
      case WRONG -> Numbers.text("This run is wrong: %s.", String.join(", ", what));
    };
  }

  private static void add(List<String> what, long count, String one, String many) {
    if (count > 0) {
      what.add(Numbers.text("%,d %s", count, count == 1 ? one : many));
    }
  }
}
