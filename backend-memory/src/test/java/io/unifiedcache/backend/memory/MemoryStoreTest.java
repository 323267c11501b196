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
import static io.unifiedcache.backend.memory.Stores.split;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryStoreTest {
  private static final int CANARY = 0x5a;

  private final MemoryStore store = Stores.open(64 << 20);

  @AfterEach
  void close() {
    store.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 511, 512, 513, 4095, 4096, 4097, 64 << 10, (1 << 20) + 1, (5 << 20) + 3})
  @DisplayName("store.roundtrip, store.duplicate-in-batch: any split, any alignment, read-only")
  void get_ofAnObjectPut_returnsItsBytes(int size) {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    byte[] bytes = bytes(size, seed);
    byte[] shifted = new byte[size + 3];
    System.arraycopy(bytes, 0, shifted, 3, size);
    HostMemory source = HostMemory.of(memory(shifted).slice(3, size).segment().asReadOnly());
    PutOp op = new PutOp(key("k"), split(source, random.nextInt(9), random));
    assertThat(store.put(List.of(op), NEVER).isOk(0)).isTrue();

    HostMemory first = filled(size + 7, CANARY);
    HostMemory second = filled(size, CANARY);
    List<GetOp> gets =
        List.of(
            new GetOp(key("k"), split(first.slice(5, size), random.nextInt(9), random)),
            new GetOp(key("k"), split(second, random.nextInt(9), random)));

    assertThat(store.get(gets, NEVER).count(ObjectStatus.OK)).isEqualTo(2);
    assertThat(read(second)).as("seed %d", seed).isEqualTo(bytes);
    assertThat(read(first.slice(5, size))).as("seed %d", seed).isEqualTo(bytes);
    assertThat(read(first.slice(0, 5))).containsOnly(CANARY);
    assertThat(read(first.slice(5 + size, 2))).containsOnly(CANARY);
  }

  @Test
  @DisplayName("store.roundtrip: objects scattered over many small blocks")
  void get_ofAnObjectInScatteredMemory_returnsItsBytes() {
    try (MemoryStore small = Stores.open(1 << 20, 1 << 20, 2)) {
      for (int i = 0; i < 2048; i++) {
        put(small, "small-" + i, bytes(512, i));
      }
      for (int i = 0; i < 2048; i += 2) {
        remove(small, "small-" + i);
      }
      byte[] bytes = bytes(512 << 10, 7);
      assertThat(put(small, "large", bytes).isOk(0)).isTrue();
      assertThat(small.stats().evicted()).isZero();
      assertHolds(small, "large", bytes);
      for (int i = 1; i < 2048; i += 2) {
        assertHolds(small, "small-" + i, bytes(512, i));
      }
    }
  }

  @Test
  @DisplayName("store.long-sizes: sizes past 2^32 are told from those they leave modulo 2^32")
  void put_andGet_ofMoreThanFourGibibytes_areExact(@TempDir Path folder) throws IOException {
    byte[] bytes = bytes(5, 1);
    put(store, "five", bytes);
    try (Arena arena = Arena.ofShared();
        FileChannel file = FileChannel.open(folder.resolve("f"), CREATE_NEW, READ, WRITE)) {
      // Sparse: it takes address space and nothing else.
      MemorySegment large = file.map(MapMode.READ_WRITE, 0, (1L << 32) + 5, arena);

      StoreFailure mismatch = get(store, "five", HostMemory.of(large)).failure(0);
      assertThat(mismatch.code()).isEqualTo(FailureCode.SIZE_MISMATCH);
      assertThat(mismatch.message()).contains("4294967301");

      StoreFailure noSpace =
          store
              .put(List.of(new PutOp(key("large"), List.of(HostMemory.of(large)))), NEVER)
              .failure(0);
      assertThat(noSpace.code()).isEqualTo(FailureCode.NO_SPACE);
      assertThat(noSpace.message()).contains("4294967301");

      List<Memory> many = Collections.nCopies(1 << 16, HostMemory.of(large));
      assertThat(store.put(List.of(new PutOp(key("l"), many)), NEVER).failure(0).message())
          .contains(Long.toString(((1L << 32) + 5) << 16));

      try (ReadSession session = store.openSession(keys("five"), NEVER)) {
        Range past = new Range(1L << 32, filled(5, CANARY));
        assertThat(session.read(List.of(new ReadOp(0, List.of(past))), NEVER).failure(0).code())
            .isEqualTo(FailureCode.SIZE_MISMATCH);
        Range last = new Range(Long.MAX_VALUE, filled(5, CANARY));
        assertThat(session.read(List.of(new ReadOp(0, List.of(last))), NEVER).failure(0).code())
            .isEqualTo(FailureCode.SIZE_MISMATCH);
      }
    }
  }

  @Test
  @DisplayName("store.exact-key")
  void put_ofSimilarKeys_keepsThemApart() {
    List<String> names = new ArrayList<>();
    Collections.addAll(
        names,
        "a/b",
        "a-b",
        "a_b",
        "A/b",
        "a%2Fb",
        "..",
        "../x",
        "a.",
        "a ",
        " a",
        "CON",
        "a\nb",
        "\u0000",
        "\ud83d\ude00",
        "\u00e9",
        "e\u0301",
        "x".repeat(4000),
        "x".repeat(3999));
    List<PutOp> puts = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      puts.add(putOp(names.get(i), bytes(100, i)));
    }
    assertThat(store.put(puts, NEVER).count(ObjectStatus.OK)).isEqualTo(names.size());
    for (int i = 0; i < names.size(); i++) {
      assertHolds(store, names.get(i), bytes(100, i));
    }
    List<String> listed = new ArrayList<>();
    store.list(KeyPrefix.EVERYTHING, key -> listed.add(key.value()), NEVER);
    assertThat(listed).containsExactlyInAnyOrderElementsOf(names);
  }

  @Test
  @DisplayName("store.absent")
  void get_ofAnAbsentObject_isAbsentAndWritesNothing() {
    HostMemory target = filled(16, CANARY);
    assertThat(get(store, "none", target).status(0)).isEqualTo(ObjectStatus.ABSENT);
    assertThat(get(store, "none", filled(0, 0)).status(0)).isEqualTo(ObjectStatus.ABSENT);
    assertThat(read(target)).containsOnly(CANARY);
    assertThat(exists(store, "none")).isEqualTo(ObjectStatus.ABSENT);
    assertThat(store.stats().failed()).isZero();
  }

  @Test
  @DisplayName("store.empty-object")
  void put_ofNoBytes_isStoredAndReadBack() {
    assertThat(store.put(List.of(new PutOp(key("none"), List.of())), NEVER).isOk(0)).isTrue();
    assertThat(put(store, "empty", new byte[0]).isOk(0)).isTrue();
    for (String each : List.of("none", "empty")) {
      assertThat(exists(store, each)).isEqualTo(ObjectStatus.OK);
      assertThat(get(store, each, filled(0, 0)).isOk(0)).isTrue();
      assertThat(store.get(List.of(new GetOp(key(each), List.of())), NEVER).isOk(0)).isTrue();
      assertThat(get(store, each, filled(1, 0)).failure(0).code())
          .isEqualTo(FailureCode.SIZE_MISMATCH);
    }
    assertThat(store.stats().objects()).isEqualTo(2);
    assertThat(store.stats().liveBytes()).isZero();
  }

  @Test
  @DisplayName("store.first-wins")
  void put_ofAPresentKey_leavesTheFirstBytes() {
    put(store, "k", bytes(1000, 1));
    assertThat(put(store, "k", bytes(1000, 2)).status(0)).isEqualTo(ObjectStatus.PRESENT);
    assertThat(put(store, "k", bytes(10, 3)).status(0)).isEqualTo(ObjectStatus.PRESENT);
    assertHolds(store, "k", bytes(1000, 1));
  }

  @Test
  @DisplayName("store.per-entry")
  void put_andGet_withBadEntriesAmongGood_keepTheOrderAndTheNeighbours() {
    Memory device = new DeviceMemory("cuda:0", 4096, 10);
    put(store, "there", bytes(10, 0));
    BatchResult puts =
        store.put(
            List.of(
                putOp("a", bytes(10, 1)),
                new PutOp(key("b"), List.of(device)),
                putOp("there", bytes(10, 9)),
                new PutOp(key("c"), List.of(closedMemory(10))),
                putOp("d", bytes(10, 4))),
            NEVER);
    assertThat(statuses(puts)).containsExactly("OK", "REFUSED", "PRESENT", "REFUSED", "OK");

    HostMemory readOnly = HostMemory.of(filled(10, CANARY).segment().asReadOnly());
    HostMemory first = filled(10, CANARY);
    HostMemory last = filled(10, CANARY);
    BatchResult gets =
        store.get(
            List.of(
                new GetOp(key("d"), List.of(first)),
                new GetOp(key("d"), List.of(device)),
                new GetOp(key("b"), List.of(filled(10, 0))),
                new GetOp(key("d"), List.of(readOnly)),
                new GetOp(key("d"), List.of(closedMemory(10))),
                new GetOp(key("d"), List.of(filled(9, CANARY))),
                new GetOp(key("a"), List.of(last))),
            NEVER);
    assertThat(statuses(gets))
        .containsExactly("OK", "REFUSED", "ABSENT", "REFUSED", "REFUSED", "SIZE_MISMATCH", "OK");
    assertThat(read(first)).isEqualTo(bytes(10, 4));
    assertThat(read(last)).isEqualTo(bytes(10, 1));
    assertThat(read(readOnly)).containsOnly(CANARY);
  }

  @Test
  @DisplayName("store.per-entry: nothing at all")
  void call_withAnEmptyBatch_hasAnEmptyResult() {
    assertThat(store.exists(List.of(), NEVER).size()).isZero();
    assertThat(store.put(List.of(), NEVER).size()).isZero();
    assertThat(store.get(List.of(), NEVER).size()).isZero();
    assertThat(store.remove(List.of(), false, NEVER).size()).isZero();
    try (ReadSession session = store.openSession(List.of(), NEVER)) {
      assertThat(session.opened().size()).isZero();
      assertThat(session.read(List.of(), NEVER).size()).isZero();
    }
  }

  @Test
  @DisplayName("store.per-entry: 10,000 entries")
  void put_andGet_ofTenThousandEntries_work() {
    int count = 10_000;
    List<PutOp> puts = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    List<HostMemory> targets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      puts.add(putOp("k" + i, bytes(i % 200, i)));
      targets.add(filled(i % 200, CANARY));
      gets.add(new GetOp(key("k" + i), List.of(targets.get(i))));
    }
    assertThat(store.put(puts, NEVER).count(ObjectStatus.OK)).isEqualTo(count);
    assertThat(store.get(gets, NEVER).count(ObjectStatus.OK)).isEqualTo(count);
    for (int i = 0; i < count; i++) {
      assertThat(read(targets.get(i))).isEqualTo(bytes(i % 200, i));
    }
  }

  @Test
  @DisplayName("store.duplicate-in-batch")
  void put_ofOneKeyTwice_storesTheFirst() {
    BatchResult result =
        store.put(
            List.of(putOp("k", bytes(10, 1)), putOp("k", bytes(10, 2)), putOp("l", bytes(10, 3))),
            NEVER);
    assertThat(statuses(result)).containsExactly("OK", "PRESENT", "OK");
    assertHolds(store, "k", bytes(10, 1));
  }

  @Test
  @DisplayName("store.duplicate-in-batch: the first that can be stored")
  void put_ofOneKeyTwiceWithABadFirst_storesTheSecond() {
    PutOp bad = new PutOp(key("k"), List.of(closedMemory(10)));
    BatchResult result = store.put(List.of(bad, putOp("k", bytes(10, 2))), NEVER);
    assertThat(statuses(result)).containsExactly("REFUSED", "OK");
    assertHolds(store, "k", bytes(10, 2));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 99, 101, 5000})
  @DisplayName("store.size-exact")
  void get_intoMemoryOfAnotherSize_isAMismatchAndWritesNothing(int size) {
    put(store, "k", bytes(100, 1));
    HostMemory target = filled(size, CANARY);
    StoreFailure failure = get(store, "k", target).failure(0);
    assertThat(failure.code()).isEqualTo(FailureCode.SIZE_MISMATCH);
    assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
    assertThat(failure.message()).contains("100").contains(Integer.toString(size));
    if (size > 0) {
      assertThat(read(target)).containsOnly(CANARY);
    }
  }

  @Test
  @DisplayName("store.failed-is-not-ok: memory freed under a put or a get")
  void put_andGet_withMemoryFreedAfterTheBatchWasMade_failAndTheStoreGoesOn() {
    put(store, "k", bytes(100, 1));
    Arena arena = Arena.ofShared();
    HostMemory memory = HostMemory.of(arena.allocate(100));
    arena.close();
    StoreFailure failure = get(store, "k", memory).failure(0);
    assertThat(failure.code()).isEqualTo(FailureCode.REFUSED);
    assertThat(failure.message()).contains("k").contains("arena");
    assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
    assertThat(store.put(List.of(new PutOp(key("l"), List.of(memory))), NEVER).isOk(0)).isFalse();
    assertThat(exists(store, "l")).isEqualTo(ObjectStatus.ABSENT);
    assertHolds(store, "k", bytes(100, 1));
  }

  @Test
  @DisplayName("store.remove")
  void remove_ofAnObject_isIdempotent() {
    put(store, "k", bytes(100, 1));
    assertThat(remove(store, "k")).isEqualTo(ObjectStatus.OK);
    assertThat(remove(store, "k")).isEqualTo(ObjectStatus.ABSENT);
    assertThat(remove(store, "never")).isEqualTo(ObjectStatus.ABSENT);
    assertThat(exists(store, "k")).isEqualTo(ObjectStatus.ABSENT);
    assertThat(get(store, "k", filled(100, 0)).status(0)).isEqualTo(ObjectStatus.ABSENT);
    assertThat(store.remove(keys("a", "a"), true, NEVER).count(ObjectStatus.ABSENT)).isEqualTo(2);
  }

  @Test
  @DisplayName("store.restore-anew")
  void remove_evenIfLeased_thenPut_storesAnew() {
    put(store, "k", bytes(100, 1));
    try (ReadSession session = store.openSession(keys("k"), NEVER)) {
      assertThat(store.remove(keys("k"), /* evenIfLeased= */ true, NEVER).isOk(0)).isTrue();
      assertThat(put(store, "k", bytes(200, 2)).isOk(0)).isTrue();
      assertHolds(store, "k", bytes(200, 2));
      assertRange(session, 0, 0, bytes(100, 1));
    }
    assertHolds(store, "k", bytes(200, 2));
  }

  @Test
  @DisplayName("store.clear")
  void clear_ofAPrefix_removesWhatBeginsWithItAndNothingElse() {
    for (String each : List.of("a.*/1", "a.*/2", "a.*", "a.b/1", "A.*/1", "b", "a%/x")) {
      put(store, each, bytes(10, 1));
    }
    assertThat(store.clear(KeyPrefix.of("a.*/"), NEVER)).isEqualTo(new ClearResult(2, 0));
    assertThat(store.clear(KeyPrefix.of("a.*/"), NEVER)).isEqualTo(new ClearResult(0, 0));
    assertThat(exists(store, "a.*/1")).isEqualTo(ObjectStatus.ABSENT);
    assertThat(
            store.exists(keys("a.*", "a.b/1", "A.*/1", "b", "a%/x"), NEVER).count(ObjectStatus.OK))
        .isEqualTo(5);
    assertThat(store.clear(KeyPrefix.EVERYTHING, NEVER)).isEqualTo(new ClearResult(5, 0));
    assertThat(store.stats().objects()).isZero();
    assertThat(store.stats().liveBytes()).isZero();
  }

  @Test
  @DisplayName("store.list")
  void list_ofAPrefix_passesEveryLiveKeyOnce() {
    List<String> live = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      put(store, "p/" + i, bytes(1, i));
      if (i % 3 == 0) {
        remove(store, "p/" + i);
      } else {
        live.add("p/" + i);
      }
    }
    put(store, "q/1", bytes(1, 1));
    List<String> listed = new ArrayList<>();
    store.list(KeyPrefix.of("p/"), key -> listed.add(key.value()), NEVER);
    assertThat(listed).containsExactlyInAnyOrderElementsOf(live);
  }

  @Test
  @DisplayName("store.list: stops when told, and may call the store")
  void list_whenTold_stops() {
    put(store, "a", bytes(1, 1));
    put(store, "b", bytes(1, 1));
    List<ObjectKey> listed = new ArrayList<>();
    store.list(
        KeyPrefix.EVERYTHING,
        key -> {
          listed.add(key);
          store.remove(List.of(key), false, NEVER);
          return false;
        },
        NEVER);
    assertThat(listed).hasSize(1);
    assertThat(store.stats().objects()).isEqualTo(1);
  }

  @Test
  @DisplayName("store.groups")
  void put_withAGroupHint_isReadLikeAnyOther() {
    PutOp op = new PutOp(key("k"), List.of(memory(bytes(10, 1))), Optional.of("group"));
    assertThat(store.put(List.of(op), NEVER).isOk(0)).isTrue();
    assertHolds(store, "k", bytes(10, 1));
  }

  @Test
  @DisplayName("store.limits: entries")
  void call_withTooManyEntries_isRefusedWhole() {
    int most = store.limits().batch();
    List<ObjectKey> atLimit = Collections.nCopies(most, key("k"));
    List<ObjectKey> over = Collections.nCopies(most + 1, key("k"));
    PutOp put = putOp("k", bytes(1, 1));
    GetOp get = new GetOp(key("k"), List.of(filled(1, CANARY)));

    assertRefused(() -> store.put(Collections.nCopies(most + 1, put), NEVER));
    assertThat(exists(store, "k")).isEqualTo(ObjectStatus.ABSENT);
    assertThat(store.put(Collections.nCopies(most, put), NEVER).count(ObjectStatus.PRESENT))
        .isEqualTo(most - 1);
    assertRefused(() -> store.exists(over, NEVER));
    assertThat(store.exists(atLimit, NEVER).count(ObjectStatus.OK)).isEqualTo(most);
    assertRefused(() -> store.get(Collections.nCopies(most + 1, get), NEVER));
    assertThat(store.get(Collections.nCopies(most, get), NEVER).count(ObjectStatus.OK))
        .isEqualTo(most);
    assertRefused(() -> store.openSession(over, NEVER));
    store.openSession(atLimit, NEVER).close();
    assertRefused(() -> store.remove(over, false, NEVER));
    assertThat(store.remove(atLimit, false, NEVER).count(ObjectStatus.OK)).isEqualTo(1);
  }

  @Test
  @DisplayName("store.limits: keys")
  void call_withAKeyOverTheLimit_failsThatEntry() {
    int most = store.limits().keyBytes();
    // Three bytes each.
    String atLimit = "\u20ac".repeat(most / 3) + "x".repeat(most % 3);
    String over = atLimit + "x";
    BatchResult result =
        store.put(List.of(putOp(over, bytes(9, 1)), putOp(atLimit, bytes(9, 2))), NEVER);
    assertThat(statuses(result)).containsExactly("REFUSED", "OK");
    assertThat(result.failure(0).message()).contains(Integer.toString(most));
    assertHolds(store, atLimit, bytes(9, 2));
    assertThat(statuses(get(store, over, filled(9, 0)))).containsExactly("REFUSED");
    assertThat(statuses(store.exists(keys(over, atLimit), NEVER))).containsExactly("REFUSED", "OK");
    try (ReadSession session = store.openSession(keys(over, atLimit), NEVER)) {
      assertThat(statuses(session.opened())).containsExactly("REFUSED", "OK");
    }
    assertThat(statuses(store.remove(keys(over, atLimit), false, NEVER)))
        .containsExactly("REFUSED", "OK");
  }

  @Test
  @DisplayName("store.limits: pieces")
  void call_withTooManyPieces_failsThatEntry() {
    int most = store.limits().pieces();
    HostMemory source = memory(bytes(most + 1, 1));
    List<Memory> pieces = new ArrayList<>();
    List<Range> ranges = new ArrayList<>();
    for (int i = 0; i <= most; i++) {
      pieces.add(source.slice(i, 1));
      ranges.add(new Range(Math.min(i, most - 1), source.slice(i, 1)));
    }
    BatchResult result =
        store.put(
            List.of(new PutOp(key("over"), pieces), new PutOp(key("at"), pieces.subList(0, most))),
            NEVER);
    assertThat(statuses(result)).containsExactly("REFUSED", "OK");
    assertThat(result.failure(0).message()).contains(Integer.toString(most));
    assertHolds(store, "at", Arrays.copyOf(bytes(most + 1, 1), most));
    try (ReadSession session = store.openSession(keys("at", "at"), NEVER)) {
      List<ReadOp> reads = List.of(new ReadOp(0, ranges), new ReadOp(1, ranges.subList(0, most)));
      assertThat(statuses(session.read(reads, NEVER))).containsExactly("REFUSED", "OK");
    }
  }

  @Test
  @DisplayName("store.session")
  void read_ofRanges_fillsExactlyThose() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    byte[] a = bytes((3 << 20) + 17, seed);
    byte[] b = bytes(4000, seed + 1);
    put(store, "a", a);
    put(store, "b", b);
    try (ReadSession session = store.openSession(keys("a", "none", "b"), NEVER)) {
      assertThat(statuses(session.opened())).containsExactly("OK", "ABSENT", "OK");
      for (int round = 0; round < 200; round++) {
        int offset = random.nextInt(a.length);
        int length = random.nextInt(a.length - offset + 1);
        HostMemory target = filled(length + 2, CANARY);
        HostMemory whole = filled(b.length, CANARY);
        BatchResult result =
            session.read(
                List.of(
                    new ReadOp(
                        2,
                        List.of(
                            new Range(2000, whole.slice(2000, 2000)),
                            new Range(4000, filled(0, 0)),
                            new Range(0, whole.slice(0, 2000)))),
                    new ReadOp(1, List.of(new Range(0, filled(1, 0)))),
                    new ReadOp(0, List.of(new Range(offset, target.slice(1, length))))),
                NEVER);
        assertThat(statuses(result)).containsExactly("OK", "ABSENT", "OK");
        assertThat(read(target.slice(1, length)))
            .as("seed %d", seed)
            .isEqualTo(Arrays.copyOfRange(a, offset, offset + length));
        assertThat(read(target)[0]).isEqualTo((byte) CANARY);
        assertThat(read(target)[length + 1]).isEqualTo((byte) CANARY);
        assertThat(read(whole)).isEqualTo(b);
      }
    }
  }

  @Test
  @DisplayName("store.session: past the end is a mismatch, its neighbours go on")
  void read_pastTheEnd_isAMismatchAndWritesNothing() {
    put(store, "a", bytes(100, 1));
    put(store, "b", bytes(100, 2));
    try (ReadSession session = store.openSession(keys("a", "b"), NEVER)) {
      HostMemory target = filled(20, CANARY);
      HostMemory good = filled(100, CANARY);
      BatchResult result =
          session.read(
              List.of(
                  new ReadOp(
                      0,
                      List.of(
                          new Range(0, target.slice(0, 10)), new Range(91, target.slice(10, 10)))),
                  new ReadOp(1, List.of(new Range(0, good))),
                  new ReadOp(2, List.of())),
              NEVER);
      assertThat(statuses(result)).containsExactly("SIZE_MISMATCH", "OK", "REFUSED");
      assertThat(result.failure(0).memory()).isEqualTo(MemoryState.UNTOUCHED);
      assertThat(read(target)).containsOnly(CANARY);
      assertThat(read(good)).isEqualTo(bytes(100, 2));
    }
  }

  @Test
  @DisplayName("store.session: keys are resolved once")
  void read_afterRemoveClearAndPut_isOfTheObjectOpened() {
    put(store, "a", bytes(5000, 1));
    put(store, "b", bytes(5000, 2));
    ReadSession session = store.openSession(keys("a", "b", "late"), NEVER);
    remove(store, "a");
    store.clear(KeyPrefix.EVERYTHING, NEVER);
    put(store, "a", bytes(5000, 3));
    put(store, "late", bytes(5000, 4));
    assertRange(session, 0, 0, bytes(5000, 1));
    assertRange(session, 1, 0, bytes(5000, 2));
    ReadOp late = new ReadOp(2, List.of(new Range(0, filled(5000, 0))));
    assertThat(session.read(List.of(late), NEVER).status(0)).isEqualTo(ObjectStatus.ABSENT);
    assertThat(store.stats().liveBytes()).isEqualTo(20_000);
    assertThat(store.stats().objects()).isEqualTo(4);
    session.close();
    assertThat(store.stats().liveBytes()).isEqualTo(10_000);
    assertThat(store.stats().objects()).isEqualTo(2);
  }

  @Test
  @DisplayName("store.session: use after close")
  void session_afterClose_isClosed() {
    put(store, "a", bytes(10, 1));
    ReadSession session = store.openSession(keys("a"), NEVER);
    session.close();
    session.close();
    assertClosed(session::opened);
    assertClosed(() -> session.read(List.of(), NEVER));
    assertThat(store.stats().liveBytes()).isEqualTo(10);
    remove(store, "a");
    assertThat(store.stats().liveBytes()).isZero();
  }

  @Test
  @DisplayName("store.session: over the batch limit")
  void read_withTooManyEntries_isRefusedWhole() {
    put(store, "a", bytes(10, 1));
    try (ReadSession session = store.openSession(keys("a"), NEVER)) {
      HostMemory target = filled(10, CANARY);
      ReadOp op = new ReadOp(0, List.of(new Range(0, target)));
      assertRefused(() -> session.read(Collections.nCopies(store.limits().batch() + 1, op), NEVER));
      assertThat(read(target)).containsOnly(CANARY);
    }
  }

  @Test
  @DisplayName("store.register")
  void register_ofMemory_needsNothing() {
    HostMemory memory = filled(10, CANARY);
    Registration registration = store.register(memory);
    registration.close();
    registration.close();
    assertThat(read(memory)).containsOnly(CANARY);
  }

  @Test
  @DisplayName("store.stats")
  void stats_afterAScript_equalIt() {
    put(store, "a", bytes(1000, 1));
    put(store, "b", bytes(500, 2));
    put(store, "a", bytes(1000, 3));
    store.put(
        List.of(putOp("c", bytes(70, 1)), putOp("c", bytes(70, 1)), putOp("d", new byte[0])),
        NEVER);
    put(store, "x", new byte[65 << 20]);
    get(store, "a", filled(1000, 0));
    get(store, "a", filled(999, 0));
    get(store, "none", filled(9, 0));
    store.exists(keys("a", "none"), NEVER);
    try (ReadSession session = store.openSession(keys("b", "none"), NEVER)) {
      session.read(
          List.of(
              new ReadOp(0, List.of(new Range(0, filled(20, 0)), new Range(0, filled(5, 0)))),
              new ReadOp(1, List.of(new Range(0, filled(20, 0))))),
          NEVER);
      session.read(List.of(new ReadOp(0, List.of(new Range(500, filled(1, 0))))), NEVER);
    }
    store.list(KeyPrefix.EVERYTHING, key -> true, NEVER);
    remove(store, "b");
    remove(store, "b");
    store.clear(KeyPrefix.of("c"), NEVER);

    assertThat(store.stats())
        .isEqualTo(
            new StoreStats(
                /* objects= */ 2,
                /* liveBytes= */ 1000,
                /* capacityBytes= */ 64 << 20,
                /* stored= */ 4,
                /* present= */ 2,
                /* found= */ 2,
                /* absent= */ 2,
                /* failed= */ 3,
                /* removed= */ 2,
                /* evicted= */ 0,
                /* bytesStored= */ 1570,
                /* bytesRead= */ 1025));
  }

  @Test
  void probe_ofAnOpenStore_isUp() {
    put(store, "a", bytes(10, 1));
    StoreHealth health = store.probe(NEVER);
    assertThat(health.state()).isEqualTo(StoreHealth.State.UP);
    assertThat(health.detail()).contains("1 objects with 10 of 67108864 bytes");
  }

  @Test
  @DisplayName("store.close")
  void call_afterClose_isClosedAndTouchesNothing() {
    put(store, "a", bytes(10, 1));
    HostMemory target = filled(10, CANARY);
    ReadSession session = store.openSession(keys("a"), NEVER);
    store.close();
    store.close();
    assertClosed(() -> store.exists(keys("a"), NEVER));
    assertClosed(() -> put(store, "b", bytes(10, 1)));
    assertClosed(() -> get(store, "a", target));
    assertClosed(() -> store.openSession(keys("a"), NEVER));
    assertClosed(() -> session.read(List.of(new ReadOp(0, List.of(new Range(0, target)))), NEVER));
    assertClosed(() -> remove(store, "a"));
    assertClosed(() -> store.clear(KeyPrefix.EVERYTHING, NEVER));
    assertClosed(() -> store.list(KeyPrefix.EVERYTHING, key -> true, NEVER));
    assertClosed(() -> store.register(target));
    assertClosed(() -> store.probe(NEVER));
    session.close();
    assertThat(read(target)).containsOnly(CANARY);
    assertThat(store.stats().stored()).isEqualTo(1);
    assertThat(store.stats().liveBytes()).isZero();
    assertThat(store.stats().objects()).isZero();
  }

  @Test
  @DisplayName("store.limits: what is declared")
  void limits_leaveRoomForEverythingButKeysPiecesAndEntries() {
    StoreLimits limits = store.limits();
    assertThat(limits.objectBytes()).isEqualTo(Long.MAX_VALUE);
    assertThat(limits.alignment()).isEqualTo(1);
    assertThat(limits.busy()).isZero();
  }

  private static HostMemory closedMemory(long size) {
    Arena arena = Arena.ofShared();
    HostMemory memory = HostMemory.of(arena.allocate(size));
    arena.close();
    return memory;
  }

  private static List<String> statuses(BatchResult result) {
    List<String> statuses = new ArrayList<>();
    for (int i = 0; i < result.size(); i++) {
      statuses.add(
          result.status(i) == ObjectStatus.FAILED
              ? result.failure(i).code().name()
              : result.status(i).name());
    }
    return statuses;
  }

  private static void assertRange(ReadSession session, int entry, long offset, byte[] expected) {
    HostMemory target = filled(expected.length, CANARY);
    ReadOp op = new ReadOp(entry, List.of(new Range(offset, target)));
    assertThat(session.read(List.of(op), NEVER).isOk(0)).isTrue();
    assertThat(read(target)).isEqualTo(expected);
  }

  private static void assertRefused(Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED));
  }

  private static void assertClosed(Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CLOSED));
  }
}
