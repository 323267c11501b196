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
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What every {@link RankCollective} does. */
@Timeout(60)
class RankCollectiveTest {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final Duration SHORT = Duration.ofMillis(20);

  /** The collectives that there are. */
  enum Kind {
    LOCAL {
      @Override
      Group group(int size) {
        return new Group(LocalRanks.of(size), () -> {});
      }
    },
    SOCKETS {
      @Override
      Group group(int size) throws Exception {
        List<SocketRanks> ranks = SocketRig.connected(size);
        return new Group(List.copyOf(ranks), () -> ranks.forEach(SocketRanks::close));
      }
    };

    abstract Group group(int size) throws Exception;
  }

  /** The ranks of a model, by rank. */
  private record Group(List<RankCollective> ranks, Runnable end) implements AutoCloseable {
    RankCollective rank(int rank) {
      return ranks.get(rank);
    }

    @Override
    public void close() {
      end.run();
    }
  }

  @ParameterizedTest
  @EnumSource
  void ranks_knowTheirNumber(Kind kind) throws Exception {
    try (Group group = kind.group(3)) {
      assertThat(group.ranks()).extracting(RankCollective::rank).containsExactly(0, 1, 2);
      assertThat(group.ranks()).extracting(RankCollective::size).containsOnly(3);
    }
  }

  @ParameterizedTest
  @EnumSource
  void and_manyRounds_everyRankGetsTheCommonBits(Kind kind) throws Exception {
    long seed = System.nanoTime();
    int rounds = 3_000;
    List<List<BitSet>> inputs = new ArrayList<>();
    for (int rank = 0; rank < 4; rank++) {
      SplittableRandom random = new SplittableRandom(seed + rank);
      List<BitSet> ofRank = new ArrayList<>();
      for (int round = 0; round < rounds; round++) {
        ofRank.add(mostlySet(random, random.nextInt(4)));
      }
      inputs.add(ofRank);
    }
    try (Group group = kind.group(4);
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<List<BitSet>>> results = new ArrayList<>();
      for (RankCollective rank : group.ranks()) {
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

  private static BitSet mostlySet(SplittableRandom random, int words) {
    long[] bits = new long[words];
    for (int i = 0; i < words; i++) {
      long some = random.nextLong();
      bits[i] = some | random.nextLong();
    }
    return BitSet.valueOf(bits);
  }

  @ParameterizedTest
  @EnumSource
  void and_manyBits_arriveInWhole(Kind kind) throws Exception {
    int bits = 20_000_000;
    try (Group group = kind.group(2);
        ExecutorService threads = Executors.newFixedThreadPool(1)) {
      BitSet even = new BitSet(bits);
      BitSet odd = new BitSet(bits);
      for (int bit = 0; bit < bits; bit++) {
        (bit % 2 == 0 ? even : odd).set(bit);
      }
      even.set(bits + 1);
      odd.set(bits + 1);
      Future<BitSet> other = threads.submit(() -> group.rank(1).and(odd, Deadline.after(LONG)));
      BitSet expected = new BitSet();
      expected.set(bits + 1);
      assertThat(group.rank(0).and(even, Deadline.after(LONG))).isEqualTo(expected);
      assertThat(other.get()).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @EnumSource
  void and_input_isNotChangedAndResultIsOwn(Kind kind) throws Exception {
    try (Group group = kind.group(2);
        ExecutorService threads = Executors.newFixedThreadPool(1)) {
      BitSet bits = BitSet.valueOf(new long[] {0b101});
      Future<BitSet> other = threads.submit(() -> group.rank(1).and(bits, Deadline.after(LONG)));
      BitSet common = group.rank(0).and(bits, Deadline.after(LONG));
      common.clear();
      assertThat(other.get()).isEqualTo(bits);
      other.get().clear();
      assertThat(bits).isEqualTo(BitSet.valueOf(new long[] {0b101}));
    }
  }

  @ParameterizedTest
  @EnumSource
  void and_oneRank_isItsOwn(Kind kind) throws Exception {
    try (Group group = kind.group(1)) {
      BitSet bits = BitSet.valueOf(new long[] {0b101});
      BitSet common = group.rank(0).and(bits, Deadline.never());
      assertThat(common).isEqualTo(bits);
      common.clear();
      assertThat(bits.cardinality()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @EnumSource
  void and_rankMissing_isLostForAllAndForGood(Kind kind) throws Exception {
    try (Group group = kind.group(3);
        ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Callable<BitSet> call = () -> group.rank(1).and(new BitSet(), Deadline.after(LONG));
      Future<BitSet> patient = threads.submit(call);
      assertThatThrownBy(() -> group.rank(0).and(new BitSet(), Deadline.after(SHORT)))
          .isInstanceOf(RankLostException.class)
          .hasMessageContaining("2");
      assertThatThrownBy(patient::get)
          .hasCauseInstanceOf(RankLostException.class)
          .hasMessageContaining("2");
      for (RankCollective rank : group.ranks()) {
        for (int again = 0; again < 2; again++) {
          assertThatThrownBy(() -> rank.and(new BitSet(), Deadline.after(LONG)))
              .isInstanceOf(RankLostException.class);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void leave_anyRank_isToldToAllAtOnceAndForGood(Kind kind) throws Exception {
    for (int leaving = 0; leaving < 3; leaving++) {
      try (Group group = kind.group(3);
          ExecutorService threads = Executors.newFixedThreadPool(3)) {
        RankCollective left = group.rank(leaving);
        List<Future<BitSet>> calls = new ArrayList<>();
        // The one that leaves waits, too, in another thread.
        for (RankCollective rank : leaving == 2 ? group.ranks().subList(1, 3) : group.ranks()) {
          if (rank != left || leaving == 2) {
            calls.add(threads.submit(() -> rank.and(new BitSet(), Deadline.never())));
          }
        }
        left.leave("it was rank " + leaving);
        left.leave("and not this");
        if (leaving == 2) {
          calls.add(threads.submit(() -> group.rank(0).and(new BitSet(), Deadline.never())));
        }
        for (Future<BitSet> call : calls) {
          assertThatThrownBy(call::get)
              .hasCauseInstanceOf(RankLostException.class)
              .hasMessageContaining("it was rank " + leaving);
        }
        for (RankCollective rank : group.ranks()) {
          assertThatThrownBy(() -> rank.and(new BitSet(), Deadline.never()))
              .isInstanceOf(RankLostException.class)
              .hasMessageContaining("it was rank " + leaving);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void and_anyRankGivesUp_isLostForAll(Kind kind) throws Exception {
    for (int impatient = 0; impatient < 3; impatient++) {
      try (Group group = kind.group(3)) {
        RankCollective first = group.rank(impatient);
        assertThatThrownBy(() -> first.and(new BitSet(), Deadline.after(SHORT)))
            .isInstanceOf(RankLostException.class);
        // Two of them come, but not the one that has given up.
        List<RankCollective> others = group.ranks().stream().filter(rank -> rank != first).toList();
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
          List<Future<BitSet>> calls = new ArrayList<>();
          for (RankCollective rank : others) {
            calls.add(threads.submit(() -> rank.and(new BitSet(), Deadline.after(LONG))));
          }
          for (Future<BitSet> call : calls) {
            assertThatThrownBy(call::get).hasCauseInstanceOf(RankLostException.class);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void and_interruptedRank_staysAndStaysInterrupted(Kind kind) throws Exception {
    BitSet bits = BitSet.valueOf(new long[] {0b11});
    for (int interrupted = 0; interrupted < 2; interrupted++) {
      RankCollective[] ranks = new RankCollective[2];
      try (Group group = kind.group(2);
          ExecutorService threads = Executors.newFixedThreadPool(1)) {
        ranks[0] = group.rank(interrupted);
        ranks[1] = group.rank(1 - interrupted);
        CountDownLatch begun = new CountDownLatch(1);
        Future<Boolean> keeps =
            threads.submit(
                () -> {
                  Thread.currentThread().interrupt();
                  begun.countDown();
                  BitSet common = ranks[0].and(bits, Deadline.after(LONG));
                  return common.equals(bits) && Thread.interrupted();
                });
        begun.await();
        assertThat(ranks[1].and(bits, Deadline.after(LONG))).isEqualTo(bits);
        assertThat(keeps.get()).isTrue();
      }
    }
  }
}
