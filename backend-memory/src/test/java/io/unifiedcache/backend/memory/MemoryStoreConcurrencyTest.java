package io.unifiedcache.backend.memory;

import static io.unifiedcache.backend.memory.Stores.NEVER;
import static io.unifiedcache.backend.memory.Stores.assertHolds;
import static io.unifiedcache.backend.memory.Stores.bytes;
import static io.unifiedcache.backend.memory.Stores.exists;
import static io.unifiedcache.backend.memory.Stores.filled;
import static io.unifiedcache.backend.memory.Stores.get;
import static io.unifiedcache.backend.memory.Stores.key;
import static io.unifiedcache.backend.memory.Stores.keys;
import static io.unifiedcache.backend.memory.Stores.memory;
import static io.unifiedcache.backend.memory.Stores.put;
import static io.unifiedcache.backend.memory.Stores.putOp;
import static io.unifiedcache.backend.memory.Stores.read;
import static io.unifiedcache.backend.memory.Stores.remove;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreStats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MemoryStoreConcurrencyTest {
  private static final int CANARY = 0x5a;

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void shutdown() {
    threads.shutdownNow();
  }

  @Test
  @DisplayName("store.first-wins: a put of a key that is being put waits and says PRESENT")
  void put_ofAKeyBeingPut_waitsUntilItIsReadable() throws Exception {
    try (MemoryStore store = Stores.open(1 << 20);
        Gate gate = new Gate()) {
      Future<BatchResult> first =
          threads.submit(() -> store.put(List.of(putOp("k", bytes(1000, 1))), gate.deadline()));
      gate.awaitArrival();

      // store.atomic-visibility: nobody sees it before it is whole.
      assertThat(exists(store, "k")).isEqualTo(ObjectStatus.ABSENT);
      assertThat(get(store, "k", filled(1000, 0)).status(0)).isEqualTo(ObjectStatus.ABSENT);
      assertThat(remove(store, "k")).isEqualTo(ObjectStatus.ABSENT);
      assertThat(store.clear(KeyPrefix.EVERYTHING, NEVER).removed()).isZero();

      Future<BatchResult> second =
          threads.submit(
              () ->
                  store.put(
                      List.of(putOp("other", bytes(9, 3)), putOp("k", bytes(1000, 2))), NEVER));
      // The entries that need not wait are visible meanwhile.
      while (exists(store, "other") != ObjectStatus.OK) {
        Thread.onSpinWait();
      }
      assertThat(second.isDone()).isFalse();
      gate.open();
      assertThat(first.get().status(0)).isEqualTo(ObjectStatus.OK);
      assertThat(second.get().status(0)).isEqualTo(ObjectStatus.OK);
      assertThat(second.get().status(1)).isEqualTo(ObjectStatus.PRESENT);
      assertHolds(store, "k", bytes(1000, 1));
    }
  }

  @Test
  @DisplayName("store.first-wins: when the first put of a key fails, the one that waits stores")
  void put_ofAKeyWhosePutFails_storesItsOwn() throws Exception {
    try (MemoryStore store = Stores.open(1 << 20);
        Gate gate = new Gate()) {
      Arena arena = Arena.ofShared();
      PutOp dying = new PutOp(key("k"), List.of(HostMemory.of(arena.allocate(1000))));
      Future<BatchResult> first = threads.submit(() -> store.put(List.of(dying), gate.deadline()));
      gate.awaitArrival();
      Future<BatchResult> second = threads.submit(() -> put(store, "k", bytes(10, 2)));
      // store.failed-is-not-ok: memory that is freed in the middle of a put.
      arena.close();
      gate.open();
      assertThat(first.get().failure(0).code()).isEqualTo(FailureCode.REFUSED);
      assertThat(first.get().failure(0).message()).contains("arena");
      assertThat(second.get().status(0)).isEqualTo(ObjectStatus.OK);
      assertHolds(store, "k", bytes(10, 2));
      assertThat(store.stats().liveBytes()).isEqualTo(10);
    }
  }

  @Test
  @DisplayName("store.deadline: a put that waits for another gives up at its deadline")
  void put_ofAKeyBeingPut_timesOut() throws Exception {
    try (MemoryStore store = Stores.open(1 << 20);
        Gate gate = new Gate()) {
      Future<BatchResult> first =
          threads.submit(() -> store.put(List.of(putOp("k", bytes(1000, 1))), gate.deadline()));
      gate.awaitArrival();
      AtomicLong now = new AtomicLong();
      Deadline by = Deadline.after(Duration.ofSeconds(1), now::get);
      Future<BatchResult> second =
          threads.submit(() -> store.put(List.of(putOp("k", bytes(10, 2))), by));
      now.set(Duration.ofSeconds(1).toNanos());
      StoreFailure failure = second.get().failure(0);
      assertThat(failure.code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(failure.retryable()).isTrue();
      assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
      gate.open();
      assertThat(first.get().isOk(0)).isTrue();
    }
  }

  @Test
  @DisplayName("store.deadline, store.memory-in-doubt: a deadline that has passed")
  void putAndGet_pastTheDeadline_timeOutAndTouchNothing() {
    try (MemoryStore store = Stores.open(1 << 20)) {
      put(store, "k", bytes(1000, 1));
      Deadline passed = Deadline.after(Duration.ZERO);
      HostMemory target = filled(1000, CANARY);
      GetOp get = new GetOp(key("k"), List.of(target));
      StoreFailure failure = store.get(List.of(get), passed).failure(0);
      assertThat(failure.code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
      assertThat(read(target)).containsOnly(CANARY);
      assertThat(store.put(List.of(putOp("l", bytes(9, 1))), passed).failure(0).code())
          .isEqualTo(FailureCode.TIMEOUT);
      assertThat(exists(store, "l")).isEqualTo(ObjectStatus.ABSENT);
      assertThatThrownBy(() -> store.list(KeyPrefix.EVERYTHING, key -> true, passed))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));
      try (ReadSession session = store.openSession(keys("k"), NEVER)) {
        ReadOp read = new ReadOp(0, List.of(new Range(0, target)));
        assertThat(session.read(List.of(read), passed).failure(0).code())
            .isEqualTo(FailureCode.TIMEOUT);
      }
      assertThat(store.stats().liveBytes()).isEqualTo(1000);
      assertThat(put(store, "l", bytes(9, 1)).isOk(0)).isTrue();
    }
  }

  @Test
  @DisplayName("store.deadline, store.memory-in-doubt: a deadline that passes on the way")
  void get_whoseDeadlinePassesOnTheWay_tellsWhatIsWholeDirtyAndUntouched() {
    try (MemoryStore store = Stores.open(64 << 20, 16 << 20, 1)) {
      int size = 5 << 20;
      for (String each : List.of("a", "b", "c")) {
        put(store, each, bytes(size, each.hashCode()));
      }
      // Asked once when it is made, and then before each unit; each entry has several units.
      AtomicInteger asked = new AtomicInteger();
      Deadline by = Deadline.after(Duration.ofNanos(8), asked::getAndIncrement);
      List<HostMemory> targets =
          List.of(filled(size, CANARY), filled(size, CANARY), filled(size, CANARY));
      List<GetOp> gets = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        gets.add(new GetOp(keys("a", "b", "c").get(i), List.of(targets.get(i))));
      }
      BatchResult result = store.get(gets, by);
      assertThat(result.isOk(0)).isTrue();
      assertThat(read(targets.get(0))).isEqualTo(bytes(size, "a".hashCode()));
      assertThat(result.failure(1).code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(result.failure(1).memory()).isEqualTo(MemoryState.DIRTY);
      assertThat(result.failure(2).code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(result.failure(2).memory()).isEqualTo(MemoryState.UNTOUCHED);
      assertThat(read(targets.get(2))).containsOnly(CANARY);
      assertThat(store.stats().found()).isEqualTo(1);
      assertThat(store.stats().bytesRead()).isEqualTo(size);
    }
  }

  @Test
  @DisplayName("store.worker-survives: an Error inside an operation")
  void putAndGet_inWhichAnErrorIsThrown_failAndTheStoreGoesOn() {
    try (MemoryStore store = Stores.open(64 << 20, 1 << 20, 3)) {
      byte[] bytes = bytes(8 << 20, 1);
      for (int i = 0; i < 20; i++) {
        AtomicInteger asked = new AtomicInteger();
        MonotonicClock failing =
            () -> {
              if (asked.getAndIncrement() > 2) {
                throw new StackOverflowError("thrown by the test");
              }
              return 0;
            };
        Deadline by = Deadline.after(Duration.ofSeconds(1), failing);
        StoreFailure failure = store.put(List.of(putOp("k", bytes)), by).failure(0);
        assertThat(failure.code()).isEqualTo(FailureCode.INTERNAL);
        assertThat(failure.message()).contains("thrown by the test");
      }
      assertThat(store.stats().liveBytes()).isZero();
      put(store, "k", bytes);
      assertHolds(store, "k", bytes);
    }
  }

  @Test
  @DisplayName("store.worker-survives: threads that cannot be started")
  void putAndGet_withoutHelpers_work() {
    List<ThreadFactory> factories =
        List.of(
            task -> {
              throw new OutOfMemoryError("thrown by the test");
            },
            noThreads());
    for (ThreadFactory factory : factories) {
      try (MemoryStore store = new MemoryStore(64 << 20, 1 << 20, 3, factory)) {
        byte[] bytes = bytes(8 << 20, 1);
        put(store, "k", bytes);
        assertHolds(store, "k", bytes);
      }
    }
  }

  // ThreadFactory may return null when it makes no thread, which its annotated form does not say.
  @SuppressWarnings("NullAway")
  private static ThreadFactory noThreads() {
    return task -> null;
  }

  @Test
  @DisplayName("store.evict-in-use: a get that runs while its object is removed and recycled")
  void get_ofAnObjectRemovedMeanwhile_readsItWhole() throws Exception {
    try (MemoryStore store = Stores.open(1 << 20);
        Gate gate = new Gate()) {
      byte[] bytes = bytes(1 << 19, 1);
      put(store, "k", bytes);
      HostMemory target = filled(bytes.length, 0);
      GetOp op = new GetOp(key("k"), List.of(target));
      Future<BatchResult> get = threads.submit(() -> store.get(List.of(op), gate.deadline()));
      gate.awaitArrival();
      assertThat(remove(store, "k")).isEqualTo(ObjectStatus.OK);
      assertThat(store.stats().liveBytes()).isEqualTo(1 << 19);
      for (int i = 0; i < 10; i++) {
        put(store, "other-" + i, bytes(1 << 18, i));
        put(store, "k", bytes(1 << 18, i));
      }
      assertThat(store.stats().liveBytes()).isEqualTo(1 << 20);
      gate.open();
      assertThat(get.get().isOk(0)).isTrue();
      assertThat(read(target)).isEqualTo(bytes);
      assertThat(store.stats().liveBytes()).isEqualTo(1 << 19);
    }
  }

  @Test
  @DisplayName("store.failed-is-not-ok, store.memory-in-doubt: memory freed in the middle of a get")
  void get_whoseMemoryIsFreedMeanwhile_failsAndItsNeighboursDoNot() throws Exception {
    try (MemoryStore store = Stores.open(1 << 20);
        Gate gate = new Gate()) {
      put(store, "k", bytes(1000, 1));
      Arena arena = Arena.ofShared();
      HostMemory target = filled(1000, 0);
      List<GetOp> ops =
          List.of(
              new GetOp(key("k"), List.of(HostMemory.of(arena.allocate(1000)))),
              new GetOp(key("k"), List.of(target)));
      Future<BatchResult> get = threads.submit(() -> store.get(ops, gate.deadline()));
      gate.awaitArrival();
      arena.close();
      gate.open();
      StoreFailure failure = get.get().failure(0);
      assertThat(failure.code()).isEqualTo(FailureCode.REFUSED);
      assertThat(failure.message()).contains("arena");
      assertThat(failure.memory()).isEqualTo(MemoryState.DIRTY);
      assertThat(get.get().isOk(1)).isTrue();
      assertThat(read(target)).isEqualTo(bytes(1000, 1));
      assertThat(store.stats().found()).isEqualTo(1);
      assertThat(store.stats().bytesRead()).isEqualTo(1000);
      assertThat(remove(store, "k")).isEqualTo(ObjectStatus.OK);
      assertThat(store.stats().liveBytes()).isZero();
    }
  }

  @Test
  @DisplayName("store.close: waits for calls in flight")
  void close_whileAGetRuns_waitsForIt() throws Exception {
    MemoryStore store = Stores.open(1 << 20);
    byte[] bytes = bytes(1000, 1);
    put(store, "k", bytes);
    Gate gate = new Gate();
    HostMemory target = filled(1000, 0);
    GetOp op = new GetOp(key("k"), List.of(target));
    Future<BatchResult> get = threads.submit(() -> store.get(List.of(op), gate.deadline()));
    gate.awaitArrival();
    Future<?> close = threads.submit(store::close);
    Future<?> again = threads.submit(store::close);
    awaitClosed(store);
    assertThat(close.isDone() || again.isDone()).isFalse();
    gate.open();
    assertThat(get.get().isOk(0)).isTrue();
    close.get();
    again.get();
    assertThat(read(target)).isEqualTo(bytes);
  }

  @Test
  @DisplayName("store.close: within a listing")
  void close_whileAListingRuns_endsIt() {
    MemoryStore store = Stores.open(1 << 20);
    put(store, "a", bytes(1, 1));
    put(store, "b", bytes(1, 1));
    assertThatThrownBy(
            () ->
                store.list(
                    KeyPrefix.EVERYTHING,
                    key -> {
                      store.close();
                      return true;
                    },
                    NEVER))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CLOSED));
  }

  @Test
  @DisplayName("store.close: 200 opens and closes leave threads as they were")
  void close_twoHundredTimes_leavesNoThread() {
    Set<Thread> made = ConcurrentHashMap.newKeySet();
    ThreadFactory factory = StoreContext.of("reopened").threads();
    HostMemory large = memory(bytes(2 << 20, 1));
    for (int i = 0; i < 200; i++) {
      try (MemoryStore store =
          new MemoryStore(
              8 << 20,
              4 << 20,
              3,
              task -> {
                Thread thread = factory.newThread(task);
                made.add(thread);
                return thread;
              })) {
        assertThat(store.put(List.of(new PutOp(key("k"), List.of(large))), NEVER).isOk(0)).isTrue();
      }
      assertThat(made).noneMatch(Thread::isAlive);
    }
    assertThat(made).hasSize(400);
  }

  @Test
  @DisplayName("store.close: an interrupted thread is answered truthfully and stays interrupted")
  void calls_byAnInterruptedThread_keepTheInterrupt() throws Exception {
    MemoryStore store = Stores.open(64 << 20, 1 << 20, 3);
    Gate gate = new Gate();
    Future<BatchResult> first =
        threads.submit(() -> store.put(List.of(putOp("k", bytes(1000, 1))), gate.deadline()));
    gate.awaitArrival();
    byte[] bytes = bytes(8 << 20, 1);
    CountDownLatch asked = new CountDownLatch(1);
    Future<?> interrupted =
        threads.submit(
            () -> {
              Thread.currentThread().interrupt();
              put(store, "large", bytes);
              assertHolds(store, "large", bytes);
              asked.countDown();
              assertThat(put(store, "k", bytes(10, 2)).status(0)).isEqualTo(ObjectStatus.PRESENT);
              store.close();
              assertThat(Thread.interrupted()).isTrue();
            });
    asked.await();
    gate.open();
    interrupted.get();
    assertThat(first.get().isOk(0)).isTrue();
  }

  @Test
  @DisplayName("store.concurrent, store.first-wins, store.atomic-visibility: few keys")
  void calls_inParallelOnFewKeys_areLinearizablePerKey() throws Exception {
    long seed = new Random().nextLong();
    // Room for about half of the keys, so that objects are evicted, too.
    try (MemoryStore store = Stores.open(400 << 10, 64 << 10, 2)) {
      runHistory(store, seed, /* rounds= */ 25);
      assertThat(store.stats().evicted()).as("evictions, seed %d", seed).isPositive();
    }
  }

  @Test
  @DisplayName("store.concurrent: without eviction, what is put stays")
  void calls_inParallelWithRoom_areLinearizablePerKeyWithoutEviction() throws Exception {
    long seed = new Random().nextLong();
    try (MemoryStore store = Stores.open(64 << 20, 1 << 20, 2)) {
      runHistory(store, seed, /* rounds= */ 25);
      assertThat(store.stats().evicted()).isZero();
    }
  }

  /**
   * In each round four threads work on the same keys. A put writes its own number over the whole
   * object, so that a torn read shows. Checked: a read is of one put, which had begun and had not
   * been refused; of the puts of a key, one more may succeed than removes and evictions; after the
   * round all agree; the budget holds all along.
   */
  private void runHistory(MemoryStore store, long seed, int rounds) throws Exception {
    long capacity = store.stats().capacityBytes();
    int keys = 4;
    for (int round = 0; round < rounds; round++) {
      AtomicInteger[] stored = counters(keys);
      AtomicInteger[] gone = counters(keys);
      Set<Long> refused = ConcurrentHashMap.newKeySet();
      Set<Long> seen = ConcurrentHashMap.newKeySet();
      AtomicLong numbers = new AtomicLong(1);
      long evictedBefore = store.stats().evicted();
      List<Callable<@Nullable Void>> workers = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        Random random = new Random(seed + 31L * round + t);
        workers.add(
            () -> {
              for (int i = 0; i < 60; i++) {
                int k = random.nextInt(keys);
                int size = size(k);
                String name = "k" + k;
                switch (random.nextInt(6)) {
                  case 0, 1 -> {
                    long number = numbers.getAndIncrement();
                    HostMemory source = numbered(size, number);
                    ObjectStatus status =
                        store.put(List.of(new PutOp(key(name), halves(source))), NEVER).status(0);
                    if (status == ObjectStatus.OK) {
                      stored[k].incrementAndGet();
                    } else {
                      refused.add(number);
                    }
                  }
                  case 2, 3 -> {
                    HostMemory target = filled(size, 0);
                    GetOp op = new GetOp(key(name), halves(target));
                    if (store.get(List.of(op), NEVER).isOk(0)) {
                      seen.add(requireWhole(target, seed));
                    }
                  }
                  case 4 -> {
                    if (remove(store, name) == ObjectStatus.OK) {
                      gone[k].incrementAndGet();
                    }
                  }
                  default -> {
                    try (ReadSession session = store.openSession(keys(name), NEVER)) {
                      HostMemory target = filled(size, 0);
                      ReadOp op =
                          new ReadOp(
                              0,
                              List.of(
                                  new Range(0, target.slice(0, size / 2)),
                                  new Range(size / 2, target.slice(size / 2, size / 2))));
                      if (session.read(List.of(op), NEVER).isOk(0)) {
                        seen.add(requireWhole(target, seed));
                      }
                    }
                  }
                }
                StoreStats stats = store.stats();
                assertThat(stats.liveBytes()).as("seed %d", seed).isBetween(0L, capacity);
              }
              return null;
            });
      }
      for (Future<@Nullable Void> worker : threads.invokeAll(workers)) {
        worker.get();
      }
      assertThat(seen)
          .as("reads of puts that were refused, seed %d", seed)
          .doesNotContainAnyElementsOf(refused);
      long evicted = store.stats().evicted() - evictedBefore;
      long missing = 0;
      for (int k = 0; k < keys; k++) {
        int there = exists(store, "k" + k) == ObjectStatus.OK ? 1 : 0;
        int left = stored[k].get() - gone[k].get() - there;
        assertThat(left).as("key %d, seed %d", k, seed).isNotNegative();
        missing += left;
        if (there == 1) {
          HostMemory first = filled(size(k), 0);
          HostMemory second = filled(size(k), 0);
          assertThat(get(store, "k" + k, first).isOk(0)).isTrue();
          assertThat(get(store, "k" + k, second).isOk(0)).isTrue();
          assertThat(requireWhole(first, seed)).isEqualTo(requireWhole(second, seed));
        }
      }
      assertThat(missing).as("evicted, seed %d", seed).isEqualTo(evicted);
      store.clear(KeyPrefix.EVERYTHING, NEVER);
      assertThat(store.stats().liveBytes()).as("seed %d", seed).isZero();
      assertThat(store.stats().objects()).as("seed %d", seed).isZero();
    }
  }

  private static int size(int k) {
    return (k + 1) * (80 << 10);
  }

  private static AtomicInteger[] counters(int count) {
    AtomicInteger[] counters = new AtomicInteger[count];
    for (int i = 0; i < count; i++) {
      counters[i] = new AtomicInteger();
    }
    return counters;
  }

  private static List<Memory> halves(HostMemory memory) {
    long half = memory.byteSize() / 2;
    return List.of(memory.slice(0, half), memory.slice(half, memory.byteSize() - half));
  }

  private static HostMemory numbered(int size, long number) {
    HostMemory memory = filled(size, 0);
    for (long i = 0; i < size; i += Long.BYTES) {
      memory.segment().set(ValueLayout.JAVA_LONG, i, number);
    }
    return memory;
  }

  private static long requireWhole(HostMemory memory, long seed) {
    MemorySegment segment = memory.segment();
    long number = segment.get(ValueLayout.JAVA_LONG, 0);
    for (long i = 0; i < segment.byteSize(); i += Long.BYTES) {
      if (segment.get(ValueLayout.JAVA_LONG, i) != number) {
        throw new AssertionError("torn at " + i + ", seed " + seed);
      }
    }
    return number;
  }

  private static void awaitClosed(MemoryStore store) {
    while (true) {
      try {
        store.exists(Collections.emptyList(), NEVER);
      } catch (CacheException e) {
        return;
      }
      Thread.onSpinWait();
    }
  }

  /**
   * A deadline far ahead whose clock holds up whoever asks it while copying, until it is opened;
   * closed before the store is.
   */
  private static final class Gate implements AutoCloseable {
    private final CompletableFuture<@Nullable Void> arrival = new CompletableFuture<>();
    private final CompletableFuture<@Nullable Void> opened = new CompletableFuture<>();
    private final Deadline deadline;
    private volatile boolean armed;

    Gate() {
      deadline = Deadline.after(Duration.ofHours(1), this::nanos);
      armed = true;
    }

    Deadline deadline() {
      return deadline;
    }

    void awaitArrival() {
      arrival.join();
    }

    void open() {
      opened.complete(null);
    }

    @Override
    public void close() {
      open();
    }

    private long nanos() {
      if (armed) {
        arrival.complete(null);
        opened.join();
      }
      return 0;
    }
  }
}
