package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Script;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The rules of offloads. */
public final class OffloadRules {
  private static final StoreFailure FULL = StoreFailure.of(FailureCode.NO_SPACE, "no room for it");
  private static final StoreFailure UNKNOWN =
      StoreFailure.of(FailureCode.IO, "injected: no answer");
  private static final StoreFailure GONE =
      StoreFailure.of(FailureCode.ABSENT, "the object looks absent");

  private OffloadRules() {}

  @Rule(
      id = "offload.owner",
      scope = Scope.LINKER,
      text =
          "A page that every rank holds alike is written once, by its owner, and the completions of"
              + " the other ranks follow the owner's verdict.",
      hint =
          "Let one rank write rank-replicated pools; the others answer once the ranks have agreed,"
              + " with what the owner found.")
  static void owner(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          List<Engine> ranks = rig.ranks(2, Engine.Plan::replicated);
          Engine owner = expectWrittenOnce(trial, rig, ranks);
          expectVerdictFollowed(trial, rig, ranks);
          expectOwnerAwaited(trial, rig, ranks, owner);
        });
  }

  /** Has no rank find anything in the store, so that whoever would write does. */
  private static Engine expectWrittenOnce(Trial trial, LinkerRig rig, List<Engine> ranks) {
    Script empty =
        new Script() {
          @Override
          public @Nullable StoreFailure failure(Call call, int i) {
            return call.step() == Step.EXISTS ? GONE : null;
          }
        };
    ranks.forEach(engine -> engine.store().follow(empty));
    List<PageKey> pages = LinkerRig.pages("p", 2);
    for (Completion completion : rig.onEach(ranks, engine -> offload(engine, "once", pages))) {
      expectStored(trial, "an offload of pages that every rank holds", completion);
    }
    Engine owner = null;
    Set<ObjectKey> written = new HashSet<>();
    for (Engine engine : ranks) {
      for (ObjectKey key : keys(engine, Step.PUT)) {
        trial.expect(
            written.add(key),
            "each object of the pages that every rank holds to be written once",
            () -> Trial.name(key) + " was written twice");
        owner = engine;
      }
    }
    if (owner == null) {
      throw new Violation("one of the ranks to write the pages", "no rank wrote an object");
    }
    ranks.forEach(engine -> engine.store().follow(Script.NONE));
    return owner;
  }

  /** Fails one object of three pages, whichever rank it is that writes it. */
  private static void expectVerdictFollowed(Trial trial, LinkerRig rig, List<Engine> ranks) {
    for (Engine engine : ranks) {
      engine
          .store()
          .follow(
              new Script() {
                @Override
                public @Nullable StoreFailure failure(Call call, int i) {
                  return call.step() == Step.PUT && call.number() == 0 && i == 0 ? FULL : null;
                }
              });
    }
    List<PageKey> pages = LinkerRig.pages("q", 3);
    List<List<PageKey>> failed =
        rig.onEach(ranks, engine -> failed(offload(engine, "verdict", pages)));
    ranks.forEach(engine -> engine.store().follow(Script.NONE));
    trial.expect(
        !failed.get(0).isEmpty(),
        "a page of which the owner could not write an object to be listed as failed",
        failed::toString);
    trial.expect(
        failed.get(1).equals(failed.get(0)),
        "the completion of every rank to list the pages that the owner could not write",
        failed::toString);
    List<PageKey> stored = new ArrayList<>(pages);
    stored.removeAll(failed.get(0));
    if (stored.isEmpty()) {
      return;
    }
    for (Completion completion : rig.onEach(ranks, engine -> engine.load("back", stored, 8))) {
      expectStored(trial, "a load of the pages that are not listed as failed", completion);
    }
    ranks.forEach(engine -> engine.expectHeld("the load", stored, 8));
  }

  /** Holds the owner up while it writes. */
  private static void expectOwnerAwaited(
      Trial trial, LinkerRig rig, List<Engine> ranks, Engine owner) {
    List<Gate> gates =
        ranks.stream().map(each -> each.store().gate(call -> call.step() == Step.PUT)).toList();
    List<PageKey> pages = LinkerRig.pages("r", 1);
    for (Engine engine : ranks) {
      engine.fill(pages.getFirst(), 0);
      engine.linker().offload(engine.request("awaited", pages, 0));
    }
    var unused = gates.get(ranks.indexOf(owner)).awaitArrival();
    trial.expectEqual(
        "what the ranks are told while the owner is still writing",
        List.of(List.of(), List.of()),
        rig.onEach(ranks, engine -> engine.linker().pollOffloads(rig.moment())));
    gates.forEach(Gate::open);
    for (Completion completion : rig.onEach(ranks, Engine::pollOffload)) {
      expectStored(trial, "an offload of a page that the owner took long to write", completion);
    }
  }

  @Rule(
      id = "offload.missing-only",
      scope = Scope.LINKER,
      text = "Only absent objects are written.",
      hint = "Ask the store which objects it has, and put the others, object by object.")
  static void missingOnly(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 4);
          engine.store(pages.subList(0, 3));
          Prompt.expectPut(engine, pages.subList(0, 3));
          Set<ObjectKey> present = new HashSet<>();
          pages.forEach(page -> present.addAll(engine.objects(page)));
          ObjectKey missing = engine.objects(pages.get(1)).getLast();
          present.remove(missing);
          engine.store().vanish(List.of(missing));
          engine.store().forgetCalls();
          expectStored(trial, "an offload of four pages", offload(engine, "some", pages));
          Set<ObjectKey> written = new HashSet<>();
          for (ObjectKey key : keys(engine, Step.PUT)) {
            trial.expect(
                !present.contains(key) && written.add(key),
                "no object to be written that is in the store",
                () -> "a put of " + Trial.name(key));
          }
          trial.expect(
              written.contains(missing),
              "the one object that a page lacks to be written",
              () -> "puts of " + written);
          engine.store().forgetCalls();
          expectStored(trial, "the same offload again", offload(engine, "none", pages));
          trial.expectEqual(
              "the objects that are written when nothing is missing",
              List.of(),
              keys(engine, Step.PUT));
          engine.poison();
          engine.expectOk("back", engine.load("back", pages, 4));
          engine.expectHeld("a load of what was offloaded", pages, 4);
          // As when another process writes the same pages in the meantime.
          engine
              .store()
              .follow(Script.failing(GONE, Set.copyOf(engine.objects(pages.get(0))), Step.EXISTS));
          expectStored(
              trial,
              "an offload of objects that another has put since the store was asked",
              offload(engine, "late", pages.subList(0, 1)));
          engine.store().follow(Script.NONE);
        });
  }

  @Rule(
      id = "offload.partial",
      scope = Scope.LINKER,
      text =
          "A page counts as stored only if all its components are; the others are listed as failed;"
              + " later pages are still tried.",
      hint =
          "Collect what failed by page, go on with the objects behind a failure, and list each page"
              + " of which an object failed.")
  static void partial(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          // 3, so that the last batch has fewer.
          for (int most : new int[] {100, 3}) {
            Engine engine = rig.engine().batch(most).open();
            List<PageKey> pages = LinkerRig.pages("p" + most % 10 + "x", 5);
            engine.store(pages);
            Prompt.expectPut(engine, pages);
            List<PageKey> broken = List.of(pages.get(1), pages.get(3));
            Set<ObjectKey> failing = new HashSet<>();
            broken.forEach(page -> failing.add(engine.objects(page).getLast()));
            pages.forEach(page -> engine.store().vanish(engine.objects(page)));
            engine.store().follow(Script.failing(FULL, failing, Step.PUT));
            Completion completion = offload(engine, "partly", pages);
            engine.store().follow(Script.NONE);
            trial.expect(
                failed(completion).equals(broken),
                "an offload of 5 pages, of which the second and the fourth each lack an object that"
                    + " could not be put, to list these two",
                () -> Engine.describe(completion));
            engine.poison();
            List<PageKey> stored = List.of(pages.get(0), pages.get(2), pages.get(4));
            engine.expectOk("back", engine.load("back", stored, 8));
            engine.expectHeld("a load of the pages that are not listed", stored, 8);
          }
        });
    LinkerRig.attempt(trial, OffloadRules::storeDoesNotSay);
  }

  /** Fails the question whether one object is there, which it is not. */
  private static void storeDoesNotSay(LinkerRig rig) {
    Engine engine = rig.engine().open();
    engine
        .store()
        .follow(
            new Script() {
              @Override
              public @Nullable StoreFailure failure(Call call, int i) {
                boolean asked = call.step() == Step.EXISTS && call.number() == 0;
                return asked && i == call.keys().size() - 1 ? UNKNOWN : null;
              }
            });
    List<PageKey> pages = LinkerRig.pages("q", 3);
    Completion completion = offload(engine, "unknown", pages);
    engine.store().follow(Script.NONE);
    // Whoever puts what it does not know of may say that all are stored.
    List<PageKey> stored = new ArrayList<>(pages);
    stored.removeAll(failed(completion));
    rig.trial()
        .expect(
            stored.size() >= 2,
            "an offload of 3 pages to fail none but the one of whose object the store did not say"
                + " whether it has it",
            () -> Engine.describe(completion));
    engine.poison();
    Completion back = engine.load("back", stored, 8);
    rig.trial()
        .expect(
            back.ok(),
            "the pages to load that an offload did not list as failed, when the store did not say"
                + " whether it has one of their objects",
            () -> Engine.describe(back));
    engine.expectHeld("a load of pages that are not listed as failed", stored, 8);
  }

  @Rule(
      id = "offload.poison",
      scope = Scope.LINKER,
      text =
          "The pieces of an offload are read once they have been computed and before the engine may"
              + " reuse the slots, and only then is its completion told.",
      hint =
          "Wait for the ready stage before the slots are read, and for the put to return before the"
              + " offload is told to have ended.")
  static void poison(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          CompletableFuture<String> computed = new CompletableFuture<>();
          Gate gate = engine.store().gate(call -> call.step() == Step.PUT);
          engine
              .linker()
              .offload(engine.request("a", engine.pools().sources(), pages, 0, computed));
          expectNotTold(trial, rig, engine, "before its pages have been computed");
          trial.expectEqual(
              "the puts before the pages have been computed",
              List.of(),
              engine.store().calls(Step.PUT));
          engine.fill(pages.getFirst(), 0);
          computed.complete("computed");
          var unused = gate.awaitArrival();
          expectNotTold(trial, rig, engine, "while the store has not read its pages");
          gate.open();
          engine.expectOk("a", engine.pollOffload());
          engine.poison();
          trial.expectEqual(
              "the calls that still have pieces of slots once the offload is told to have ended",
              0,
              engine.store().running());
          engine.expectOk("back", engine.load("back", pages, 5));
          engine.expectHeld("an offload whose slots were overwritten at once", pages, 5);
        });
    LinkerRig.attempt(trial, OffloadRules::neverComputed);
  }

  private static void neverComputed(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    CompletableFuture<String> never =
        CompletableFuture.failedFuture(new IllegalStateException("injected: not computed"));
    engine.linker().offload(engine.request("a", engine.pools().sources(), pages, 0, never));
    List<PageKey> failed = failed(engine.pollOffload());
    rig.trial()
        .expectEqual(
            "the failed pages of an offload whose pages could not be computed", pages, failed);
    rig.trial()
        .expectEqual(
            "the puts of pages that could not be computed",
            List.of(),
            engine.store().calls(Step.PUT));
  }

  private static void expectNotTold(Trial trial, LinkerRig rig, Engine engine, String when) {
    List<Completion> told = engine.linker().pollOffloads(rig.moment());
    trial.expect(
        told.isEmpty(),
        "no completion of an offload to be told " + when,
        () -> told.stream().map(Engine::describe).toList().toString());
  }

  // Offloads and what became of them.

  /** Fills the first slots and offloads them; returns the completion. */
  private static Completion offload(Engine engine, String id, List<PageKey> pages) {
    for (int i = 0; i < pages.size(); i++) {
      engine.fill(pages.get(i), i);
    }
    engine.linker().offload(engine.request(id, pages, 0));
    return engine.pollOffload();
  }

  private static void expectStored(Trial trial, String what, Completion completion) {
    trial.expect(completion.ok(), what + " to succeed", () -> Engine.describe(completion));
  }

  /** Returns the pages that are listed as failed. */
  private static List<PageKey> failed(Completion completion) {
    return completion.failures().stream().map(PageFailure::page).distinct().toList();
  }

  private static List<ObjectKey> keys(Engine engine, Step step) {
    return engine.store().calls(step).stream().flatMap(call -> call.keys().stream()).toList();
  }
}
