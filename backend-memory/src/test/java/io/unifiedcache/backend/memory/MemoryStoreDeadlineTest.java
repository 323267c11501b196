package io.unifiedcache.backend.memory;

import static io.unifiedcache.backend.memory.Stores.NEVER;
import static io.unifiedcache.backend.memory.Stores.assertHolds;
import static io.unifiedcache.backend.memory.Stores.bytes;
import static io.unifiedcache.backend.memory.Stores.exists;
import static io.unifiedcache.backend.memory.Stores.put;
import static io.unifiedcache.backend.memory.Stores.putOp;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadSession;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class MemoryStoreDeadlineTest {
  private static final int SLAB = 4 << 10;
  private static final int SLABS = 16;

  /** Keys that are more than two steps of a call. */
  private static final int MANY = 3000;

  /** A clock that jumps past the deadline when it has been looked at so often. */
  private static final class Clock {
    final AtomicInteger looks = new AtomicInteger();
    private final int inTime;

    Clock(int inTime) {
      this.inTime = inTime;
    }

    Deadline deadline() {
      AtomicInteger made = new AtomicInteger();
      return Deadline.after(
          Duration.ofSeconds(1),
          () ->
              made.getAndIncrement() == 0 || looks.getAndIncrement() < inTime
                  ? 0
                  : Duration.ofHours(1).toNanos());
    }
  }

  private static List<ObjectKey> many() {
    List<ObjectKey> keys = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      keys.add(new ObjectKey("many-" + i));
    }
    return keys;
  }

  private static void putMany(MemoryStore store) {
    List<PutOp> ops = new ArrayList<>();
    HostMemory nothing = Stores.memory(new byte[0]);
    for (ObjectKey key : many()) {
      ops.add(new PutOp(key, List.of(nothing)));
    }
    assertThat(store.put(ops, NEVER).count(ObjectStatus.OK)).isEqualTo(MANY);
  }

  private static void assertLateAfterTheFirstStep(BatchResult result, ObjectStatus inTime) {
    assertThat(result.count(inTime)).isEqualTo(1024);
    assertThat(result.count(ObjectStatus.FAILED)).isEqualTo(MANY - 1024);
    assertThat(result.failure(MANY - 1).code()).isEqualTo(FailureCode.TIMEOUT);
  }

  @Test
  @DisplayName("store.deadline: a put that has to reserve much memory looks at it for each part")
  void put_whileMemoryIsReserved_isLate_andLeavesNothing() {
    try (MemoryStore store = Stores.open(SLABS * SLAB, SLAB, 1)) {
      byte[] bytes = bytes(SLABS * SLAB, 1);
      Clock clock = new Clock(3);

      BatchResult late = store.put(List.of(putOp("large", bytes)), clock.deadline());

      assertThat(late.failure(0).code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(clock.looks).hasValue(4);
      assertThat(store.stats().liveBytes()).isZero();
      assertThat(exists(store, "large")).isEqualTo(ObjectStatus.ABSENT);
      assertThat(put(store, "large", bytes).isOk(0)).isTrue();
      assertHolds(store, "large", bytes);
    }
  }

  @Test
  @DisplayName("store.deadline: a put that has to evict many looks at it between them")
  void put_whileManyAreEvicted_isLate_andTheRoomIsNotLost() {
    long capacity = (long) MANY * Slabs.GRANULE;
    try (MemoryStore store = Stores.open(capacity, 1 << 20, 1)) {
      putMany(store);
      byte[] bytes = bytes((int) capacity, 1);

      BatchResult late = store.put(List.of(putOp("large", bytes)), new Clock(0).deadline());

      assertThat(late.failure(0).code()).isEqualTo(FailureCode.TIMEOUT);
      assertThat(store.stats().evicted()).isBetween(1024L, MANY - 1L);
      assertThat(store.stats().objects()).isEqualTo(MANY - store.stats().evicted());
      assertThat(put(store, "large", bytes).isOk(0)).isTrue();
      assertThat(store.stats().objects()).isEqualTo(1);
      assertHolds(store, "large", bytes);
    }
  }

  @Test
  @DisplayName("store.deadline: exists, sessions and remove of many keys")
  void calls_withManyKeys_areLateForTheLastOfThem() {
    try (MemoryStore store = Stores.open(8 << 20)) {
      putMany(store);

      assertLateAfterTheFirstStep(store.exists(many(), new Clock(0).deadline()), ObjectStatus.OK);
      try (ReadSession session = store.openSession(many(), new Clock(0).deadline())) {
        assertLateAfterTheFirstStep(session.opened(), ObjectStatus.OK);
        assertThat(session.size(0)).isZero();
      }
      assertLateAfterTheFirstStep(
          store.remove(many(), /* evenIfLeased= */ true, new Clock(0).deadline()), ObjectStatus.OK);
      assertThat(store.stats().objects()).isEqualTo(MANY - 1024);
      assertThat(store.stats().failed()).isEqualTo(3L * (MANY - 1024));
    }
  }

  @Test
  @DisplayName(
      "store.deadline: clear of many objects says that it is not done, and goes on next time")
  void clear_ofMany_isLate_andTheNextOneEndsIt() {
    try (MemoryStore store = Stores.open(8 << 20)) {
      putMany(store);

      assertThatThrownBy(() -> store.clear(KeyPrefix.EVERYTHING, new Clock(0).deadline()))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));
      long left = store.stats().objects();
      assertThat(left).isBetween(1L, MANY - 1L);
      assertThat(store.clear(KeyPrefix.EVERYTHING, NEVER).removed()).isEqualTo(left);
      assertThat(store.stats().objects()).isZero();
      assertThat(store.stats().removed()).isEqualTo(MANY);
    }
  }

  @Test
  @DisplayName("store.deadline: list of many objects of which none is under the prefix")
  void list_ofNone_isLate() {
    try (MemoryStore store = Stores.open(8 << 20)) {
      putMany(store);

      assertThatThrownBy(
              () -> store.list(KeyPrefix.of("none"), key -> true, new Clock(0).deadline()))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));
    }
  }

  @Test
  @DisplayName("store.concurrent: a clock that waits for another call of the store")
  void deadline_whoseClockUsesTheStoreFromAnotherThread_isAnswered() throws Exception {
    try (MemoryStore store = Stores.open(SLABS * SLAB, SLAB, 1)) {
      CountDownLatch arrived = new CountDownLatch(1);
      CompletableFuture<Boolean> opened = new CompletableFuture<>();
      Deadline gate =
          Deadline.after(
              Duration.ofHours(1),
              () -> {
                if (Thread.currentThread().getName().equals("first")) {
                  arrived.countDown();
                  opened.join();
                }
                return 0;
              });
      CompletableFuture<BatchResult> first = new CompletableFuture<>();
      Thread.ofPlatform()
          .name("first")
          .start(() -> first.complete(store.put(List.of(putOp("k", bytes(10, 1))), gate)));
      arrived.await();
      AtomicInteger looks = new AtomicInteger();
      Deadline asking =
          Deadline.after(
              Duration.ofSeconds(1),
              () -> {
                if (looks.getAndIncrement() == 0) {
                  return 0;
                }
                Future<Long> stats = CompletableFuture.supplyAsync(() -> store.stats().objects());
                try {
                  // Only a store that is stuck takes so long.
                  stats.get(60, TimeUnit.SECONDS);
                } catch (Exception e) {
                  throw new IllegalStateException(e);
                }
                return Duration.ofHours(1).toNanos();
              });

      BatchResult second = store.put(List.of(putOp("k", bytes(10, 2))), asking);

      assertThat(second.failure(0).code()).isEqualTo(FailureCode.TIMEOUT);
      opened.complete(true);
      assertThat(first.get().isOk(0)).isTrue();
    }
  }

  @Test
  @DisplayName("a closed arena leaves the thread as it was")
  void calls_withAClosedArena_interruptNoThread() {
    try (MemoryStore store = Stores.open(1 << 20)) {
      Arena arena = Arena.ofShared();
      HostMemory memory = HostMemory.of(arena.allocate(1000));
      arena.close();
      put(store, "k", bytes(1000, 1));

      BatchResult put =
          store.put(List.of(new PutOp(new ObjectKey("other"), List.of(memory))), NEVER);
      assertThat(put.failure(0).code()).isEqualTo(FailureCode.REFUSED);
      BatchResult get = store.get(List.of(new GetOp(new ObjectKey("k"), List.of(memory))), NEVER);
      assertThat(get.failure(0).code()).isEqualTo(FailureCode.REFUSED);
      assertThat(Thread.interrupted()).isFalse();
    }
  }
}
