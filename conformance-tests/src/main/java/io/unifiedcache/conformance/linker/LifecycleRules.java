package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The rules of how linkers start and come to rest. */
public final class LifecycleRules {
  private static final int TIMES_SEEN_WAITING = 3;

  private static final Set<Thread.State> WAITING =
      Set.of(Thread.State.BLOCKED, Thread.State.WAITING, Thread.State.TIMED_WAITING);

  private LifecycleRules() {}

  @Rule(
      id = "linker.quiesce",
      scope = Scope.LINKER,
      text =
          "Reset and close return when no transfer touches a buffer, or after linker.close-timeout,"
              + " naming the memory still in use, which stays quarantined; no completion from"
              + " before a reset appears after it, and every call after close is CLOSED.",
      hint =
          "Count a transfer as running until the store's call has returned and what it left in use"
              + " is released; have reset and close wait for that, and remember what they did not"
              + " see the end of.")
  static void quiesce(Trial trial) {
    LinkerRig.attempt(trial, LifecycleRules::resetWaitsForLoad);
    LinkerRig.attempt(trial, LifecycleRules::resetWaitsForOffload);
    LinkerRig.attempt(trial, LifecycleRules::resetEndsWhatHasNotBegun);
    LinkerRig.attempt(trial, LifecycleRules::resetGivesUp);
    LinkerRig.attempt(trial, LifecycleRules::closeWaits);
    LinkerRig.attempt(trial, LifecycleRules::closeGivesUp);
  }

  private static void resetWaitsForLoad(LinkerRig rig) {
    Trial trial = rig.trial();
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    LoadBatch batch = engine.start(engine.request("running", pages, 4));
    engine.linker().load(engine.request("queued", pages, 5));
    gate.awaitArrival();
    Future<LayerProgress> wait =
        trial.start("layer", () -> batch.awaitLayer(engine.lastLayer(), rig.patience()));
    Drained drained = waitsForTransfer(rig, engine, gate, "reset", () -> engine.linker().reset());
    trial.expect(
        drained.quarantined().isEmpty(),
        "a reset that has seen the end of all transfers to name no memory",
        () -> drained.quarantined().toString());
    trial.expectRefused(
        "a wait for a load that a reset has ended",
        FailureCode.CANCELLED,
        () -> trial.await("a wait that a reset ends", wait));
    engine.store().release();
    expectNoCompletion(rig, engine);
    engine.awaitEnd(engine.start(engine.request("running", pages, 6)));
    Map<String, Completion> completions = engine.pollLoads("running");
    engine.expectOk("running", completions);
    engine.expectHeld("a load after a reset", pages, 6);
  }

  private static void resetWaitsForOffload(LinkerRig rig) {
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    Gate gate = engine.store().gate(call -> call.step() == Step.PUT);
    engine.fill(pages.getFirst(), 4);
    engine.linker().offload(engine.request("running", pages, 4));
    gate.awaitArrival();
    Drained drained = waitsForTransfer(rig, engine, gate, "reset", () -> engine.linker().reset());
    rig.trial()
        .expectEqual(
            "the offloads that a reset returns",
            List.of("running"),
            drained.offloads().stream().map(Completion::id).toList());
    expectNoCompletion(rig, engine);
  }

  private static void resetEndsWhatHasNotBegun(LinkerRig rig) {
    Trial trial = rig.trial();
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    List<PageKey> others = LinkerRig.pages("q", 1);
    engine.store(pages);
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    var unused = engine.start(engine.request("running", pages, 4));
    gate.awaitArrival();
    var unusedToo = engine.start(engine.request("behind", pages, 5));
    CompletableFuture<String> computed = new CompletableFuture<>();
    engine.fill(others.getFirst(), 6);
    engine
        .linker()
        .offload(engine.request("uncomputed", engine.pools().sources(), others, 6, computed));
    Drained drained = waitsForTransfer(rig, engine, gate, "reset", () -> engine.linker().reset());
    trial.expectEqual(
        "the loads that a reset returns",
        List.of("running", "behind"),
        drained.loads().stream().map(Completion::id).toList());
    trial.expectEqual(
        "the offloads that a reset returns",
        List.of("uncomputed"),
        drained.offloads().stream().map(Completion::id).toList());
    engine.store().release();
    engine.poison();
    engine.store().forgetCalls();
    computed.complete("computed");
    engine.awaitEnd(engine.start(engine.request("next", pages, 8)));
    engine.expectOk("next", engine.pollLoads("next"));
    rig.pause(rig.moment());
    trial.expect(
        engine.isPoisoned(5),
        "a load that had not begun when the linker was reset to touch no slot after it",
        () -> "its slot was written");
    trial.expectEqual(
        "the puts after a reset of an offload that was not computed before",
        List.of(),
        engine.store().calls(Step.PUT));
    expectNoCompletion(rig, engine);
  }

  private static void expectNoCompletion(LinkerRig rig, Engine engine) {
    List<Completion> late = new ArrayList<>(engine.linker().pollLoads(rig.moment()));
    late.addAll(engine.linker().pollOffloads(Duration.ZERO));
    rig.trial().expectEqual("the completions from before a reset, after it", List.of(), late);
  }

  /** Has a call wait while the store has memory of a transfer, and returns what it returns. */
  private static <T> T waitsForTransfer(
      LinkerRig rig, Engine engine, Gate gate, String what, Supplier<T> call) {
    AtomicReference<@Nullable Thread> caller = new AtomicReference<>();
    Future<T> ending =
        rig.trial()
            .start(
                what,
                () -> {
                  caller.set(Thread.currentThread());
                  T answer = call.get();
                  int running = engine.store().running();
                  if (running > 0) {
                    throw new Violation(
                        what + " to return when no transfer touches a buffer",
                        "it returned while the store had the memory of %d calls"
                            .formatted(running));
                  }
                  return answer;
                });
    awaitRest(rig, caller, ending);
    gate.open();
    return rig.trial().await(what, ending);
  }

  /**
   * Waits until a call has returned, or its thread has been seen to wait several times in a row: on
   * a busy machine it may take any time until a call does either.
   */
  private static void awaitRest(
      LinkerRig rig, AtomicReference<@Nullable Thread> caller, Future<?> call) {
    Deadline by = Deadline.after(rig.patience());
    int seen = 0;
    while (!call.isDone() && seen < TIMES_SEEN_WAITING && !by.hasPassed()) {
      rig.pause(rig.moment());
      Thread thread = caller.get();
      seen = thread != null && WAITING.contains(thread.getState()) ? seen + 1 : 0;
    }
  }

  private static void resetGivesUp(LinkerRig rig) {
    Trial trial = rig.trial();
    Engine engine = rig.engine().set("linker.close-timeout", rig.moment()).open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    var unused = engine.start(engine.request("stuck", pages, 4));
    Call held = gate.awaitArrival();
    Drained first = rig.awaited("reset after the timeout", () -> engine.linker().reset());
    Drained second = rig.awaited("a second reset", () -> engine.linker().reset());
    for (Drained each : List.of(first, second)) {
      for (Memory piece : held.memory().getFirst()) {
        trial.expect(
            each.quarantined().stream().anyMatch(named -> covers(named, piece)),
            "each reset that gives up on a transfer to name the memory it may still touch",
            () -> piece + " is not in " + each.quarantined());
      }
      trial.expect(
          !each.released().toCompletableFuture().isDone(),
          "the memory not to be released before the transfer has let go",
          () -> "it was");
    }
    engine.expectRejected(
        "a load into slots that are quarantined",
        linker -> linker.load(engine.request("next", pages, 4)));
    gate.open();
    for (Drained each : List.of(first, second)) {
      rig.await(
          "quarantined memory to be released once the transfer has let go",
          () -> each.released().toCompletableFuture().isDone(),
          () -> "it was not");
    }
    engine.store().release();
    engine.poison();
    engine.awaitEnd(engine.start(engine.request("next", pages, 4)));
    engine.expectOk("next", engine.pollLoads("next"));
    engine.expectHeld("a load into slots that were quarantined", pages, 4);
    expectNoCompletion(rig, engine);
  }

  private static boolean covers(Memory named, Memory piece) {
    return named instanceof HostMemory all
        && piece instanceof HostMemory part
        && part.segment().address() >= all.segment().address()
        && part.segment().address() + part.byteSize() <= all.segment().address() + all.byteSize();
  }

  private static void closeWaits(LinkerRig rig) {
    Trial trial = rig.trial();
    Engine engine = rig.engine().open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    var unused = engine.start(engine.request("running", pages, 4));
    gate.awaitArrival();
    boolean closed =
        waitsForTransfer(
            rig,
            engine,
            gate,
            "close",
            () -> {
              engine.linker().close();
              return true;
            });
    trial.expectEqual("close", true, closed);
    trial.expectEqual("the registrations of memory after close", 0, engine.store().registrations());
    trial.expectEqual("the read sessions after close", 0, engine.store().openSessions());
    closedIsClosed(trial, engine, pages);
  }

  private static void closedIsClosed(Trial trial, Engine engine, List<PageKey> pages) {
    CacheLinker linker = engine.linker();
    linker.close();
    Map<String, Runnable> calls = new LinkedHashMap<>();
    calls.put("lookup", () -> linker.lookup(pages, engine.queries()));
    calls.put("load", () -> linker.load(engine.request("late", pages, 4)));
    calls.put("startLayerWiseLoading", linker::startLayerWiseLoading);
    calls.put("pollLoads", () -> linker.pollLoads(Duration.ZERO));
    calls.put("offload", () -> linker.offload(engine.request("late", pages, 4)));
    calls.put("pollOffloads", () -> linker.pollOffloads(Duration.ZERO));
    calls.put("cancel", () -> linker.cancel("late"));
    calls.put("reset", linker::reset);
    calls.forEach(
        (name, call) ->
            trial.expectRefused(name + " of a linker that is closed", FailureCode.CLOSED, call));
  }

  private static void closeGivesUp(LinkerRig rig) {
    Engine engine = rig.engine().set("linker.close-timeout", rig.moment()).open();
    List<PageKey> pages = LinkerRig.pages("p", 1);
    engine.store(pages);
    Gate gate = engine.store().gate(call -> call.step().fillsMemory());
    var unused = engine.start(engine.request("stuck", pages, 4));
    gate.awaitArrival();
    int registered = engine.store().registrations();
    rig.awaited(
        "close after the timeout",
        () -> {
          engine.linker().close();
          return true;
        });
    rig.trial()
        .expectEqual(
            "the registrations while a transfer may still touch the memory",
            registered,
            engine.store().registrations());
    gate.open();
  }

  @Rule(
      id = "linker.start-policy",
      scope = Scope.LINKER,
      text =
          "With the store absent at the start, fail-fast gives one error within the deadline;"
              + " degraded starts, answers lookups with nothing, and resumes hits when the store"
              + " appears.",
      hint =
          "Open the store on a thread that is waited for until linker.start-timeout, and with"
              + " degraded try again each linker.retry-interval.")
  static void startPolicy(Trial trial) {
    for (boolean hangs : new boolean[] {false, true}) {
      LinkerRig.attempt(trial, rig -> failFast(rig, new AbsentStore(rig, hangs)));
      LinkerRig.attempt(trial, rig -> degraded(rig, new AbsentStore(rig, hangs)));
    }
  }

  /** A store that does not open until it appears: it refuses to, or hangs. */
  private static final class AbsentStore implements Runnable {
    private final boolean hangs;
    private final AtomicBoolean absent = new AtomicBoolean(true);
    private final CompletableFuture<Boolean> appeared = new CompletableFuture<>();

    private AbsentStore(LinkerRig rig, boolean hangs) {
      this.hangs = hangs;
      rig.atEnd(this::appear);
    }

    void appear() {
      absent.set(false);
      appeared.complete(true);
    }

    @Override
    public void run() {
      if (!absent.get()) {
        return;
      }
      if (!hangs) {
        throw new CacheException(FailureCode.UNREACHABLE, "injected: there is no server");
      }
      var unused =
          appeared.completeOnTimeout(true, Trial.PATIENCE.toMillis(), TimeUnit.MILLISECONDS).join();
    }
  }

  private static Engine.Plan plan(LinkerRig rig, String policy, AbsentStore store) {
    return rig.engine()
        .opening(store)
        .set("linker.start-policy", policy)
        .set("linker.start-timeout", store.hangs ? rig.moment() : rig.patience())
        .set("linker.retry-interval", Duration.ofMillis(2));
  }

  private static void failFast(LinkerRig rig, AbsentStore store) {
    String what = "open with fail-fast and a store that " + (store.hangs ? "hangs" : "is absent");
    FailureCode code = store.hangs ? FailureCode.TIMEOUT : FailureCode.UNREACHABLE;
    Engine.Plan plan = plan(rig, "fail-fast", store);
    CacheException refusal =
        rig.trial()
            .expectRefused(
                what, code, () -> rig.awaited(what + ", within linker.start-timeout,", plan::open));
    rig.trial()
        .expect(
            store.hangs || String.valueOf(refusal.getMessage()).contains("there is no server"),
            what + " to tell the cause",
            () -> String.valueOf(refusal.getMessage()));
  }

  private static void degraded(LinkerRig rig, AbsentStore store) {
    Trial trial = rig.trial();
    List<PageKey> pages = LinkerRig.pages("p", 2);
    rig.engine().open().store(pages);
    Engine.Plan plan = plan(rig, "degraded", store);
    Engine engine;
    try {
      engine = rig.awaited("open with degraded, within linker.start-timeout,", plan::open);
    } catch (CacheException e) {
      throw new Violation(
          "open with degraded and a store that "
              + (store.hangs ? "hangs" : "is absent")
              + " to succeed",
          "it threw " + e.code() + ": " + e.getMessage(),
          e);
    }
    trial.expectEqual(
        "the longest restorable length while the store is absent",
        0,
        rig.awaited("a lookup while the store is absent", () -> engine.restorable(pages)));
    engine.awaitEnd(engine.start(engine.request("absent", pages, 4)));
    Completion unused = engine.expectFailed("absent", engine.pollLoads("absent"));
    store.appear();
    rig.await(
        "hits to resume once the store has appeared, and so 2 pages to be restorable",
        () -> engine.restorable(pages) == 2,
        () -> engine.restorable(pages) + " are");
    engine.poison();
    engine.awaitEnd(engine.start(engine.request("a", pages, 4)));
    engine.expectOk("a", engine.pollLoads("a"));
    engine.expectHeld("a load once the store has appeared", pages, 4);
  }

  @Rule(
      id = "linker.device-memory",
      scope = Scope.LINKER,
      text = "Device pools with a store that cannot address them are refused at open.",
      hint =
          "Look at every buffer of every pool when the linker opens, and refuse device memory"
              + " unless the store offers DEVICE_MEMORY.")
  static void deviceMemory(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          for (String policy : List.of("fail-fast", "degraded")) {
            for (Predicate<LayerBuffer> onDevice :
                List.<Predicate<LayerBuffer>>of(buffer -> true, buffer -> buffer.layer() == 2)) {
              Engine.Plan plan =
                  rig.engine()
                      .withSide()
                      .without(Capability.DEVICE_MEMORY)
                      .set("linker.start-policy", policy)
                      .pools(pools -> moved(pools, onDevice));
              trial.expectRefused(
                  "open of pools of device memory, with start policy " + policy + ",",
                  FailureCode.REFUSED,
                  plan::open);
            }
          }
        });
  }

  /** Returns pools of which some buffers lie on a device. */
  private static DevicePools moved(DevicePools pools, Predicate<LayerBuffer> onDevice) {
    List<DevicePool> moved = new ArrayList<>();
    for (DevicePool pool : pools.pools()) {
      List<Component> components = new ArrayList<>();
      for (Component component : pool.components()) {
        components.add(
            new Component(
                component.name(),
                component.buffers().stream()
                    .map(buffer -> onDevice.test(buffer) ? onDevice(buffer) : buffer)
                    .toList()));
      }
      moved.add(new DevicePool(pool.name(), pool.source(), components));
    }
    return new DevicePools(moved, pools.rankReplicated());
  }

  private static LayerBuffer onDevice(LayerBuffer buffer) {
    HostMemory memory = (HostMemory) buffer.memory();
    return new LayerBuffer(
        buffer.layer(),
        new DeviceMemory("conformance:0", memory.segment().address(), memory.byteSize()),
        buffer.slotStride(),
        buffer.pieceBytes());
  }
}
