package io.unifiedcache.conformance.run;

import static java.util.stream.Collectors.joining;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.ConformanceReport.Result;
import io.unifiedcache.conformance.result.Level;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Tries rules on a store, each once, and says what came of it. */
public final class Runner {
  /** How long a rule may be tried, usually, before it counts as one that hangs. */
  public static final Duration LONGEST = Duration.ofMinutes(3);

  /**
   * What is to be run.
   *
   * @param subject the store
   * @param linkers what opens linkers
   * @param rules the rules to try
   * @param all the rules that there are for such a subject
   * @param effort how much is to be done
   * @param seed what repeats the run
   * @param prefix what every key begins with
   * @param deviations the rules that are known to be broken
   * @param longest how long a rule may be tried before it counts as one that hangs
   */
  public record Plan(
      StoreUnderTest subject,
      LinkerFactory linkers,
      List<RuleCatalogue.Entry> rules,
      List<RuleCatalogue.Entry> all,
      Effort effort,
      long seed,
      String prefix,
      List<Deviation> deviations,
      Duration longest) {}

  /**
   * A rule that is known to be broken.
   *
   * @param rule its id
   * @param reason why
   * @param until the last day on which that is accepted
   */
  public record Deviation(String rule, String reason, LocalDate until) {}

  private final Plan plan;
  private final Consumer<RuleResult> listener;
  private final Map<String, RuleResult> results = new HashMap<>();

  private Runner(Plan plan, Consumer<RuleResult> listener) {
    this.plan = plan;
    this.listener = listener;
  }

  /**
   * Runs what is planned.
   *
   * @param listener is told each result as it comes, one at a time
   * @throws CacheException if the store cannot be opened, or holds objects under the prefix
   */
  public static ConformanceReport run(Plan plan, Consumer<RuleResult> listener) {
    return new Runner(plan, listener).run();
  }

  private ConformanceReport run() {
    Map<String, String> settings = plan.subject().shownSettings();
    Tally tally = new Tally();
    CacheStore shared = plan.subject().open();
    Optional<String> unclosed = Optional.empty();
    Run run;
    try {
      Set<Capability> capabilities = Set.copyOf(shared.capabilities());
      requireFree(shared, capabilities);
      run =
          new Run(
              plan.subject(),
              plan.linkers(),
              plan.effort(),
              plan.seed(),
              plan.prefix(),
              new ObservedStore(shared, tally),
              capabilities,
              shared.limits(),
              foreignObjects(shared, capabilities),
              tally);
      tryTogether(run);
    } finally {
      unclosed = close(shared);
    }
    for (RuleCatalogue.Entry entry : plan.rules()) {
      if (entry.rule().alone()) {
        report(tryRule(entry, run));
      }
    }
    Optional<String> leftovers = cleanUp(run);
    return report(run, settings, leftovers.isPresent() ? leftovers : unclosed);
  }

  /** Closes a store that may hang in that, as one of the rules will tell; says so if it does. */
  private static Optional<String> close(CacheStore store) {
    FutureTask<Boolean> task =
        new FutureTask<>(
            () -> {
              store.close();
              return true;
            });
    Thread.ofPlatform().daemon().name("conformance-close").start(task);
    try {
      boolean done = task.get(Trial.PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
      return done ? Optional.empty() : Optional.of("the store did not close");
    } catch (TimeoutException e) {
      return Optional.of("the store did not close within " + Trial.PATIENCE.toSeconds() + " s");
    } catch (ExecutionException e) {
      return Optional.of("the store could not be closed: " + e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.of("interrupted while the store closes");
    }
  }

  private void requireFree(CacheStore store, Set<Capability> capabilities) {
    if (!capabilities.contains(Capability.LIST)) {
      return;
    }
    List<ObjectKey> found = new ArrayList<>();
    store.list(
        KeyPrefix.of(plan.prefix()),
        key -> {
          found.add(key);
          return false;
        },
        Deadline.after(Trial.PATIENCE));
    if (!found.isEmpty()) {
      throw new CacheException(
          FailureCode.REFUSED,
          "the store holds objects under the prefix \"%s\" that this run did not write, such as %s;"
                  .formatted(plan.prefix(), Trial.name(found.getFirst()))
              + " give another prefix, or none to have a fresh one");
    }
  }

  private static long foreignObjects(CacheStore store, Set<Capability> capabilities) {
    if (capabilities.contains(Capability.LIST)) {
      long[] count = {0};
      store.list(
          KeyPrefix.EVERYTHING,
          key -> {
            count[0]++;
            return false;
          },
          Deadline.after(Trial.PATIENCE));
      return count[0];
    }
    long objects = store.stats().objects();
    if (objects != StoreStats.UNKNOWN) {
      return objects;
    }
    boolean ours =
        !capabilities.contains(Capability.DURABLE) && !capabilities.contains(Capability.SHARED);
    return ours ? 0 : -1;
  }

  private void tryTogether(Run run) {
    int threads = Math.max(2, Runtime.getRuntime().availableProcessors());
    try (ExecutorService pool =
        Executors.newFixedThreadPool(
            threads, Thread.ofPlatform().daemon().name("conformance-", 0).factory())) {
      List<Future<?>> trials = new ArrayList<>();
      for (RuleCatalogue.Entry entry : plan.rules()) {
        if (!entry.rule().alone()) {
          trials.add(pool.submit(() -> report(tryRule(entry, run))));
        }
      }
      for (Future<?> trial : trials) {
        awaitQuietly(trial);
      }
    }
  }

  private static void awaitQuietly(Future<?> trial) {
    try {
      trial.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while rules are tried", e);
    } catch (ExecutionException e) {
      throw new IllegalStateException("a trial did not answer", e);
    }
  }

  private synchronized void report(RuleResult result) {
    results.put(result.rule(), result);
    listener.accept(result);
  }

  private RuleResult tryRule(RuleCatalogue.Entry entry, Run run) {
    long start = System.nanoTime();
    Answer answer = outcomeOf(entry, run);
    Duration time = Duration.ofNanos(System.nanoTime() - start);
    Answer judged = judged(entry, answer);
    return new RuleResult(
        entry.id(), entry.rule().level(), judged.outcome(), judged.reason(), time);
  }

  private record Answer(Outcome outcome, String reason) {}

  private Answer outcomeOf(RuleCatalogue.Entry entry, Run run) {
    Set<Capability> missing = EnumSet.noneOf(Capability.class);
    missing.addAll(List.of(entry.rule().needs()));
    missing.removeAll(run.capabilities());
    if (!missing.isEmpty()) {
      return new Answer(
          Outcome.NOT_APPLICABLE,
          missing.stream().map(Capability::name).collect(joining(", ")) + " is not declared");
    }
    FutureTask<Answer> task = new FutureTask<>(() -> tried(entry, run));
    Thread thread = Thread.ofPlatform().daemon().name("conformance-" + entry.id()).start(task);
    try {
      return task.get(plan.longest().toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      StackTraceElement[] stack = thread.getStackTrace();
      thread.interrupt();
      return new Answer(
          Outcome.FAILED,
          failure(
              entry,
              "every call to return",
              "one has not for "
                  + plan.longest().toSeconds()
                  + " s; the thread is at "
                  + Arrays.stream(stack).limit(8).map(String::valueOf).collect(joining(" < "))));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Answer(Outcome.HARNESS_ERROR, "the run was interrupted");
    } catch (ExecutionException e) {
      return new Answer(Outcome.HARNESS_ERROR, stackTrace(e.getCause()));
    }
  }

  private Answer tried(RuleCatalogue.Entry entry, Run run) {
    Trial trial = new Trial(entry, run);
    Answer answer = answer(entry, () -> entry.tryIn(trial));
    Answer end = answer(entry, trial::end);
    if (answer.outcome() == Outcome.PASSED) {
      return end.outcome() == Outcome.PASSED ? new Answer(Outcome.PASSED, trial.notes()) : end;
    }
    return answer;
  }

  private interface Attempt {
    void run() throws Throwable;
  }

  private Answer answer(RuleCatalogue.Entry entry, Attempt attempt) {
    try {
      attempt.run();
      return new Answer(Outcome.PASSED, "");
    } catch (Violation e) {
      return new Answer(Outcome.FAILED, failure(entry, e.expected(), e.observed()));
    } catch (Untried e) {
      return new Answer(e.outcome(), String.valueOf(e.getMessage()));
    } catch (CacheException e) {
      return new Answer(
          Outcome.FAILED,
          failure(
              entry,
              "calls to be served",
              "a CacheException with code "
                  + e.code()
                  + ": "
                  + e.getMessage()
                  + placeOf(entry, e)));
    } catch (Throwable e) {
      return new Answer(Outcome.HARNESS_ERROR, stackTrace(e));
    }
  }

  /** Names the line of the rule that made the call. */
  private static String placeOf(RuleCatalogue.Entry entry, Throwable problem) {
    String rules = entry.method().getDeclaringClass().getName();
    for (StackTraceElement frame : problem.getStackTrace()) {
      if (frame.getClassName().startsWith(rules)) {
        return " (" + frame.getFileName() + ":" + frame.getLineNumber() + ")";
      }
    }
    return "";
  }

  private static String stackTrace(@Nullable Throwable problem) {
    StringWriter text = new StringWriter();
    if (problem != null) {
      problem.printStackTrace(new PrintWriter(text, true));
    }
    return text.toString();
  }

  private String failure(RuleCatalogue.Entry entry, String expected, String observed) {
    Rule rule = entry.rule();
    return """
    %s (%s): %s
      store:    %s
      expected: %s
      observed: %s
      hint:     %s
      seed:     %d
      repeat:   %s\
    """
        .formatted(
            rule.id(),
            rule.level(),
            rule.text(),
            described(plan.subject()),
            expected,
            observed,
            rule.hint(),
            plan.seed(),
            repeat(rule.id()));
  }

  private static String described(StoreUnderTest subject) {
    Map<String, String> settings = subject.shownSettings();
    return subject.name() + (settings.isEmpty() ? "" : " " + settings);
  }

  private String repeat(String rule) {
    if (!plan.subject().isNamed()) {
      return "-Dconformance.rule=" + rule + " -Dconformance.seed=" + plan.seed();
    }
    StringBuilder text =
        new StringBuilder("unified-cache conform --backend ").append(plan.subject().name());
    plan.subject()
        .shownSettings()
        .forEach((key, value) -> text.append(" -o ").append(key).append('=').append(value));
    return text.append(" --rule ").append(rule).append(" --seed ").append(plan.seed()).toString();
  }

  /** Holds an answer against what is known to be broken. */
  private Answer judged(RuleCatalogue.Entry entry, Answer answer) {
    for (Deviation deviation : plan.deviations()) {
      if (deviation.rule().equals(entry.id())) {
        return judged(entry, answer, deviation);
      }
    }
    return answer;
  }

  private Answer judged(RuleCatalogue.Entry entry, Answer answer, Deviation deviation) {
    String said = "\"" + deviation.reason() + "\", until " + deviation.until();
    return switch (answer.outcome()) {
      case PASSED ->
          new Answer(
              Outcome.FAILED,
              failure(entry, "the known deviation: " + said, "the rule holds; remove it"));
      case FAILED ->
          LocalDate.now(ZoneOffset.UTC).isAfter(deviation.until())
              ? new Answer(
                  Outcome.FAILED, "the known deviation " + said + " is over.\n" + answer.reason())
              : new Answer(Outcome.SET_ASIDE, said);
      default -> answer;
    };
  }

  // After the rules.

  /** Removes what the run has put, as far as the store lets it; returns what is wrong. */
  private Optional<String> cleanUp(Run run) {
    boolean removes = run.capabilities().contains(Capability.REMOVE);
    boolean clears = run.capabilities().contains(Capability.CLEAR);
    boolean stays =
        run.capabilities().contains(Capability.DURABLE)
            || run.capabilities().contains(Capability.SHARED);
    if (!stays || run.tally().keys().isEmpty() || !(removes || clears)) {
      return Optional.empty();
    }
    try (CacheStore store = plan.subject().open()) {
      return removeOurs(store, run);
    } catch (RuntimeException e) {
      return Optional.of("the objects of the run could not be removed: " + e);
    }
  }

  /** Removes what the run has put, where the store offers a way; returns what is wrong. */
  static Optional<String> removeOurs(CacheStore store, Run run) {
    Deadline by = Deadline.after(Trial.PATIENCE.plus(run.limits().busy()));
    if (run.capabilities().contains(Capability.REMOVE)) {
      return remove(store, run, by);
    }
    if (!run.capabilities().contains(Capability.CLEAR)) {
      return Optional.empty();
    }
    long kept = store.clear(KeyPrefix.of(run.prefix()), by).kept();
    return kept == 0 ? Optional.empty() : Optional.of(kept + " objects could not be cleared");
  }

  private static Optional<String> remove(CacheStore store, Run run, Deadline by) {
    List<ObjectKey> keys = run.tally().keys();
    for (int from = 0; from < keys.size(); ) {
      int to = (int) Math.min(keys.size(), (long) from + Math.min(run.limits().batch(), 1_000));
      List<ObjectKey> some = keys.subList(from, to);
      BatchResult result = store.remove(some, /* evenIfLeased= */ true, by);
      for (int i = 0; i < some.size(); i++) {
        // A key that the store refuses was never put.
        if (result.status(i) == ObjectStatus.FAILED
            && result.failure(i).code() != FailureCode.REFUSED) {
          return Optional.of(
              "object "
                  + Trial.name(some.get(i))
                  + " could not be removed: "
                  + Trial.describe(result, i));
        }
      }
      from = to;
    }
    return Optional.empty();
  }

  private ConformanceReport report(
      Run run, Map<String, String> settings, Optional<String> leftovers) {
    List<RuleResult> ordered = new ArrayList<>();
    for (RuleCatalogue.Entry entry : plan.rules()) {
      RuleResult result = results.get(entry.id());
      if (result == null) {
        throw new IllegalStateException("rule " + entry.id() + " has no result");
      }
      ordered.add(result);
    }
    List<String> reasons = new ArrayList<>();
    Result result = verdict(run, ordered, leftovers, reasons);
    return new ConformanceReport(
        Versions.of(Runner.class),
        Versions.of(CacheStore.class),
        plan.subject().name(),
        run.capabilities(),
        settings,
        Runtime.version().toString(),
        System.getProperty("os.name") + " " + System.getProperty("os.arch"),
        plan.seed(),
        plan.effort().quick(),
        result,
        reasons,
        ordered);
  }

  private Result verdict(
      Run run, List<RuleResult> ordered, Optional<String> leftovers, List<String> reasons) {
    Set<Result> verdicts = EnumSet.of(Result.CONFORMANT);
    for (RuleResult each : ordered) {
      switch (each.outcome()) {
        case FAILED -> {
          boolean must = each.level() == Level.MUST;
          verdicts.add(must ? Result.NOT_CONFORMANT : Result.PARTIAL);
          reasons.add("rule " + each.rule() + " (" + each.level() + ") is broken");
        }
        case HARNESS_ERROR -> {
          verdicts.add(Result.UNKNOWN);
          reasons.add("the suite went wrong in rule " + each.rule());
        }
        case SET_ASIDE -> {
          verdicts.add(Result.PARTIAL);
          reasons.add("rule " + each.rule() + " is set aside: " + each.reason());
        }
        case PASSED, NOT_APPLICABLE, NO_HOOK -> {}
      }
    }
    leftovers.ifPresent(
        problem -> {
          verdicts.add(Result.UNKNOWN);
          reasons.add(problem);
        });
    if (plan.rules().size() < plan.all().size()) {
      verdicts.add(Result.PARTIAL);
      reasons.add("only %d of %d rules were run".formatted(plan.rules().size(), plan.all().size()));
    }
    weighProof(run, verdicts, reasons);
    for (Result each :
        List.of(Result.NOT_CONFORMANT, Result.UNKNOWN, Result.PARTIAL, Result.CONFORMANT)) {
      if (verdicts.contains(each)) {
        return each;
      }
    }
    throw new IllegalStateException("no verdict");
  }

  /** A run proves something only if rules were executed and operations have succeeded. */
  private void weighProof(Run run, Set<Result> verdicts, List<String> reasons) {
    Set<Capability> proved = new HashSet<>();
    boolean core = false;
    boolean stores = false;
    for (RuleCatalogue.Entry entry : plan.rules()) {
      RuleResult result = results.get(entry.id());
      stores |= entry.rule().scope() == Scope.STORE;
      if (result != null
          && (result.outcome() == Outcome.PASSED || result.outcome() == Outcome.FAILED)) {
        core |= entry.rule().needs().length == 0;
        proved.addAll(List.of(entry.rule().needs()));
      }
    }
    if (!core) {
      verdicts.add(Result.UNKNOWN);
      reasons.add("no rule that binds every subject was executed");
    }
    if (!stores) {
      return;
    }
    for (Capability each : Capability.values()) {
      if (run.capabilities().contains(each) && !proved.contains(each)) {
        verdicts.add(Result.PARTIAL);
        reasons.add(each + " is declared and was not proved");
      }
    }
    for (Operation each : Operation.values()) {
      boolean offered = each.capability().map(run.capabilities()::contains).orElse(true);
      if (offered && !run.tally().hasSucceeded(each)) {
        verdicts.add(Result.UNKNOWN);
        reasons.add(each + " has not succeeded once");
      }
    }
  }
}
