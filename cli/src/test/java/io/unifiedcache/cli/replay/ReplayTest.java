package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReplayTest {
  private static final Duration PATIENCE = Duration.ofMillis(500);

  private static Trace sample(int requests) throws TraceException {
    return Trace.sample().part(0, requests);
  }

  private static CacheStore memory() {
    return memory("1GiB");
  }

  private static CacheStore memory(String capacity) {
    CacheStoreProvider provider = Backends.discover().named("memory");
    Settings.Builder settings = Settings.builder(provider.options());
    for (Option<?> option : provider.options()) {
      if (option.name().equals("capacity")) {
        settings.parse(option, capacity);
      }
    }
    return provider.open(settings.build(), StoreContext.of("replay-test"));
  }

  private static CacheLinker link(CacheStore store, DevicePools pools, RankCollective ranks) {
    return UnifiedCache.builder()
        .store(store)
        .identity(CacheIdentity.builder().model("test").tensor(ranks.rank(), ranks.size()).build())
        .pools(pools)
        .ranks(ranks)
        .open();
  }

  private static ReplayReport run(
      Trace trace, ReplayPlan plan, CacheStore store, UnaryOperator<CacheLinker> wrap) {
    return new Replay(trace, plan, PATIENCE)
        .run(store, (view, pools, ranks) -> wrap.apply(link(view, pools, ranks)), served -> {});
  }

  /** Returns the linker with the answers to one method changed. */
  @SuppressWarnings("unchecked") // The answers of that method are of that type.
  private static <T> CacheLinker changed(
      CacheLinker linker, String method, UnaryOperator<T> change) {
    return (CacheLinker)
        Proxy.newProxyInstance(
            CacheLinker.class.getClassLoader(),
            new Class<?>[] {CacheLinker.class},
            (proxy, called, arguments) -> {
              try {
                Object answer = called.invoke(linker, arguments);
                return called.getName().equals(method) ? change.apply((T) answer) : answer;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void run_reportsProgressAndCounts() throws TraceException {
    int[] last = {0};
    ReplayReport report;
    try (CacheStore store = memory()) {
      report =
          new Replay(sample(50), ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 2))
              .run(store, ReplayTest::link, served -> last[0] = served);
    }

    assertThat(last[0]).isEqualTo(50);
    assertThat(report.ok()).isTrue();
    assertThat(report.hitPages()).isEqualTo(sample(50).reuse().bestHitPages());
    assertThat(report.bytesLoaded()).isEqualTo(2 * 1024 * report.hitPages());
    assertThat(report.bytesOffloaded()).isEqualTo(2 * 1024 * report.distinctPages());
  }

  /** Returns a rank that agrees for a while, and then no more. */
  private static RankCollective losing(RankCollective ranks) {
    AtomicInteger agreements = new AtomicInteger();
    return new RankCollective() {
      @Override
      public int rank() {
        return ranks.rank();
      }

      @Override
      public int size() {
        return ranks.size();
      }

      @Override
      public BitSet and(BitSet bits, Deadline by) throws RankLostException {
        if (agreements.getAndIncrement() == 50) {
          throw new RankLostException("the line is broken");
        }
        return ranks.and(bits, by);
      }

      @Override
      public void leave(String why) {
        ranks.leave(why);
      }
    };
  }

  @Test
  void run_ranksAreLost_stopsAndIsNotOk() throws TraceException {
    try (CacheStore store = memory()) {
      ReplayReport report =
          new Replay(sample(50), ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 2))
              .run(store, (view, pools, ranks) -> link(view, pools, losing(ranks)), served -> {});

      assertThat(report.ok()).isFalse();
      assertThat(report.lostRank()).hasValueSatisfying(why -> assertThat(why).contains("broken"));
      assertThat(report.lostCompletions()).isZero();
      assertThat(report.mismatches()).isZero();
      assertThat(report.failedLoads() + report.failedOffloads()).isPositive();
      assertThat(report.requests()).isBetween(1, 49);
      assertThat(report.toLines("memory")).anyMatch(line -> line.startsWith("lost rank "));
      assertThat(report.toJson("memory").get("lostRank").getAsString()).contains("broken");
      assertThat(Tally.ofJson(tally("the line is broken").toJson()).lostRank())
          .contains("the line is broken");
    }
  }

  private static Tally tally(String lostRank) {
    Tally tally = new Tally();
    tally.loseRank(lostRank);
    return tally;
  }

  @Test
  void run_loadsFailOnOneRank_losesNone() throws TraceException {
    ReplayPlan plan = new ReplayPlan(ModelPreset.MHA, 1024, 8, 2, 1, SidePages.ALL, 0, 0.5, 7);
    try (CacheStore store = memory()) {
      ReplayReport report = run(sample(100), plan, store, linker -> linker);

      assertThat(report.failedLoads()).isPositive();
      assertThat(report.lostRank()).isEmpty();
      assertThat(report.ok()).isTrue();
    }
  }

  static List<Arguments> runs() {
    ReplayPlan plan = ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 1);
    return List.of(
        Arguments.of(plan, "1GiB"),
        Arguments.of(ReplayPlanTest.plan(ModelPreset.HYBRID_SWA, 1024, 8, 2), "8MiB"),
        Arguments.of(
            new ReplayPlan(ModelPreset.MHA, 1024, 8, 2, 4, SidePages.ALL, 0, 0.1, 7), "8MiB"));
  }

  @ParameterizedTest
  @MethodSource("runs")
  void run_windowsAddUpToTheTotals(ReplayPlan plan, String capacity) throws TraceException {
    try (CacheStore store = memory(capacity)) {
      ReplayReport report = run(sample(250), plan, store, linker -> linker);

      List<Counts> counts = report.windows().stream().map(Window::counts).toList();
      assertThat(counts).hasSize(100);
      assertThat(sum(counts, Counts::hitPages)).isEqualTo(report.hitPages()).isPositive();
      assertThat(sum(counts, Counts::bytesLoaded)).isEqualTo(report.bytesLoaded()).isPositive();
      assertThat(sum(counts, Counts::bytesOffloaded))
          .isEqualTo(report.bytesOffloaded())
          .isPositive();
      assertThat(sum(counts, Counts::evictions)).isEqualTo(report.evictions());
      assertThat(sum(counts, Counts::failedLoads)).isEqualTo(report.failedLoads());
      assertThat(sum(counts, Counts::failedOffloads)).isEqualTo(report.failedOffloads());
      assertThat(report.evictions() > 0).isEqualTo(capacity.equals("8MiB"));
      assertThat(report.failedLoads() > 0).isEqualTo(plan.failRate() > 0);
      assertThat(report.windows().stream().mapToLong(Window::bestHitPages).sum())
          .isEqualTo(sample(250).reuse().bestHitPages());
      assertThat(report.windows().stream().mapToLong(Window::promptTokens).sum())
          .isEqualTo(sample(250).promptTokens());
      assertThat(report.windows().stream().mapToInt(Window::requests).sum()).isEqualTo(250);
      assertThat(report.windows().getLast().liveBytes()).isEqualTo(store.stats().liveBytes());
      assertThat(report.lookup().count()).isEqualTo(250L * plan.ranks());
    }
  }

  private static long sum(List<Counts> counts, ToLongFunction<Counts> which) {
    return counts.stream().mapToLong(which).sum();
  }

  @Test
  void run_completionLost_endsTheLastWindowThere() throws TraceException {
    try (CacheStore store = memory()) {
      ReplayReport report =
          run(
              sample(50),
              ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 1),
              store,
              linker -> changed(linker, "pollLoads", (List<Completion> all) -> List.of()));

      assertThat(report.windows()).hasSize(report.requests());
      assertThat(report.windows().getLast().counts().lostCompletions()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"8MiB", "24MiB", "48MiB"})
  void run_cacheOfSomeSize_hitsWhatWasForetold(String capacity) throws TraceException {
    try (CacheStore store = memory(capacity)) {
      ReplayReport report =
          run(
              sample(1000),
              ReplayPlanTest.plan(ModelPreset.HYBRID_SWA, 4096, 8, 1),
              store,
              linker -> linker);

      assertThat(report.evictions()).isPositive();
      assertThat(report.tokenHitRate())
          .isCloseTo(report.tokenHitRateOf((double) report.capacityBytes()), withinPercentage(5));
    }
  }

  @ParameterizedTest
  @EnumSource
  void run_storeOfDistinctPages_holdsWhatWasForetold(ModelPreset model) throws TraceException {
    for (SidePages sidePages : SidePages.values()) {
      ReplayPlan plan = new ReplayPlan(model, 1024, 8, 2, 1, sidePages, 0, 0, 1);
      try (CacheStore store = memory()) {
        ReplayReport report = run(sample(100), plan, store, linker -> linker);

        assertThat((double) report.bytesOffloaded())
            .isCloseTo(report.distinctBytes(), withinPercentage(2));
      }
    }
  }

  @Test
  void run_storeAlreadyFilled_hitsMoreThanAnEmptyOneCould() throws TraceException {
    ReplayPlan plan = ReplayPlanTest.plan(ModelPreset.HYBRID_SWA, 1024, 8, 1);
    try (CacheStore store = memory()) {
      run(sample(50), plan, store, linker -> linker);
      ReplayReport second = run(sample(50), plan, store, linker -> linker);

      assertThat(second.ok()).isTrue();
      assertThat(second.tokenHitRate()).isGreaterThan(second.bestTokenHitRate());
      assertThat(second.bytesOffloaded()).isZero();
    }
  }

  @Test
  void run_byteThatIsWrongInOneLayer_isAMismatchThatNamesIt() throws TraceException {
    try (CacheStore store = new FlippingStore(memory())) {
      ReplayReport report =
          run(
              sample(50),
              ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 1),
              store,
              linker -> linker);

      assertThat(report.ok()).isFalse();
      assertThat(report.mismatches()).isEqualTo(1);
      assertThat(report.firstMismatch().orElseThrow()).contains("pool kv", "layer 0", "byte 5 ");
    }
  }

  @Test
  void run_completionOfALoadThatNeverComes_isLostAndEndsTheReplay() throws TraceException {
    try (CacheStore store = memory()) {
      ReplayReport report =
          run(
              sample(50),
              ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 2),
              store,
              linker -> changed(linker, "pollLoads", (List<Completion> all) -> List.of()));

      assertThat(report.ok()).isFalse();
      assertThat(report.lostCompletions()).isEqualTo(1);
      assertThat(report.requests()).isLessThan(50);
    }
  }

  @Test
  void run_completionOfAnOffloadThatNeverComes_isLostAndEndsTheReplay() throws TraceException {
    try (CacheStore store = memory()) {
      ReplayReport report =
          run(
              sample(50),
              ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 1),
              store,
              linker -> changed(linker, "pollOffloads", (List<Completion> all) -> List.of()));

      assertThat(report.ok()).isFalse();
      assertThat(report.lostCompletions()).isEqualTo(1);
      assertThat(report.requests()).isEqualTo(1);
    }
  }

  @Test
  void run_rankThatThrows_endsTheReplayWithItsCause() throws TraceException {
    Trace trace = sample(50);
    try (CacheStore store = memory()) {
      assertThatThrownBy(
              () ->
                  run(
                      trace,
                      ReplayPlanTest.plan(ModelPreset.MHA, 1024, 8, 1),
                      store,
                      linker ->
                          changed(
                              linker,
                              "lookup",
                              answer -> {
                                throw new IllegalStateException("broken on purpose");
                              })))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("broken on purpose");
    }
  }

  /** A store that flips a bit of the sixth byte of the first range that it reads. */
  private static final class FlippingStore extends ForwardingStore {
    private boolean flipped;

    FlippingStore(CacheStore store) {
      super(store);
    }

    @Override
    public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
      ReadSession session = super.openSession(keys, by);
      return new ReadSession() {
        @Override
        public BatchResult opened() {
          return session.opened();
        }

        @Override
        public long size(int entry) {
          return session.size(entry);
        }

        @Override
        public BatchResult read(List<ReadOp> ops, Deadline readBy) {
          BatchResult result = session.read(ops, readBy);
          if (!flipped
              && ops.getFirst().ranges().getFirst().target() instanceof HostMemory memory) {
            MemorySegment segment = memory.segment();
            byte right = segment.get(ValueLayout.JAVA_BYTE, 5);
            segment.set(ValueLayout.JAVA_BYTE, 5, (byte) (right ^ 1));
            flipped = true;
          }
          return result;
        }

        @Override
        public void close() {
          session.close();
        }
      };
    }
  }
}
