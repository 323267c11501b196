package io.unifiedcache.backend.memory;

import static io.unifiedcache.backend.memory.Stores.NEVER;
import static io.unifiedcache.backend.memory.Stores.assertHolds;
import static io.unifiedcache.backend.memory.Stores.bytes;
import static io.unifiedcache.backend.memory.Stores.exists;
import static io.unifiedcache.backend.memory.Stores.filled;
import static io.unifiedcache.backend.memory.Stores.get;
import static io.unifiedcache.backend.memory.Stores.key;
import static io.unifiedcache.backend.memory.Stores.keys;
import static io.unifiedcache.backend.memory.Stores.put;
import static io.unifiedcache.backend.memory.Stores.putOp;
import static io.unifiedcache.backend.memory.Stores.read;
import static io.unifiedcache.backend.memory.Stores.remove;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreStats;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class MemoryStoreBudgetTest {
  private static final int CAPACITY = 64 << 10;

  @Test
  @DisplayName("store.no-space: an object over the capacity evicts nothing and poisons nothing")
  void put_ofAnObjectOverTheCapacity_isRefusedAndChangesNothing() {
    try (MemoryStore store = Stores.open(CAPACITY)) {
      put(store, "a", bytes(CAPACITY / 2, 1));
      StoreFailure failure = put(store, "large", bytes(CAPACITY + 1, 2)).failure(0);
      assertThat(failure.code()).isEqualTo(FailureCode.NO_SPACE);
      assertThat(failure.retryable()).isFalse();
      assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
      assertThat(exists(store, "large")).isEqualTo(ObjectStatus.ABSENT);
      assertThat(store.stats().evicted()).isZero();
      assertHolds(store, "a", bytes(CAPACITY / 2, 1));
      assertThat(put(store, "large", bytes(CAPACITY, 3)).isOk(0)).isTrue();
      assertHolds(store, "large", bytes(CAPACITY, 3));
      assertThat(store.stats().liveBytes()).isEqualTo(CAPACITY);
      assertThat(store.stats().evicted()).isEqualTo(1);
    }
  }

  @Test
  @DisplayName("store.no-space: what does not find room beside readers, until they let go")
  void put_whileEverythingIsRead_findsNoRoomUntilTheReadersLetGo() {
    try (MemoryStore store = Stores.open(CAPACITY)) {
      put(store, "a", bytes(CAPACITY / 2, 1));
      put(store, "b", bytes(CAPACITY / 4, 2));
      put(store, "c", bytes(CAPACITY / 4, 3));
      ReadSession session = store.openSession(keys("a", "b"), NEVER);
      remove(store, "a");

      // Only c can go, and it would not be enough: it stays.
      StoreFailure failure = put(store, "d", bytes(CAPACITY / 2, 4)).failure(0);
      assertThat(failure.code()).isEqualTo(FailureCode.NO_SPACE);
      assertThat(failure.retryable()).isTrue();
      assertThat(exists(store, "c")).isEqualTo(ObjectStatus.OK);
      assertThat(store.stats().evicted()).isZero();
      assertThat(store.stats().liveBytes()).isEqualTo(CAPACITY);

      assertThat(put(store, "e", bytes(CAPACITY / 4, 5)).isOk(0)).isTrue();
      assertThat(exists(store, "c")).isEqualTo(ObjectStatus.ABSENT);
      assertThat(exists(store, "b")).isEqualTo(ObjectStatus.OK);
      session.close();
      assertThat(put(store, "d", bytes(CAPACITY / 2, 4)).isOk(0)).isTrue();
      assertHolds(store, "d", bytes(CAPACITY / 2, 4));
      assertThat(store.stats().liveBytes()).isLessThanOrEqualTo(CAPACITY);
    }
  }

  @Test
  @DisplayName("store.no-space: a batch larger than the capacity keeps what comes first")
  void put_ofABatchOverTheCapacity_storesTheFirstOfIt() {
    try (MemoryStore store = Stores.open(CAPACITY)) {
      List<PutOp> ops = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        ops.add(putOp("k" + i, bytes(CAPACITY / 4, i)));
      }
      BatchResult result = store.put(ops, NEVER);
      assertThat(result.count(ObjectStatus.OK)).isEqualTo(4);
      for (int i = 0; i < 4; i++) {
        assertHolds(store, "k" + i, bytes(CAPACITY / 4, i));
      }
      assertThat(result.failure(4).code()).isEqualTo(FailureCode.NO_SPACE);
      assertThat(result.failure(5).code()).isEqualTo(FailureCode.NO_SPACE);
    }
  }

  @Test
  @DisplayName("store.no-space: memory that the system does not have")
  void put_whenTheSystemHasNoMemory_findsNoRoomAndTheStoreGoesOn() {
    try (MemoryStore store = Stores.open(1L << 60, 1L << 60, 1)) {
      for (int i = 0; i < 2; i++) {
        StoreFailure failure = put(store, "k", bytes(10, 1)).failure(0);
        assertThat(failure.code()).isEqualTo(FailureCode.NO_SPACE);
        assertThat(failure.retryable()).isTrue();
      }
      assertThat(exists(store, "k")).isEqualTo(ObjectStatus.ABSENT);
      assertThat(store.stats().liveBytes()).isZero();
    }
  }

  @Test
  @DisplayName("store.bounded: objects of no bytes are bounded, too")
  void put_ofManyEmptyObjects_evicts() {
    try (MemoryStore store = Stores.open(CAPACITY)) {
      int most = CAPACITY / Slabs.GRANULE;
      for (int i = 0; i < 3 * most; i++) {
        assertThat(put(store, "k" + i, new byte[0]).isOk(0)).isTrue();
      }
      assertThat(store.stats().objects()).isEqualTo(most);
      assertThat(store.stats().evicted()).isEqualTo(2L * most);
    }
  }

  @Test
  @DisplayName("store.bounded: a capacity of no whole granules")
  void put_ofAnOddCapacity_fits() {
    try (MemoryStore store = Stores.open(10_001)) {
      assertThat(put(store, "a", bytes(10_001, 1)).isOk(0)).isTrue();
      assertHolds(store, "a", bytes(10_001, 1));
      assertThat(put(store, "b", bytes(10_002, 1)).isOk(0)).isFalse();
      // Their granules fit, their bytes do not.
      put(store, "c", bytes(5120, 1));
      put(store, "d", bytes(5120, 1));
      assertThat(store.stats().liveBytes()).isEqualTo(5120);
    }
  }

  @Test
  @DisplayName("store.recency: an object read again and again outlives those never read")
  void put_pastTheCapacity_evictsWhatIsUnusedForLongest() {
    try (MemoryStore store = Stores.open(CAPACITY)) {
      int size = CAPACITY / 8;
      put(store, "got", bytes(size, 1));
      put(store, "opened", bytes(size, 2));
      put(store, "offered", bytes(size, 3));
      put(store, "asked", bytes(size, 4));
      for (int i = 0; i < 100; i++) {
        put(store, "other-" + i, bytes(size, i));
        assertHolds(store, "got", bytes(size, 1));
        store.openSession(keys("opened"), NEVER).close();
        assertThat(put(store, "offered", bytes(1, 9)).status(0)).isEqualTo(ObjectStatus.PRESENT);
        exists(store, "asked");
      }
      assertHolds(store, "got", bytes(size, 1));
      assertHolds(store, "opened", bytes(size, 2));
      assertHolds(store, "offered", bytes(size, 3));
      // Asking whether it exists is no use.
      assertThat(exists(store, "asked")).isEqualTo(ObjectStatus.ABSENT);
    }
  }

  @Test
  @DisplayName("store.recency: of a batch, the first entries outlive the last")
  void evict_afterABatch_takesItsLastEntriesFirst() {
    int size = CAPACITY / 4;
    List<ObjectKey> pages = keys("p1", "p2", "p3", "p4");
    for (String use : List.of("put", "get", "session")) {
      try (MemoryStore store = Stores.open(CAPACITY)) {
        store.put(pages.stream().map(page -> putOp(page.value(), bytes(size, 1))).toList(), NEVER);
        switch (use) {
          case "get" ->
              store.get(
                  pages.stream().map(page -> new GetOp(page, List.of(filled(size, 0)))).toList(),
                  NEVER);
          case "session" -> store.openSession(pages, NEVER).close();
          default -> {}
        }
        put(store, "other", bytes(size, 2));
        put(store, "another", bytes(size, 2));
        BatchResult result = store.exists(pages, NEVER);
        assertThat(List.of(result.isOk(0), result.isOk(1), result.isOk(2), result.isOk(3)))
            .as(use)
            .containsExactly(true, true, false, false);
      }
    }
  }

  @Test
  @DisplayName("store.bounded, store.evict-in-use: long random histories of mixed sizes")
  void calls_atRandom_keepTheBudgetAndTheBytes() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int capacity = 256 << 10;
    // What may be there: an object put and not removed is there with these bytes, or evicted.
    Map<String, byte[]> model = new HashMap<>();
    List<OpenSession> sessions = new ArrayList<>();
    try (MemoryStore store = Stores.open(capacity, 64 << 10, 2)) {
      for (int step = 0; step < 20_000; step++) {
        String key = "k" + random.nextInt(60);
        switch (random.nextInt(12)) {
          case 0, 1, 2, 3 -> {
            byte[] bytes = bytes(size(random), random.nextLong());
            BatchResult result = put(store, key, bytes);
            if (result.isOk(0)) {
              model.put(key, bytes);
            } else if (result.status(0) == ObjectStatus.FAILED) {
              assertThat(result.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
              assertThat(exists(store, key)).isEqualTo(ObjectStatus.ABSENT);
            } else {
              assertThat(model).containsKey(key);
            }
          }
          case 4, 5, 6, 7 -> {
            byte[] bytes = model.getOrDefault(key, new byte[0]);
            HostMemory target = filled(bytes.length, 0);
            ObjectStatus status = get(store, key, target).status(0);
            if (status == ObjectStatus.OK) {
              assertThat(read(target)).as("%s, seed %d", key, seed).isEqualTo(bytes);
            } else {
              assertThat(status).isEqualTo(ObjectStatus.ABSENT);
            }
          }
          case 8 -> {
            boolean there = exists(store, key) == ObjectStatus.OK;
            assertThat(remove(store, key) == ObjectStatus.OK).isEqualTo(there);
            model.remove(key);
          }
          case 9, 10 -> {
            if (sessions.size() < 5) {
              ReadSession session = store.openSession(keys(key), NEVER);
              sessions.add(new OpenSession(session, model.getOrDefault(key, new byte[0])));
            } else {
              sessions.remove(random.nextInt(5)).checkAndClose(seed);
            }
          }
          default -> {
            if (random.nextInt(100) == 0) {
              store.clear(KeyPrefix.EVERYTHING, NEVER);
              model.clear();
              if (sessions.isEmpty()) {
                assertThat(store.stats().liveBytes()).isZero();
              }
            } else {
              store.clear(KeyPrefix.of(key), NEVER);
              model.keySet().removeIf(each -> each.startsWith(key));
            }
          }
        }
        StoreStats stats = store.stats();
        assertThat(stats.liveBytes()).as("seed %d", seed).isBetween(0L, (long) capacity);
        if (sessions.isEmpty() || step % 100 == 0) {
          for (OpenSession session : sessions) {
            session.checkAndClose(seed);
          }
          sessions.clear();
          assertThat(store.stats().liveBytes()).as("seed %d", seed).isEqualTo(sum(store, model));
        }
      }
      assertThat(store.stats().evicted()).as("evictions, seed %d", seed).isGreaterThan(100);
      sessions.forEach(session -> session.checkAndClose(seed));
      store.clear(KeyPrefix.EVERYTHING, NEVER);
      assertThat(store.stats().liveBytes()).isZero();
      assertThat(store.stats().objects()).isZero();
      assertThat(put(store, "all", bytes(capacity, 1)).isOk(0)).isTrue();
      assertHolds(store, "all", bytes(capacity, 1));
    }
  }

  private static int size(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> random.nextInt(3);
      case 1 -> random.nextInt(2_000);
      case 2 -> 4096;
      default -> random.nextInt(80_000);
    };
  }

  private static long sum(MemoryStore store, Map<String, byte[]> model) {
    long[] sum = {0};
    store.list(
        KeyPrefix.EVERYTHING,
        key -> {
          byte[] bytes = model.get(key.value());
          assertThat(bytes).as("%s is not there", key).isNotNull();
          sum[0] += bytes == null ? 0 : bytes.length;
          return true;
        },
        NEVER);
    return sum[0];
  }

  /** A session on one key, and what is to be read from it. */
  private static final class OpenSession {
    private final ReadSession session;
    private final byte[] bytes;

    OpenSession(ReadSession session, byte[] bytes) {
      this.session = session;
      this.bytes = bytes;
    }

    void checkAndClose(long seed) {
      if (session.opened().isOk(0)) {
        HostMemory target = filled(bytes.length, 0);
        ReadOp op = new ReadOp(0, List.of(new Range(0, target)));
        assertThat(session.read(List.of(op), NEVER).isOk(0)).isTrue();
        assertThat(read(target)).as("seed %d", seed).isEqualTo(bytes);
      }
      session.close();
    }
  }
}
