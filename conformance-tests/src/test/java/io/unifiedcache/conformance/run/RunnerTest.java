package io.unifiedcache.conformance.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.ConformanceReport.Result;
import io.unifiedcache.conformance.result.Level;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.store.ReferenceStore;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What a run makes of what its rules and its store do. */
class RunnerTest {
  /** Rules that end in every way a rule can. */
  static final class Endings {
    static final ConcurrentHashMap<String, Long> DRAWN = new ConcurrentHashMap<>();
    static final CountDownLatch NEVER = new CountDownLatch(1);

    private Endings() {}

    @Rule(id = "t.holds", scope = Scope.STORE, text = "It holds.", hint = "None.")
    static void holds(Trial trial) {
      DRAWN.put("t.holds", trial.random().nextLong());
      trial.note("seen " + trial.prefix().value().length());
    }

    @Rule(id = "t.broken", scope = Scope.STORE, text = "It is broken.", hint = "Look there.")
    static void broken(Trial trial) {
      trial.expectEqual("the answer", 42, 41);
    }

    @Rule(
        id = "t.advice",
        level = Level.SHOULD,
        scope = Scope.STORE,
        text = "It is advice.",
        hint = "None.")
    static void advice(Trial trial) {
      trial.expectEqual("the answer", 42, 41);
    }

    @Rule(id = "t.wrong", scope = Scope.STORE, text = "The suite is wrong.", hint = "None.")
    @SuppressWarnings("DoNotCallSuggester") // How it ends is the point.
    static void wrong(Trial trial) {
      throw new IllegalStateException("a defect of the suite");
    }

    @Rule(id = "t.hookless", scope = Scope.STORE, text = "It needs a hook.", hint = "None.")
    @SuppressWarnings("DoNotCallSuggester") // How it ends is the point.
    static void hookless(Trial trial) {
      throw trial.noHook("a hammer");
    }

    @Rule(
        id = "t.listing",
        scope = Scope.STORE,
        text = "It lists.",
        hint = "None.",
        needs = Capability.LIST)
    static void listing(Trial trial) {
      trial.store().list(trial.prefix(), key -> true, trial.soon());
    }

    @Rule(id = "t.asks", scope = Scope.STORE, text = "It asks.", hint = "None.")
    static void asks(Trial trial) {
      trial.store().exists(List.of(trial.key("a")), trial.soon());
    }

    @Rule(id = "t.uses", scope = Scope.STORE, text = "It uses.", hint = "None.")
    static void uses(Trial trial) {
      trial.put(trial.store(), trial.key("a"), new Content(1), 10);
      trial.expectObject(trial.store(), trial.key("a"), new Content(1), 10);
      trial.store().exists(List.of(trial.key("a")), trial.soon());
    }

    @Rule(id = "t.hangs", scope = Scope.STORE, text = "It hangs.", hint = "None.")
    static void hangs(Trial trial) throws Exception {
      NEVER.await();
    }

    @Rule(id = "t.reopens", scope = Scope.STORE, text = "It reopens.", hint = "None.", alone = true)
    static void reopens(Trial trial) {
      trial.put(trial.store(), trial.key("b"), new Content(2), 10);
      trial.open().exists(List.of(trial.key("b")), trial.soon());
    }

    @Rule(id = "t.untidy", scope = Scope.STORE, text = "It is untidy.", hint = "None.")
    static void untidy(Trial trial) {
      trial.cleanup(
          () -> {
            throw new IllegalStateException("cannot close");
          });
    }
  }

  private static final List<RuleCatalogue.Entry> ALL = RuleCatalogue.of(List.of(Endings.class));

  private static final Set<Capability> NONE = Set.of();

  private static ReferenceStore plain() {
    return new ReferenceStore(NONE, ReferenceStore.LIMITS, 1 << 20);
  }

  private final Set<String> told = new HashSet<>();

  private ConformanceReport run(
      Supplier<? extends CacheStore> store, List<Runner.Deviation> deviations, String... ids) {
    List<RuleCatalogue.Entry> chosen =
        ALL.stream().filter(entry -> List.of(ids).contains(entry.id())).toList();
    assertThat(chosen).hasSize(ids.length);
    return Runner.run(
        new Runner.Plan(
            StoreUnderTest.of("store", store),
            LinkerFactory.unifiedCache(),
            chosen,
            chosen,
            Effort.USUAL,
            7,
            "prefix-",
            deviations,
            Duration.ofSeconds(2)),
        result -> told.add(result.rule()));
  }

  private ConformanceReport run(Supplier<? extends CacheStore> store, String... ids) {
    return run(store, List.of(), ids);
  }

  private static RuleResult only(ConformanceReport report) {
    assertThat(report.rules()).hasSize(1);
    return report.rules().getFirst();
  }

  @Test
  void run_ofRulesThatHold_isConformant() {
    ConformanceReport report = run(RunnerTest::plain, "t.holds", "t.uses");

    assertThat(report.result()).as("%s", report.reasons()).isEqualTo(Result.CONFORMANT);
    assertThat(report.reasons()).isEmpty();
    assertThat(report.rules()).extracting(RuleResult::rule).containsExactly("t.holds", "t.uses");
    assertThat(report.rules().getFirst().reason()).startsWith("seen ");
    assertThat(told).containsExactlyInAnyOrder("t.holds", "t.uses");
  }

  @Test
  void violation_isToldInFull() {
    ConformanceReport report = run(RunnerTest::plain, "t.broken", "t.uses");

    assertThat(report.result()).isEqualTo(Result.NOT_CONFORMANT);
    assertThat(report.reasons()).containsExactly("rule t.broken (MUST) is broken");
    assertThat(report.rules().getFirst().outcome()).isEqualTo(Outcome.FAILED);
    assertThat(report.rules().getFirst().reason())
        .isEqualTo(
            """
            t.broken (MUST): It is broken.
              store:    store
              expected: the answer to be 42
              observed: 41
              hint:     Look there.
              seed:     7
              repeat:   -Dconformance.rule=t.broken -Dconformance.seed=7\
            """);
  }

  @Test
  void brokenAdvice_isPartial() {
    ConformanceReport report = run(RunnerTest::plain, "t.advice", "t.uses");

    assertThat(report.result()).isEqualTo(Result.PARTIAL);
    assertThat(report.reasons()).containsExactly("rule t.advice (SHOULD) is broken");
  }

  @Test
  void defectOfTheSuite_isUnknown() {
    ConformanceReport report = run(RunnerTest::plain, "t.wrong", "t.uses");

    assertThat(report.result()).isEqualTo(Result.UNKNOWN);
    assertThat(report.count(Outcome.HARNESS_ERROR)).isEqualTo(1);
    assertThat(report.rules().getLast().reason()).contains("a defect of the suite", "RunnerTest");
  }

  @Test
  void cleanupThatFails_isADefectOfTheSuite() {
    RuleResult result = only(run(RunnerTest::plain, "t.untidy"));

    assertThat(result.outcome()).isEqualTo(Outcome.HARNESS_ERROR);
    assertThat(result.reason()).contains("cannot close");
  }

  @Test
  void missingHook_isNamedAndLeavesTheVerdict() {
    ConformanceReport report = run(RunnerTest::plain, "t.hookless", "t.uses");

    assertThat(report.rules().getFirst().outcome()).isEqualTo(Outcome.NO_HOOK);
    assertThat(report.rules().getFirst().reason()).isEqualTo("needs a hammer");
    assertThat(report.result()).isEqualTo(Result.CONFORMANT);
  }

  @Test
  void undeclaredCapability_isNotApplicable() {
    RuleResult result = only(run(RunnerTest::plain, "t.listing"));

    assertThat(result.outcome()).isEqualTo(Outcome.NOT_APPLICABLE);
    assertThat(result.reason()).isEqualTo("LIST is not declared");
  }

  @Test
  void unprovedCapability_isPartial() {
    ConformanceReport report =
        run(
            () ->
                new ReferenceStore(
                    Set.of(Capability.DEVICE_MEMORY), ReferenceStore.LIMITS, 1 << 20),
            "t.uses");

    assertThat(report.result()).isEqualTo(Result.PARTIAL);
    assertThat(report.reasons()).containsExactly("DEVICE_MEMORY is declared and was not proved");
  }

  @Test
  void operationThatNeverSucceeds_isUnknown() {
    ConformanceReport report = run(RunnerTest::plain, "t.asks");

    assertThat(report.result()).isEqualTo(Result.UNKNOWN);
    assertThat(report.reasons())
        .containsExactly(
            "EXISTS has not succeeded once",
            "PUT has not succeeded once",
            "GET has not succeeded once");
  }

  @Test
  void runWithoutACoreRule_isUnknown() {
    ConformanceReport report = run(ReferenceStore::new, "t.listing");

    assertThat(report.result()).isEqualTo(Result.UNKNOWN);
    assertThat(report.reasons()).contains("no rule that binds every subject was executed");
  }

  @Test
  void exceptionOfTheStore_isAFailureOfTheStore() {
    RuleResult result =
        only(
            run(
                () ->
                    new ReferenceStore() {
                      @Override
                      public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                        throw new UnsupportedOperationException("not yet");
                      }
                    },
                "t.asks"));

    assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(result.reason())
        .contains("exists to return an answer", "UnsupportedOperationException: not yet at ");
  }

  @Test
  void nullOfTheStore_isAFailureOfTheStore() {
    RuleResult result =
        only(
            run(
                () ->
                    new ReferenceStore() {
                      @Override
                      @SuppressWarnings("NullAway") // What a careless store does.
                      public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                        return null;
                      }
                    },
                "t.asks"));

    assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(result.reason()).contains("observed: null");
  }

  @Test
  void cacheExceptionThatNoRuleExpects_isAFailureOfTheStore() {
    RuleResult result =
        only(
            run(
                () ->
                    new ReferenceStore() {
                      @Override
                      public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                        throw new CacheException(FailureCode.IO, "no disk");
                      }
                    },
                "t.asks"));

    assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(result.reason()).contains("CacheException with code IO: no disk", "RunnerTest.java");
  }

  @Test
  void ruleThatHangs_isAFailureThatShowsWhere() {
    RuleResult result = only(run(RunnerTest::plain, "t.hangs"));

    assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(result.reason()).contains("has not for 2 s", "CountDownLatch.await");
  }

  private static Runner.Deviation deviation(String rule, int days) {
    return new Runner.Deviation(rule, "known", LocalDate.now(ZoneOffset.UTC).plusDays(days));
  }

  @Test
  void knownDeviation_isSetAsideAndPartial() {
    ConformanceReport report =
        run(RunnerTest::plain, List.of(deviation("t.broken", 1)), "t.broken", "t.uses");

    assertThat(report.rules().getFirst().outcome()).isEqualTo(Outcome.SET_ASIDE);
    assertThat(report.rules().getFirst().reason()).contains("\"known\", until ");
    assertThat(report.result()).isEqualTo(Result.PARTIAL);
  }

  @Test
  void knownDeviation_ofARuleThatHolds_fails() {
    RuleResult result = only(run(RunnerTest::plain, List.of(deviation("t.holds", 1)), "t.holds"));

    assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(result.reason()).contains("the rule holds; remove it");
  }

  @Test
  void knownDeviation_afterItsDate_fails() {
    RuleResult result =
        only(run(RunnerTest::plain, List.of(deviation("t.broken", -1)), "t.broken"));

    assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
    assertThat(result.reason())
        .startsWith("the known deviation")
        .contains("is over", "It is broken.");
  }

  @Test
  void random_followsFromTheSeed() {
    run(RunnerTest::plain, "t.holds");
    Long first = Endings.DRAWN.get("t.holds");
    run(RunnerTest::plain, "t.holds");

    assertThat(Endings.DRAWN.get("t.holds")).isEqualTo(first);
  }

  @Test
  void prefixThatHoldsObjects_isRefused() {
    ReferenceStore store =
        new ReferenceStore() {
          @Override
          public void close() {}
        };
    StoreUnderTest subject = StoreUnderTest.of("store", () -> store);
    store.put(
        List.of(new io.unifiedcache.api.store.PutOp(new ObjectKey("prefix-old"), List.of())),
        Deadline.never());

    assertThatThrownBy(() -> run(subject::open, "t.holds"))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("prefix-old");
  }

  /** A store whose objects outlive it. */
  private static final class Durable extends ReferenceStore {
    private final boolean stuck;

    private Durable(boolean stuck) {
      super(Set.of(Capability.DURABLE, Capability.REMOVE), LIMITS, 1 << 20);
      this.stuck = stuck;
    }

    @Override
    protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
      if (stuck) {
        fail(result, i, StoreFailure.of(FailureCode.IO, "stuck"));
      } else {
        super.remove(key, evenIfLeased, result, i);
      }
    }

    @Override
    public void close() {}
  }

  @Test
  void objectsOfTheRun_areRemovedAtItsEnd() {
    Durable store = new Durable(/* stuck= */ false);

    run(() -> store, "t.uses", "t.reopens");

    assertThat(store.stats().objects()).isZero();
    assertThat(store.stats().removed()).isEqualTo(2);
  }

  @Test
  void objectsThatCannotBeRemoved_areToldOf() {
    Durable store = new Durable(/* stuck= */ true);

    ConformanceReport report = run(() -> store, "t.uses");

    assertThat(report.result()).isEqualTo(Result.UNKNOWN);
    assertThat(report.reasons()).anyMatch(reason -> reason.contains("could not be removed"));
  }
}
