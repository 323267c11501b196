package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import io.unifiedcache.linker.SettingsException;
import io.unifiedcache.linker.rank.LocalRanks;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * What a rule of linkers is tried with: small engines, each with a linker over the store under
 * test, whose objects no other rule and no other run meets.
 *
 * <p>A store may evict at any time. {@link #attempt} tries the rule again if that came between.
 *
 * <p>Used by the thread of the rule, and by those that it starts with {@link #onEach}.
 */
final class LinkerRig {
  /** How often a rule is tried on a store that loses objects by itself. */
  private static final int ATTEMPTS = 4;

  private static final SecureRandom FRESH = new SecureRandom();

  private final Trial trial;
  private final String tag = Long.toString(FRESH.nextLong() >>> 28, Character.MAX_RADIX);
  private final List<Engine> engines = new CopyOnWriteArrayList<>();
  private final List<FaultInjectingStore> stores = new CopyOnWriteArrayList<>();
  private final Set<ObjectKey> stored = ConcurrentHashMap.newKeySet();
  private final List<Runnable> ends = new CopyOnWriteArrayList<>();

  private LinkerRig(Trial trial) {
    this.trial = trial;
  }

  /** Tries a rule, and closes everything it has opened. */
  static void attempt(Trial trial, Consumer<LinkerRig> rule) {
    for (int i = 1; ; i++) {
      LinkerRig rig = new LinkerRig(trial);
      try {
        rig.tryOnce(rule);
        return;
      } catch (SettingsException e) {
        throw trial.notApplicable("the linker does not take a setting: " + e.getMessage());
      } catch (Violation | CacheException e) {
        rig.throwViolationOfStore();
        if (!rig.storeLostObjects()) {
          throw e;
        }
        if (i == ATTEMPTS) {
          throw trial.noHook(
              "a store that keeps a few small objects for as long as the rule takes");
        }
      }
    }
  }

  private void tryOnce(Consumer<LinkerRig> rule) {
    try {
      rule.accept(this);
    } catch (RuntimeException | Error problem) {
      endAfter(problem);
      throw problem;
    }
    end();
    throwViolationOfStore();
  }

  private void endAfter(Throwable problem) {
    try {
      end();
    } catch (RuntimeException | Error e) {
      problem.addSuppressed(e);
    }
  }

  /** What the store under test does wrong is not the fault of the linker, which has caught it. */
  private void throwViolationOfStore() {
    for (FaultInjectingStore each : stores) {
      Violation violation = each.violation();
      if (violation != null) {
        throw violation;
      }
    }
  }

  private boolean storeLostObjects() {
    return stores.stream().anyMatch(each -> !each.lost().isEmpty());
  }

  private void end() {
    ends.forEach(Runnable::run);
    stores.forEach(FaultInjectingStore::release);
    RuntimeException first = null;
    Violation violation = null;
    for (Engine each : engines.reversed()) {
      try {
        each.close();
      } catch (Violation e) {
        violation = violation == null ? e : violation;
      } catch (RuntimeException e) {
        first = first == null ? e : first;
      }
    }
    if (violation != null) {
      throw violation;
    }
    if (first != null) {
      throw first;
    }
  }

  /** Returns the trial. */
  Trial trial() {
    return trial;
  }

  /**
   * Returns the tag of every identity of this rig: part of each object key, and never used before.
   */
  String tag() {
    return tag;
  }

  /** Returns how long to wait for what comes by itself, on any store that is not stuck. */
  Duration patience() {
    return trial.effort().quick() ? Duration.ofSeconds(4) : Trial.PATIENCE;
  }

  /** Returns how long to watch that something does not happen. */
  Duration moment() {
    return Duration.ofMillis(trial.effort().quick() ? 15 : 60);
  }

  /** Lets time pass in which something could happen that should not. */
  void pause(Duration time) {
    Deadline by = Deadline.after(time);
    while (!by.hasPassed()) {
      LockSupport.parkNanos(by.remainingNanos());
    }
  }

  /** Waits until something is so. Fails the rule if it does not become so. */
  void await(String expected, BooleanSupplier condition, Supplier<String> observed) {
    await(patience(), expected, condition, observed);
  }

  private void await(
      Duration time, String expected, BooleanSupplier condition, Supplier<String> observed) {
    Deadline by = Deadline.after(time);
    while (!condition.getAsBoolean()) {
      if (by.hasPassed() || storeLostObjects()) {
        throw new Violation(expected + " within " + time.toSeconds() + " s", observed.get());
      }
      pause(Duration.ofMillis(1));
    }
  }

  /**
   * Returns the answer of a call. Fails the rule if it does not come back, be it for as long as the
   * store may take beyond a deadline.
   */
  <T> T awaited(String what, Callable<T> call) {
    Future<T> answer = trial.start("call", call);
    await(
        patience().plus(trial.limits().grace()),
        what + " to return",
        answer::isDone,
        () -> "it has not");
    return trial.await(what, answer);
  }

  /** Returns a plan of an engine, of pool {@code kv} alone and with no other rank. */
  Engine.Plan engine() {
    return new Engine.Plan(this);
  }

  /** Opens engines of several tensor ranks. */
  List<Engine> ranks(int count, UnaryOperator<Engine.Plan> change) {
    return onEach(rankPlans(count, change), Engine.Plan::open);
  }

  /** Returns plans of engines of several tensor ranks, which are opened together. */
  List<Engine.Plan> rankPlans(int count, UnaryOperator<Engine.Plan> change) {
    return LocalRanks.of(count).stream()
        .map(
            member ->
                change.apply(
                    engine()
                        .ranks(member)
                        .identity(identity -> identity.tensor(member.rank(), count))))
        .toList();
  }

  /** Does a step on every rank at once, each in a thread of its own; results by rank. */
  <R, T> List<T> onEach(List<R> all, Function<R, T> step) {
    List<Future<T>> futures = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      R rank = all.get(i);
      Callable<T> call = () -> step.apply(rank);
      futures.add(trial.start("rank-" + i, call));
    }
    List<T> answers = new ArrayList<>();
    for (Future<T> each : futures) {
      answers.add(trial.await("a step of every rank", each));
    }
    return answers;
  }

  /** Returns the names of pages: a text and a number, counted from 0. */
  static List<PageKey> pages(String name, int count) {
    return IntStream.range(0, count).mapToObj(i -> new PageKey(name + i)).toList();
  }

  /** Returns the store under test, as it is below all faults. */
  CacheStore storeUnderTest() {
    return trial.store();
  }

  /** Returns the objects that were put and not removed, through whichever engine. */
  Set<ObjectKey> stored() {
    return stored;
  }

  /** Has something done when the rule ends, before anything is closed. */
  void atEnd(Runnable action) {
    ends.add(action);
  }

  void add(FaultInjectingStore store) {
    stores.add(store);
  }

  void add(Engine engine) {
    engines.add(engine);
  }
}
