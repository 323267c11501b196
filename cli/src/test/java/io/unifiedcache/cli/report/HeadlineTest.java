package io.unifiedcache.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.cli.replay.ReplayReport;
import io.unifiedcache.cli.replay.SidePages;
import io.unifiedcache.cli.replay.Trace;
import io.unifiedcache.cli.replay.TraceException;
import org.junit.jupiter.api.Test;

class HeadlineTest {
  private final ReplayReport report;

  HeadlineTest() throws TraceException {
    report = Replayed.sample(300);
  }

  @Test
  void soundRunWithRoom_saysWhatTheTrafficDeserves() {
    Headline headline = Headline.of(report);

    assertThat(headline.size())
        .isEqualTo(
            "This traffic deserves a cache of about %s: enough for 95 %% of the hits that are"
                    .formatted(Numbers.sizeUp(report.cacheBytesFor(0.95)))
                + " possible.");
    assertThat(headline.run())
        .isEqualTo(
            "This run, with 4 GiB, took %s of its prompt tokens from the cache, of %s possible."
                .formatted(
                    ReplayReport.percent(report.tokenHitRate()),
                    ReplayReport.percent(report.bestTokenHitRate())));
    assertThat(headline.state()).isEqualTo(Headline.State.SOUND);
  }

  @Test
  void cacheThatIsTooSmall_isNamedAsTheCause() {
    long capacity = (long) report.cacheBytesFor(0.5);

    Headline headline = Headline.of(Replayed.changed(report, 0.01, 1000, 0, 0, 0, capacity));

    assertThat(headline.run())
        .endsWith(
            "; a cache of that size has room for %s."
                .formatted(ReplayReport.percent(report.tokenHitRateOf((double) capacity))));
  }

  @Test
  void cacheWithRoomThatHitLess_isNotTheCause() {
    assertThat(Headline.of(Replayed.changed(report, 0.01, 0, 0, 0, 0, 1L << 32)).run())
        .endsWith("; it lacked no room.");
    assertThat(Headline.of(Replayed.changed(report, 0.01, 9, 3, 0, 0, 1L << 32)).run())
        .endsWith("; it lacked no room, but loads failed.");
    assertThat(Headline.of(Replayed.changed(report, 0.01, 1234, 0, 0, 0, -1)).run())
        .startsWith("This run took 1.00 %")
        .endsWith("; it evicted 1,234 objects.");
  }

  @Test
  void windowsKeptAtEndsAlone_areNamedAsTheCause() throws TraceException {
    ReplayReport tails = Replayed.of(Trace.sample().part(0, 50), SidePages.TAIL, 0);

    assertThat(Headline.of(Replayed.changed(tails, 0.01, 0, 0, 0, 0, 1L << 32)).run())
        .endsWith("; it lacked no room, but of windows only the ends of prompts are kept.");
  }

  @Test
  void storeOfEarlierRuns_isSaid() {
    assertThat(Headline.of(Replayed.changed(report, 0.9, 0, 0, 0, 0, 1L << 32)).run())
        .endsWith("possible from empty: the store held pages of earlier runs.");
  }

  @Test
  void trafficWithoutHits_deservesNoCache() throws TraceException {
    assertThat(Headline.of(Replayed.sample(1)).size()).startsWith("No cache helps this traffic");
  }

  @Test
  void verdict_saysWhatWentWrong() throws TraceException {
    Headline one = Headline.of(Replayed.changed(report, 0.1, 0, 0, 1, 0, -1));
    Headline many = Headline.of(Replayed.changed(report, 0.1, 0, 1, 1200, 2, -1));
    Headline failing = Headline.of(Replayed.of(Trace.sample().part(0, 100), SidePages.ALL, 1));

    assertThat(one.state()).isEqualTo(Headline.State.WRONG);
    assertThat(one.verdict()).isEqualTo("This run is wrong: 1 piece of memory held wrong bytes.");
    assertThat(many.verdict())
        .isEqualTo(
            "This run is wrong: 1,200 pieces of memory held wrong bytes, 2 requests never"
                + " completed, 1 load failed and was computed instead.");
    assertThat(failing.state()).isEqualTo(Headline.State.FAILURES);
    assertThat(failing.verdict())
        .startsWith("Every byte was right, but ")
        .endsWith(" loads failed and were computed instead (the run was told to fail loads).");
  }
}
