package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ReplayShareTest {
  private static ReplayShare share(long rank) {
    Tally tally = new Tally();
    tally.lookup.recordValue(1_000 + rank);
    tally.firstLayer.recordValue(2_000 + rank);
    tally.load.recordValue(3_000_000_000L + rank);
    tally.offload.recordValue(4_000 + rank);
    tally.offload.recordValue(5_000 + rank);
    tally.hitPages = 10;
    tally.bytesLoaded = 100 + rank;
    tally.failedLoads = 3;
    tally.failedOffloads = 4;
    tally.lostCompletions = rank;
    tally.loadNanos = 50 + rank;
    tally.offloadNanos = 60 + rank;
    if (rank == 1) {
      tally.mismatch("here");
      tally.failure("this");
    }
    ReplayReport.Served served = new ReplayReport.Served(7, 70, 60, 1_000 * (rank + 1), 500);
    return new ReplayShare(served, List.of(tally), 1_000 + rank, 20 + rank, List.of());
  }

  @Test
  void ofJson_ofToJson_isEqual() {
    ReplayShare before = share(1);
    ReplayShare after = ReplayShare.ofJson(before.toJson());

    assertThat(before.toJson().lines()).hasSize(1);
    assertThat(after.served()).isEqualTo(before.served());
    assertThat(after.total()).isEqualTo(before.total());
    assertThat(after.ranks()).hasSize(1);
    assertThat(after.ranks().getFirst())
        .usingRecursiveComparison()
        .ignoringFields("lookup", "firstLayer", "load", "offload")
        .isEqualTo(before.ranks().getFirst());
    assertThat(after.ranks().getFirst().lookup).isEqualTo(before.ranks().getFirst().lookup);
    assertThat(after.ranks().getFirst().firstLayer).isEqualTo(before.ranks().getFirst().firstLayer);
    assertThat(after.ranks().getFirst().load).isEqualTo(before.ranks().getFirst().load);
    assertThat(after.ranks().getFirst().offload).isEqualTo(before.ranks().getFirst().offload);
  }

  @Test
  void merged_shares_addUpWhatIsOfEachRank() throws TraceException {
    ReplayReport report =
        new Replay(Trace.sample().part(0, 7), ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 2))
            .merge(List.of(share(0), share(1)));

    assertThat(report.requests()).isEqualTo(7);
    assertThat(report.pages()).isEqualTo(70);
    assertThat(report.distinctPages()).isEqualTo(60);
    assertThat(report.capacityBytes()).isEqualTo(1_000);
    assertThat(report.hitPages()).isEqualTo(10);
    assertThat(report.bytesLoaded()).isEqualTo(201);
    assertThat(report.bytesOffloaded()).isEqualTo(2_001);
    assertThat(report.evictions()).isEqualTo(41);
    assertThat(report.failedLoads()).isEqualTo(3);
    assertThat(report.failedOffloads()).isEqualTo(4);
    assertThat(report.mismatches()).isEqualTo(1);
    assertThat(report.lostCompletions()).isEqualTo(1);
    assertThat(report.seconds()).isEqualTo(2_000 / 1e9);
    assertThat(report.offload().p50()).isBetween(4.0, 4.01);
    assertThat(report.offload().p99()).isBetween(5.0, 5.01);
    assertThat(report.firstMismatch()).isEqualTo(Optional.of("here"));
    assertThat(report.firstFailure()).isEqualTo(Optional.of("this"));
    assertThat(report.ok()).isFalse();
  }
}
