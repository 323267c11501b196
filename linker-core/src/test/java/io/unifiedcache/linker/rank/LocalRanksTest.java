package io.unifiedcache.linker.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LocalRanksTest {
  private static final Duration LONG = Duration.ofSeconds(20);

  @Test
  void of_ranks_knowTheirNumber() {
    List<RankCollective> ranks = LocalRanks.of(3);
    assertThat(ranks).extracting(RankCollective::rank).containsExactly(0, 1, 2);
    assertThat(ranks).extracting(RankCollective::size).containsOnly(3);
    assertThatThrownBy(() -> LocalRanks.of(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("0");
  }

  @Test
  void and_manyRounds_everyRankGetsTheCommonBits() throws Exception {
    long seed = System.nanoTime();
    int rounds = 2_000;
    List<RankCollective> ranks = LocalRanks.of(4);
    List<List<BitSet>> inputs = new ArrayList<>();
    for (int rank = 0; rank < 4; rank++) {
      SplittableRandom random = new SplittableRandom(seed + rank);
      List<BitSet> ofRank = new ArrayList<>();
      for (int round = 0; round < rounds; round++) {
        long mostlySet = random.nextLong();
        mostlySet |= random.nextLong();
        ofRank.add(BitSet.valueOf(new long[] {mostlySet}));
      }
      inputs.add(ofRank);
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<List<BitSet>>> results = new ArrayList<>();
      for (RankCollective rank : ranks) {
        results.add(
            threads.submit(
                () -> {
                  List<BitSet> common = new ArrayList<>();
                  for (BitSet bits : inputs.get(rank.rank())) {
                    common.add(rank.and(bits, Deadline.after(LONG)));
                  }
                  return common;
                }));
      }
      for (int round = 0; round < rounds; round++) {
        BitSet expected = (BitSet) inputs.get(0).get(round).clone();
        for (int rank = 1; rank < 4; rank++) {
          expected.and(inputs.get(rank).get(round));
        }
        for (Future<List<BitSet>> result : results) {
          assertThat(result.get().get(round)).as("seed %d", seed).isEqualTo(expected);
        }
      }
    }
  }

  @Test
  void and_rankMissing_isLostForAllAndForGood() throws Exception {
    List<RankCollective> ranks = LocalRanks.of(3);
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> patient =
          threads.submit(
              () -> {
                assertThatThrownBy(() -> ranks.get(1).and(new BitSet(), Deadline.after(LONG)))
                    .isInstanceOf(RankLostException.class)
                    .hasMessageContaining("2");
              });
      assertThatThrownBy(
              () -> ranks.get(0).and(new BitSet(), Deadline.after(Duration.ofMillis(20))))
          .isInstanceOf(RankLostException.class)
          .hasMessageContaining("2");
      patient.get();
    }
    assertThatThrownBy(() -> ranks.get(2).and(new BitSet(), Deadline.after(LONG)))
        .isInstanceOf(RankLostException.class);
  }

  @Test
  void and_interrupted_waitsForTheOthersAndKeepsTheInterrupt() throws Exception {
    List<RankCollective> ranks = LocalRanks.of(2);
    BitSet bits = BitSet.valueOf(new long[] {0b11});
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<Boolean> interrupted =
          threads.submit(
              () -> {
                Thread.currentThread().interrupt();
                assertThat(ranks.get(0).and(bits, Deadline.after(LONG))).isEqualTo(bits);
                return Thread.interrupted();
              });
      assertThat(ranks.get(1).and(bits, Deadline.after(LONG))).isEqualTo(bits);
      assertThat(interrupted.get()).isTrue();
    }
  }

  @Test
  void and_input_isNotChangedAndResultIsOwn() throws Exception {
    RankCollective alone = LocalRanks.of(1).getFirst();
    BitSet bits = BitSet.valueOf(new long[] {0b101});
    BitSet common = alone.and(bits, Deadline.never());
    common.clear();
    assertThat(bits).isEqualTo(BitSet.valueOf(new long[] {0b101}));
  }
}
