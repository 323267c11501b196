package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerHealth.State;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.linker.RecordingLogs;
import io.unifiedcache.linker.config.LoadPath;
import io.unifiedcache.linker.config.StartPolicy;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StartTest {
  /** Long enough for a thread to begin, and short enough to wait for. */
  private static final Duration SHORT = Duration.ofSeconds(2);

  private final CacheException noServer =
      new CacheException(FailureCode.UNREACHABLE, "no server at 10.0.0.1");

  private final ScriptedStore store = new ScriptedStore();
  private final Opening opening = new Opening();
  private final StepwisePause pause = new StepwisePause();

  /** Opens as it is told, one step a try; the tries after the last step find the store. */
  private final class Opening implements Supplier<CacheStore> {
    final BlockingQueue<Supplier<CacheStore>> steps = new LinkedBlockingQueue<>();
    final List<Thread> threads = new CopyOnWriteArrayList<>();

    @Override
    public CacheStore get() {
      threads.add(Thread.currentThread());
      Supplier<CacheStore> step = steps.poll();
      return step == null ? store : step.get();
    }

    void failing(RuntimeException problem) {
      steps.add(
          () -> {
            throw problem;
          });
    }

    void failing(Error problem) {
      steps.add(
          () -> {
            throw problem;
          });
    }

    /** Waits for the end of the thread that opened. */
    void awaitEnd() throws InterruptedException {
      assertThat(threads.getFirst().join(Rig.LONG)).as("the thread has ended").isTrue();
    }
  }

  /** Hangs like native code, which no interrupt reaches, until it is told to go on. */
  private static final class Hang {
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);

    void run() {
      arrived.countDown();
      boolean done = false;
      while (!done) {
        try {
          done = goOn.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          // As native code does.
        }
      }
    }

    void awaitArrival() throws InterruptedException {
      assertThat(arrived.await(20, TimeUnit.SECONDS)).isTrue();
    }

    void goOn() {
      goOn.countDown();
    }
  }

  /** A pause that ends when the test says so. */
  private static final class StepwisePause implements StoreStart.Pause {
    final List<Duration> times = new CopyOnWriteArrayList<>();
    private final Semaphore arrivals = new Semaphore(0);
    private final Semaphore ends = new Semaphore(0);

    @Override
    public void await(Duration time) throws InterruptedException {
      times.add(time);
      arrivals.release();
      ends.acquire();
    }

    void awaitArrival() throws InterruptedException {
      assertThat(arrivals.tryAcquire(20, TimeUnit.SECONDS)).as("a try has failed").isTrue();
    }

    /** Ends the pause that the test has seen the arrival of. */
    void end() {
      ends.release();
    }

    /** Ends a pause, and waits for the next. */
    void endAndAwaitNext() throws InterruptedException {
      end();
      awaitArrival();
    }
  }

  private Rig.Plan plan(StartPolicy policy) {
    return Rig.plan().withStart(policy, Rig.LONG);
  }

  private Rig.Late late() {
    return late(EnumSet.allOf(Capability.class));
  }

  private Rig.Late late(Set<Capability> offered) {
    return new Rig.Late(new StoreSource(offered, opening), pause);
  }

  private static LinkerHealth health(Rig rig) {
    return rig.linker.health(Deadline.after(Rig.LONG));
  }

  /** Puts pages into the store, as another process would. */
  private void fillStore(List<PageKey> pages) {
    Rig other = Rig.plan().withStore(store).build();
    other.store("fill", pages);
    other.close();
    store.closed = false;
    store.calls.clear();
  }

  private void awaitHits(Rig rig, List<PageKey> pages) {
    Deadline by = Deadline.after(Rig.LONG);
    while (rig.linker.lookup(pages, rig.queries()).usablePages() < pages.size()) {
      assertThat(by.hasPassed()).as("still no hits: %s", health(rig)).isFalse();
      Thread.onSpinWait();
    }
  }

  @Test
  @DisplayName("linker.start-policy: fail-fast gives the one error of opening, and tries no more")
  void failFast_openFails_isThatError() throws Exception {
    opening.failing(noServer);

    assertThatThrownBy(() -> plan(StartPolicy.FAIL_FAST).build(late())).isSameAs(noServer);

    opening.awaitEnd();
    assertThat(opening.threads).hasSize(1);
  }

  @Test
  void failFast_openThrowsAnError_isThatError() throws Exception {
    LinkageError defect = new UnsatisfiedLinkError("no library");
    opening.failing(defect);

    assertThatThrownBy(() -> plan(StartPolicy.FAIL_FAST).build(late())).isSameAs(defect);
    opening.awaitEnd();
  }

  @Test
  @DisplayName("linker.start-policy: a backend that hangs is one error within the deadline")
  void failFast_openHangs_timesOutAndClosesTheStoreThatOpensTooLate() throws Exception {
    Hang hang = new Hang();
    opening.steps.add(
        () -> {
          hang.run();
          return store;
        });

    assertThatThrownBy(() -> Rig.plan().withStart(StartPolicy.FAIL_FAST, SHORT).build(late()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT))
        .hasMessageContaining("linker.start-timeout = PT2S");

    assertThat(store.closed).isFalse();
    store.registering =
        () -> {
          throw new AssertionError("memory that may be freed is registered");
        };
    hang.goOn();
    opening.awaitEnd();
    assertThat(store.closed).isTrue();
  }

  @Test
  void failFast_registeringHangs_undoesItBeforeTheErrorComes() throws Exception {
    store.registering =
        () -> {
          try {
            // Giving up interrupts.
            new CountDownLatch(1).await();
          } catch (InterruptedException e) {
            store.registering = () -> {};
          }
        };

    assertThatThrownBy(() -> Rig.plan().withStart(StartPolicy.FAIL_FAST, SHORT).build(late()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));

    assertThat(store.registrations).hasValue(0);
    assertThat(store.closed).isTrue();
  }

  @Test
  void open_interrupted_keepsTheInterruptAndGivesUp() throws Exception {
    Thread engine = Thread.currentThread();
    Hang hang = new Hang();
    opening.steps.add(
        () -> {
          engine.interrupt();
          hang.run();
          return store;
        });
    try {
      assertThatThrownBy(() -> plan(StartPolicy.DEGRADED).build(late()))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CANCELLED));
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
    hang.goOn();
    opening.awaitEnd();
    assertThat(store.closed).isTrue();
  }

  @Test
  void open_storeIsThere_hasHitsAtOnceByLayers() {
    List<PageKey> pages = Rig.pages("p", 3);
    fillStore(pages);
    for (StartPolicy policy : StartPolicy.values()) {
      store.closed = false;
      store.calls.clear();
      try (Rig rig = plan(policy).build(late())) {
        assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(3);
        assertThat(health(rig)).isEqualTo(new LinkerHealth(State.UP, "scripted"));
        rig.linker.load(rig.request("l", pages, 0));
        rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
        assertThat(store.calls(Step.READ)).isNotEmpty();
      }
      assertThat(store.closed).isTrue();
      assertThat(store.registrations).hasValue(0);
    }
  }

  @Test
  @DisplayName("linker.start-policy: degraded answers with nothing and resumes with the store")
  void degraded_storeAppears_resumes() throws Exception {
    List<PageKey> pages = Rig.pages("p", 3);
    fillStore(pages);
    opening.failing(noServer);
    opening.failing(noServer);
    try (Rig rig = plan(StartPolicy.DEGRADED).build(late())) {
      pause.awaitArrival();
      assertThat(rig.linker.lookup(pages, rig.queries()).restorable().isEmpty()).isTrue();
      assertThat(rig.linker.stats().lookups()).isEqualTo(1);
      assertThat(rig.linker.stats().lookupFailures()).as("one, not one per key").isEqualTo(1);
      rig.linker.offload(rig.request("o", pages, 0));
      assertUnreachable(rig.pollOffload(), pages.size());
      rig.linker.load(rig.request("l", pages, 0));
      assertThatThrownBy(
              () -> rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("no server at 10.0.0.1");
      assertUnreachable(rig.pollLoad(), pages.size());
      LinkerHealth health = health(rig);
      assertThat(health.state()).isEqualTo(State.DEGRADED);
      assertThat(health.detail())
          .matches(
              "the store has not been open since the start \\d+\\.\\d s ago, next try in \\d\\.\\d"
                  + " s: no server at 10\\.0\\.0\\.1");

      pause.endAndAwaitNext();
      assertThat(rig.linker.lookup(pages, rig.queries()).restorable().isEmpty()).isTrue();
      pause.end();
      awaitHits(rig, pages);

      assertThat(health(rig)).isEqualTo(new LinkerHealth(State.UP, "scripted"));
      assertThat(store.registrations).hasValue(2 * Rig.LAYERS);
      assertThat(rig.linker.stats().suspects()).as("suspects of no store").isZero();
      assertThat(rig.linker.stats().failedLoads()).isEqualTo(1);
      rig.poison();
      rig.linker.load(rig.request("l", pages, 4));
      rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
      assertThat(rig.pollLoad().ok()).isTrue();
      assertThat(rig.holds(pages.get(2), 6)).isTrue();
      assertThat(store.calls(Step.READ)).as("by layers").isNotEmpty();
      List<PageKey> others = Rig.pages("q", 2);
      rig.store("o", others);
      assertThat(rig.linker.lookup(others, rig.queries()).usablePages()).isEqualTo(2);
      opening.awaitEnd();
      assertThat(opening.threads).hasSize(3);
    }
    assertThat(store.closed).isTrue();
    assertThat(store.registrations).hasValue(0);
  }

  private static void assertUnreachable(Completion completion, int pages) {
    assertThat(completion.failures()).hasSize(pages);
    for (var failure : completion.failures()) {
      assertThat(failure.cause())
          .isEqualTo(
              new StoreFailure(
                  FailureCode.UNREACHABLE,
                  "the store is not open: no server at 10.0.0.1",
                  /* retryable= */ true,
                  MemoryState.UNTOUCHED));
    }
  }

  @Test
  @DisplayName("linker.start-policy: each reason is told once, by the start and by lookups")
  void degraded_sameReason_isToldOnce() throws Exception {
    List<PageKey> pages = Rig.pages("p", 2);
    fillStore(pages);
    opening.failing(noServer);
    opening.failing(new CacheException(FailureCode.UNREACHABLE, "no server at 10.0.0.1"));
    opening.failing(new CacheException(FailureCode.UNREACHABLE, "refused by 10.0.0.1"));
    RecordingLogs.Recording logs = new RecordingLogs.Recording();
    try (logs;
        Rig rig = plan(StartPolicy.DEGRADED).build(late())) {
      pause.awaitArrival();
      for (int tries = 1; tries <= 3; tries++) {
        for (int lookups = 0; lookups < 3; lookups++) {
          assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
        }
        if (tries < 3) {
          pause.endAndAwaitNext();
        }
      }
      pause.end();
      awaitHits(rig, pages);
      opening.awaitEnd();
    }
    List<String> told = logs.of("rig-0");
    assertThat(told).hasSize(5);
    assertThat(told.get(0))
        .isEqualTo("the store cannot be opened, so there are no hits: no server at 10.0.0.1");
    assertThat(told.get(1))
        .startsWith("a lookup is shortened: ")
        .contains("the store is not open: no server at 10.0.0.1");
    assertThat(told.get(2))
        .isEqualTo("the store cannot be opened, so there are no hits: refused by 10.0.0.1");
    assertThat(told.get(3))
        .startsWith("a lookup is shortened: ")
        .contains("the store is not open: refused by 10.0.0.1");
    assertThat(told.get(4)).isEqualTo("the store is open, at try 4");
  }

  @Test
  void degraded_offloadThatBecomesReadyLater_usesTheStoreOfThen() throws Exception {
    opening.failing(noServer);
    try (Rig rig = plan(StartPolicy.DEGRADED).build(late())) {
      pause.awaitArrival();
      List<PageKey> pages = Rig.pages("p", 1);
      CompletableFuture<String> computed = new CompletableFuture<>();
      rig.linker.offload(
          new TransferRequest("o", rig.request("o", pages, 0).transfers(), computed));
      pause.end();
      opening.awaitEnd();
      computed.complete("now");
      assertThat(rig.pollOffload()).isEqualTo(new Completion("o", List.of()));
    }
  }

  @Test
  void degraded_openThrowsErrors_staysDegradedWithTheReason() throws Exception {
    opening.failing(new UnsatisfiedLinkError("no libfoo"));
    opening.failing(new AssertionError("broken"));
    List<PageKey> pages = Rig.pages("p", 1);
    fillStore(pages);
    try (Rig rig = plan(StartPolicy.DEGRADED).build(late())) {
      pause.awaitArrival();
      assertThat(health(rig).detail()).endsWith("java.lang.UnsatisfiedLinkError: no libfoo");
      pause.endAndAwaitNext();
      assertThat(health(rig).detail()).endsWith("java.lang.AssertionError: broken");
      pause.end();
      awaitHits(rig, pages);
    }
  }

  @Test
  void degraded_firstTryHangs_opensWithoutItAndTakesTheStoreWhenItComes() throws Exception {
    List<PageKey> pages = Rig.pages("p", 1);
    fillStore(pages);
    Hang hang = new Hang();
    opening.steps.add(
        () -> {
          hang.run();
          return store;
        });
    try (Rig rig = Rig.plan().withStart(StartPolicy.DEGRADED, SHORT).build(late())) {
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();
      assertThat(health(rig).state()).isEqualTo(State.DEGRADED);
      assertThat(health(rig).detail())
          .endsWith(" s ago, try 1 is running: it is still being opened");
      hang.goOn();
      awaitHits(rig, pages);
    }
  }

  @Test
  @DisplayName("linker.start-policy: what no other try would mend is an error in either policy")
  void open_mistakeAtTheFirstTry_isAnErrorAtOnce() throws Exception {
    CacheException refusal = new CacheException(FailureCode.REFUSED, "path is a file");
    for (StartPolicy policy : StartPolicy.values()) {
      opening.failing(refusal);
      assertThatThrownBy(() -> plan(policy).build(late())).isSameAs(refusal);

      ScriptedStore small = small();
      opening.steps.add(() -> small);
      assertThatThrownBy(() -> plan(policy).build(late()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("the store takes at most 1");
      assertThat(small.closed).isTrue();

      ScriptedStore whole = new ScriptedStore(StoreLimits.NONE, Capability.REMOVE);
      opening.steps.add(() -> whole);
      assertThatThrownBy(() -> plan(policy).withLoadPath(LoadPath.LAYERS).build(late()))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining("RANGED_READ");
      assertThat(whole.closed).isTrue();
    }
    assertThat(pause.times).isEmpty();
  }

  private static ScriptedStore small() {
    return new ScriptedStore(new StoreLimits(1, 1000, 1, 1, 1, Duration.ZERO, Duration.ZERO));
  }

  @Test
  void open_needThatNoStoreOfTheSourceMeets_isRefusedBeforeAnyIsOpened() {
    for (StartPolicy policy : StartPolicy.values()) {
      assertThatThrownBy(
              () ->
                  plan(policy).withLoadPath(LoadPath.LAYERS).build(late(Set.of(Capability.REMOVE))))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
          .hasMessageContaining("RANGED_READ");
    }
    assertThat(opening.threads).isEmpty();
  }

  @Test
  void degraded_storeThatDoesNotFitAppears_saysSoAndWaitsForOneThatDoes() throws Exception {
    List<PageKey> pages = Rig.pages("p", 1);
    fillStore(pages);
    opening.failing(noServer);
    ScriptedStore small = small();
    opening.steps.add(() -> small);
    ScriptedStore unregistered = new ScriptedStore();
    unregistered.failRegistrationAfter = 3;
    opening.steps.add(() -> unregistered);
    try (Rig rig = plan(StartPolicy.DEGRADED).build(late())) {
      pause.awaitArrival();
      pause.endAndAwaitNext();
      assertThat(health(rig).state()).isEqualTo(State.DEGRADED);
      assertThat(health(rig).detail()).endsWith("72 bytes, but the store takes at most 1");
      assertThat(small.closed).isTrue();
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isZero();

      pause.endAndAwaitNext();
      assertThat(health(rig).detail()).endsWith("no more registrations");
      assertThat(unregistered.registrations).hasValue(0);
      assertThat(unregistered.closed).isTrue();

      pause.end();
      awaitHits(rig, pages);
    }
  }

  @Test
  void degraded_pauses_doubleUpToABound() throws Exception {
    for (int i = 0; i < 8; i++) {
      opening.failing(noServer);
    }
    try (Rig rig = plan(StartPolicy.DEGRADED).build(late())) {
      pause.awaitArrival();
      for (int i = 0; i < 7; i++) {
        pause.endAndAwaitNext();
      }
      assertThat(pause.times.stream().map(Duration::toSeconds))
          .containsExactly(1L, 2L, 4L, 8L, 16L, 32L, 32L, 32L);
      assertThat(health(rig).state()).isEqualTo(State.DEGRADED);
    }
  }

  @Test
  void close_whileRetrying_endsTheThread() throws Exception {
    opening.failing(noServer);
    Rig rig = plan(StartPolicy.DEGRADED).build(late());
    pause.awaitArrival();
    rig.close();

    assertThat(opening.threads.getFirst().isAlive()).isFalse();
    assertThat(opening.threads).hasSize(1);
    assertThat(health(rig)).isEqualTo(new LinkerHealth(State.DOWN, "the linker is closed"));
  }

  @Test
  void close_whileOpeningHangs_isBoundedAndTheStoreIsClosedWhenItComes() throws Exception {
    opening.failing(noServer);
    Hang hang = new Hang();
    opening.steps.add(
        () -> {
          hang.run();
          return store;
        });
    Rig rig = plan(StartPolicy.DEGRADED).withCloseTimeout(Duration.ofMillis(20)).build(late());
    pause.awaitArrival();
    pause.end();
    hang.awaitArrival();
    rig.close();

    assertThat(store.closed).isFalse();
    store.registering =
        () -> {
          throw new AssertionError("memory that has been freed is registered");
        };
    hang.goOn();
    opening.awaitEnd();
    assertThat(store.closed).isTrue();
    assertThat(opening.threads).hasSize(2);
  }

  @Test
  void close_whileThePoolsAreRegistered_undoesItBeforeItReturns() throws Exception {
    opening.failing(noServer);
    CountDownLatch registering = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    store.registering =
        () -> {
          registering.countDown();
          try {
            // Closing interrupts, so that what comes after comes after the linker was closed.
            assertThat(never.await(20, TimeUnit.SECONDS)).isFalse();
          } catch (InterruptedException e) {
            store.registering = () -> {};
          }
        };
    Rig rig = plan(StartPolicy.DEGRADED).build(late());
    pause.awaitArrival();
    pause.end();
    assertThat(registering.await(20, TimeUnit.SECONDS)).isTrue();
    rig.close();

    assertThat(store.registrations).hasValue(0);
    assertThat(store.closed).isTrue();
    assertThat(opening.threads.getFirst().isAlive()).isFalse();
  }

  @Test
  void stop_whileThePoolsAreRegistered_publishesNothingAndUndoesIt() throws Exception {
    Rig.Plan plan = plan(StartPolicy.DEGRADED);
    StoreStart start = new StoreStart(opening, plan.options(), "unit", pause);
    AtomicInteger undone = new AtomicInteger();
    Workers lookups = Workers.start(1, Thread.ofPlatform().daemon().factory());
    StoreAccess linked =
        new StoreAccess(
            "unit",
            store,
            /* byLayers= */ false,
            List.of(undone::incrementAndGet),
            KeyLayout.of(
                KeyForm.STRICT,
                CacheIdentity.builder().model("m").build(),
                /* rankReplicated= */ false,
                EmptySegments.KEEP),
            plan.options(),
            new SuspectObjects(Duration.ZERO, MonotonicClock.SYSTEM),
            new Counters(),
            new Outage(
                "unit", store, lookups, plan.options(), new Counters(), MonotonicClock.SYSTEM),
            MonotonicClock.SYSTEM);
    lookups.end();
    List<StoreAccess> published = new CopyOnWriteArrayList<>();

    start.begin(
        opened -> {
          start.stop();
          return linked;
        },
        published::add);
    opening.awaitEnd();

    assertThat(published).isEmpty();
    assertThat(undone).hasValue(1);
    assertThat(store.closed).isTrue();
  }

  @Test
  void close_twiceWhileRetrying_returnsFromBoth() throws Exception {
    opening.failing(noServer);
    Rig rig = plan(StartPolicy.DEGRADED).build(late());
    pause.awaitArrival();
    try (ExecutorService others = Executors.newFixedThreadPool(2)) {
      Future<?> one = others.submit(rig.linker::close);
      Future<?> two = others.submit(rig.linker::close);
      one.get(20, TimeUnit.SECONDS);
      two.get(20, TimeUnit.SECONDS);
    }
    assertThat(opening.threads.getFirst().isAlive()).isFalse();
    rig.close();
  }
}
