package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Script;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Effort;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** The rules of restorable sets: which lengths of a prompt a lookup finds. */
public final class RestoreRules {
  /** A second pool with slots of its own. */
  private static final PoolName STATES = new PoolName("ssm");

  private RestoreRules() {}

  @Rule(
      id = "restore.all-pages",
      scope = Scope.LINKER,
      text =
          "ALL_PAGES admits the lengths 1..k, k being the number of complete pages before the first"
              + " that is not.",
      hint = "Count up to the first page that is missing; what comes after it does not count.")
  static void allPages(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Prompt prompt = new Prompt(packed(rig, PoolName.KV, Engine.SIDE).open(), 4);
          for (PoolName source : List.of(PoolName.KV, Engine.SIDE)) {
            for (String pattern : patterns(trial.effort(), 4)) {
              prompt.showAll();
              prompt.show(source, pattern);
              prompt.expectLongestOfEach();
            }
          }
        });
  }

  @Rule(
      id = "restore.trailing-window",
      scope = Scope.LINKER,
      text =
          "TRAILING_PAGES admits every length whose last w pages (all of them when it is shorter)"
              + " are complete: past holes, and whatever shorter lengths do.",
      hint =
          "Try each length by itself: only the pages of its window matter, and a prefix shorter"
              + " than the window needs all of its pages.")
  static void trailingWindow(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Prompt prompt = new Prompt(packed(rig, PoolName.KV, Engine.SIDE).open(), 5);
          for (int window : new int[] {1, 2, 3, 6}) {
            prompt.ask(PoolQuery.trailingPages(Engine.SIDE, window));
            for (String pattern : patterns(trial.effort(), 5)) {
              prompt.show(Engine.SIDE, pattern);
              prompt.expectLongestOfEach();
            }
          }
        });
  }

  @Rule(
      id = "restore.every-length",
      scope = Scope.LINKER,
      text =
          "The result is the whole set of lengths, sorted, not its maximum; longest() is its last.",
      hint = "Answer every length at which all pools can resume, those below the longest included.")
  static void everyLength(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Prompt prompt = new Prompt(packed(rig, PoolName.KV, Engine.SIDE).open(), 6);
          prompt.expectExactly(RestorablePrefixes.upTo(6));
          prompt.ask(PoolQuery.trailingPages(Engine.SIDE, 2));
          prompt.show(PoolName.KV, "111011");
          prompt.expectExactly(RestorablePrefixes.upTo(3));
          prompt.showAll();
          prompt.show(Engine.SIDE, "110111");
          prompt.expectExactly(RestorablePrefixes.of(1, 2, 5, 6));
          prompt.show(Engine.SIDE, "011011");
          prompt.expectExactly(RestorablePrefixes.of(3, 6));
          prompt.show(PoolName.KV, "111110");
          prompt.expectExactly(RestorablePrefixes.of(3));
          prompt.show(Engine.SIDE, "010101");
          prompt.expectExactly(RestorablePrefixes.none());
          for (int i = 0; i < trial.effort().rounds(60); i++) {
            prompt.show(PoolName.KV, likely(trial.random(), 6));
            prompt.show(Engine.SIDE, likely(trial.random(), 6));
            prompt.ask(PoolQuery.trailingPages(Engine.SIDE, 1 + trial.random().nextInt(2)));
            prompt.expectExactly(prompt.expected(6));
          }
        });
  }

  @Rule(
      id = "restore.intersection",
      scope = Scope.LINKER,
      text =
          "The sets of all pools of a rank, then those of all ranks, are intersected; the minimum"
              + " of their maxima is never used.",
      hint = "Intersect sets of lengths, and hand other ranks the whole set and not its longest.")
  static void intersection(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Prompt prompt =
              new Prompt(packed(rig, PoolName.KV, Engine.SIDE, STATES).open(), 4)
                  .ask(PoolQuery.trailingPages(Engine.SIDE, 1))
                  .ask(PoolQuery.trailingPages(STATES, 1));
          for (String[] shown :
              List.of(
                  new String[] {"1111", "1010", "1100"},
                  new String[] {"1111", "0101", "1010"},
                  new String[] {"1110", "1011", "0111"},
                  new String[] {"1111", "0110", "1110"})) {
            prompt.show(PoolName.KV, shown[0]);
            prompt.show(Engine.SIDE, shown[1]);
            prompt.show(STATES, shown[2]);
            prompt.expectLongestOfEach();
          }
        });
    LinkerRig.attempt(trial, rig -> intersectionOfRanks(trial, rig));
  }

  private static void intersectionOfRanks(Trial trial, LinkerRig rig) {
    List<Engine> ranks = rig.ranks(2, plan -> packed(plan, PoolName.KV, Engine.SIDE));
    List<Prompt> prompts =
        rig.onEach(
            ranks, engine -> new Prompt(engine, 4).ask(PoolQuery.trailingPages(Engine.SIDE, 1)));
    List<List<String>> shown = new ArrayList<>();
    shown.add(List.of("1111", "1010", "1111", "1100"));
    shown.add(List.of("1111", "0101", "1111", "1010"));
    shown.add(List.of("1111", "1011", "1100", "1111"));
    shown.add(List.of("0111", "1111", "1111", "1111"));
    shown.add(List.of("1111", "1111", "1110", "1011"));
    for (int i = 0; i < trial.effort().rounds(20); i++) {
      Random random = trial.random();
      shown.add(List.of("1111", likely(random, 4), likely(random, 4), likely(random, 4)));
    }
    for (List<String> each : shown) {
      for (int rank = 0; rank < ranks.size(); rank++) {
        prompts.get(rank).show(PoolName.KV, each.get(2 * rank));
        prompts.get(rank).show(Engine.SIDE, each.get(2 * rank + 1));
      }
      RestorablePrefixes both = prompts.get(0).expected(4).intersect(prompts.get(1).expected(4));
      List<Integer> observed =
          rig.onEach(ranks, engine -> prompts.get(ranks.indexOf(engine)).lookup(4).usablePages());
      trial.expect(
          observed.equals(List.of(both.longest(), both.longest())),
          "the longest length that rank 0, with %s, and rank 1, with %s, can both resume at to be"
                  .formatted(prompts.get(0), prompts.get(1))
              + " "
              + both.longest()
              + " on both",
          observed::toString);
    }
  }

  @Rule(
      id = "restore.all-components",
      scope = Scope.LINKER,
      text = "A page is there only if all its objects are.",
      hint = "Ask for every component of a page, and count a page only if each of them is there.")
  static void allComponents(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine =
              rig.engine()
                  .layers(1)
                  .pool(PoolName.KV, PoolName.KV, "k", "v")
                  .pool(STATES, STATES, "s", "c0", "c1")
                  .open();
          Prompt prompt = new Prompt(engine, 3).ask(PoolQuery.trailingPages(STATES, 1));
          for (int page = 0; page < 3; page++) {
            for (ObjectKey object : engine.objects(prompt.pages().get(page))) {
              prompt.showAllBut(object);
              int observed = prompt.lookup(page + 1).usablePages();
              int missing = page;
              trial.expect(
                  observed == missing,
                  "a lookup of %d pages, the last of which lacks object %s, to find %d"
                      .formatted(page + 1, Trial.name(object), page),
                  () -> Integer.toString(observed));
            }
          }
        });
  }

  @Rule(
      id = "restore.anchor",
      scope = Scope.LINKER,
      text =
          "With no physical KV the side pools alone decide; with no pool at all the group is"
              + " refused.",
      hint =
          "Where no pool is called kv, start from all lengths and let the other pools take theirs"
              + " away.")
  static void anchor(Trial trial) {
    // A group with no pool cannot be described to a linker: DevicePools refuses it.
    LinkerRig.attempt(
        trial,
        rig -> {
          Prompt side =
              new Prompt(packed(rig, Engine.SIDE).open(), 4)
                  .ask(PoolQuery.trailingPages(Engine.SIDE, 2));
          for (String pattern : List.of("1111", "0011", "1101", "0110", "0101", "0000")) {
            side.show(Engine.SIDE, pattern);
            side.expectLongestOfEach();
          }
          Engine engine =
              packed(rig.engine(), Engine.SIDE)
                  .pool(new PoolName("indexer"), PoolName.KV, Component.PACKED)
                  .open();
          Prompt both = new Prompt(engine, "q", 4).ask(PoolQuery.trailingPages(Engine.SIDE, 1));
          for (String pattern : List.of("1111", "1101", "0111")) {
            both.show(PoolName.KV, pattern);
            both.show(Engine.SIDE, "1011");
            both.expectLongestOfEach();
          }
        });
  }

  @Rule(
      id = "restore.bounded-query",
      scope = Scope.LINKER,
      text =
          "A lookup asks for KV first, then for the side pools of the pages that KV has, together,"
              + " and for nothing beyond: in ceil(kvKeys / limit) calls and, if KV has a page,"
              + " ceil(sideKeys / limit) more, or in one phase with no physical KV; never for more"
              + " keys.",
      hint =
          "Collect the keys of a phase and cut them at the limit of the batch; take side pools only"
              + " for the pages before the first that KV lacks.")
  static void boundedQuery(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          for (int most : new int[] {100, 4, 3, 1}) {
            Engine engine =
                rig.engine()
                    .layers(1)
                    .batch(most)
                    .pool(PoolName.KV, PoolName.KV, "k", "v")
                    .pool(Engine.SIDE, Engine.SIDE, Component.PACKED)
                    .pool(STATES, STATES, Component.PACKED)
                    .open();
            Prompt prompt =
                new Prompt(engine, "p" + most % 10 + "x", 5)
                    .ask(PoolQuery.trailingPages(Engine.SIDE, 2));
            for (String pattern : List.of("11111", "11011", "10000", "01111", "00000")) {
              prompt.show(PoolName.KV, pattern);
              expectBounded(trial, prompt, (pattern + "0").indexOf('0'));
            }
          }
          Engine engine = packed(rig.engine().batch(4), Engine.SIDE, STATES).open();
          expectBounded(trial, new Prompt(engine, "q", 5), 5);
        });
  }

  /** Fails the rule unless a lookup asks for no more than it has to, in as few calls. */
  private static void expectBounded(Trial trial, Prompt prompt, int hits) {
    Engine engine = prompt.engine();
    List<PageKey> pages = prompt.pages();
    Set<ObjectKey> kv = new LinkedHashSet<>();
    Set<ObjectKey> side = new LinkedHashSet<>();
    for (int i = 0; i < pages.size(); i++) {
      for (PoolName source : engine.pools().sources()) {
        if (source.equals(PoolName.KV)) {
          kv.addAll(engine.objects(pages.get(i), source));
        } else if (i < hits) {
          side.addAll(engine.objects(pages.get(i), source));
        }
      }
    }
    engine.store().forgetCalls();
    var unused = prompt.lookup(pages.size());
    List<Call> calls = engine.store().calls();
    String what = "a lookup of " + prompt;
    Set<ObjectKey> asked = new HashSet<>();
    boolean inSide = false;
    for (Call call : calls) {
      trial.expectEqual("the calls of " + what, Step.EXISTS, call.step());
      for (ObjectKey key : call.keys()) {
        inSide |= side.contains(key);
        trial.expect(
            side.contains(key) || (kv.contains(key) && !inSide),
            what
                + " to ask for its KV first, then for the side pools of the "
                + hits
                + " pages that KV has, and for nothing else",
            () -> "it asks for " + Trial.name(key) + " in " + describe(calls));
        trial.expect(asked.add(key), what + " to ask for each key once", () -> "twice for " + key);
      }
    }
    long limit = engine.store().limits().batch();
    long most = Math.ceilDiv(kv.size(), limit) + Math.ceilDiv(side.size(), limit);
    trial.expect(
        calls.size() <= most,
        "%s to take no more than %d calls for its %d keys of KV and %d of side pools, at most %d at"
                .formatted(what, most, kv.size(), side.size(), limit)
            + " a time",
        () -> calls.size() + " calls: " + describe(calls));
  }

  private static String describe(List<Call> calls) {
    return calls.stream()
        .map(call -> call.step() + " of " + call.keys().size() + " keys")
        .toList()
        .toString();
  }

  @Rule(
      id = "restore.failed-lookup",
      scope = Scope.LINKER,
      text =
          "A failure of the store during a lookup shortens the answer and is counted; it never"
              + " lengthens it.",
      hint =
          "Treat what the store could not tell of as absent, count it in lookupFailures(), and"
              + " throw nothing.")
  static void failedLookup(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = packed(rig, PoolName.KV, Engine.SIDE).open();
          Prompt prompt = new Prompt(engine, 3).ask(PoolQuery.trailingPages(Engine.SIDE, 2));
          StoreFailure failure = StoreFailure.of(FailureCode.UNREACHABLE, "no answer");
          for (PoolName source : engine.pools().sources()) {
            for (int page = 0; page < 3; page++) {
              StringBuilder pattern = new StringBuilder("111");
              pattern.setCharAt(page, '0');
              prompt.showAll();
              prompt.show(source, pattern.toString());
              Set<ObjectKey> failing = Set.copyOf(engine.objects(prompt.pages().get(page), source));
              expectShortened(
                  trial, prompt, Script.failing(failure, failing, Step.EXISTS, Step.OPEN));
            }
          }
          CacheException lost = new CacheException(FailureCode.UNREACHABLE, "no answer");
          prompt.show(PoolName.KV, "000");
          expectShortened(trial, prompt, Script.throwing(lost, Step.EXISTS, Step.OPEN));
        });
  }

  /** Has something fail that the prompt takes for absent. */
  private static void expectShortened(Trial trial, Prompt prompt, Script failing) {
    Engine engine = prompt.engine();
    int length = prompt.pages().size();
    RestorablePrefixes most = prompt.expected(length);
    LinkerStats before = engine.linker().stats();
    engine.store().follow(failing);
    String what = "a lookup of %s in which what is missing fails".formatted(prompt);
    RestorablePrefixes found;
    try {
      found = prompt.lookup(length).restorable();
    } catch (CacheException e) {
      trial.expect(false, what + " to be answered", () -> "it threw " + e);
      return;
    } finally {
      engine.store().follow(Script.NONE);
    }
    trial.expect(
        found.intersect(most).equals(found),
        what + " to find nothing but " + most,
        found::toString);
    LinkerStats after = engine.linker().stats();
    trial.expect(
        after.lookupFailures() > before.lookupFailures(),
        what + " to be counted in lookupFailures()",
        () -> after.lookupFailures() + ", as before");
  }

  // Pools and patterns.

  /** Returns a plan with the given pools, each with one object a page, and one layer. */
  private static Engine.Plan packed(LinkerRig rig, PoolName... names) {
    return packed(rig.engine(), names);
  }

  private static Engine.Plan packed(Engine.Plan plan, PoolName... names) {
    plan.layers(1);
    for (PoolName name : names) {
      plan.pool(name, name, Component.PACKED);
    }
    return plan;
  }

  /** Returns patterns of pages: a few that tell much, or all that there are. */
  private static List<String> patterns(Effort effort, int pages) {
    List<String> patterns = new ArrayList<>();
    if (effort.quick()) {
      for (String each : List.of("11111", "11011", "00111", "01101", "10100", "11100", "00000")) {
        patterns.add(each.substring(0, pages));
      }
      return patterns;
    }
    for (int bits = 0; bits < 1 << pages; bits++) {
      StringBuilder pattern = new StringBuilder();
      for (int page = 0; page < pages; page++) {
        pattern.append((bits >> page & 1) == 0 ? '0' : '1');
      }
      patterns.add(pattern.toString());
    }
    return patterns;
  }

  /** Returns a pattern in which three pages of four are there. */
  private static String likely(Random random, int pages) {
    StringBuilder pattern = new StringBuilder();
    for (int page = 0; page < pages; page++) {
      pattern.append(random.nextInt(4) == 0 ? '0' : '1');
    }
    return pattern.toString();
  }
}
