package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.DrillObjects.getAll;
import static io.unifiedcache.backend.mooncake.DrillObjects.putAll;
import static io.unifiedcache.backend.mooncake.ScriptedStore.bytes;
import static io.unifiedcache.backend.mooncake.ScriptedStore.get;
import static io.unifiedcache.backend.mooncake.ScriptedStore.key;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static io.unifiedcache.backend.mooncake.ScriptedStore.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * What a real cluster goes through: its processes are killed, it fills up, others evict. No call
 * hangs, no byte is wrong, and hits resume.
 *
 * <p>A class for each client, since a process can have only one of them.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class Drills {
  private static final int OBJECTS = DrillObjects.COUNT;
  private static final Duration DEADLINE = DrillObjects.DEADLINE;
  private static final long MEMORY = 64 << 20;
  private static final int LARGE = 8 << 20;

  /** SIGHUP, SIGINT, SIGUSR1 and SIGTERM, as bits of a mask. */
  private static final long SIGNALS = 1 | 1 << 1 | 1 << 9 | 1 << 14;

  /** Begins to put an object, and never ends. */
  private static final String WRITER =
      """
      import sys, mooncake.store
      store = mooncake.store.MooncakeDistributedStore()
      assert store.setup("127.0.0.1", "P2PHANDSHAKE", 0, 16 << 20, "tcp", "", sys.argv[1]) == 0
      print("begun", store.batch_put_session_start(["half"], [1000]), flush=True)
      sys.stdin.read()
      """;

  @RegisterExtension
  static final MooncakeCluster CLUSTER =
      MooncakeCluster.withLeases(300)
          .flag("client_ttl", "5")
          .flag("put_start_discard_timeout_sec", "3")
          .segment(MEMORY);

  private final Choice client;
  private final List<CacheStore> stores = new ArrayList<>();

  Drills(Choice client) {
    this.client = client;
  }

  @BeforeEach
  void heal() throws Exception {
    CLUSTER.heal();
  }

  @AfterEach
  void close() {
    stores.forEach(CacheStore::close);
  }

  @Test
  void masterDies_callsFailInTimeAndHitsResume() throws Exception {
    CacheStore store = open();
    putAll(store);
    assertThat(getAll(store, soon()).count(ObjectStatus.OK)).isEqualTo(OBJECTS);
    AtomicBoolean over = new AtomicBoolean();
    FutureTask<Integer> load =
        new FutureTask<>(
            () -> {
              int failed = 0;
              while (!over.get()) {
                failed += getAll(store, Deadline.after(DEADLINE)).count(ObjectStatus.FAILED);
              }
              return failed;
            });
    Thread.ofPlatform().daemon().start(load);
    CLUSTER.killMaster();
    CLUSTER.await(
        "the store is seen to be down",
        () -> store.probe(Deadline.after(DEADLINE)).state() == StoreHealth.State.DOWN);
    StoreFailure failure = existsFailure(store);
    assertThat(failure.code()).isIn(FailureCode.UNREACHABLE, FailureCode.TIMEOUT);
    CLUSTER.startMaster();
    CLUSTER.await("the owner has mounted its memory again", CLUSTER::hasSegment);
    CLUSTER.await("objects can be stored again", () -> putAll(store) == OBJECTS);
    assertThat(getAll(store, soon()).count(ObjectStatus.OK)).isEqualTo(OBJECTS);
    over.set(true);
    assertThat(load.get(1, TimeUnit.MINUTES)).isPositive();
    assertThat(store.probe(soon()).state()).isEqualTo(StoreHealth.State.UP);
  }

  @Test
  void ownerDies_objectsFailOrAreAbsentAndHitsResume() throws Exception {
    CacheStore store = open();
    putAll(store);
    CLUSTER.killOwner();
    BatchResult result = getAll(store, Deadline.after(DEADLINE));
    assertThat(result.count(ObjectStatus.OK)).isZero();
    CLUSTER.await(
        "objects without their owner are absent",
        () -> getAll(store, Deadline.after(DEADLINE)).count(ObjectStatus.ABSENT) == OBJECTS);
    CLUSTER.startOwner();
    CLUSTER.await("objects can be stored again", () -> putAll(store) == OBJECTS);
    assertThat(getAll(store, soon()).count(ObjectStatus.OK)).isEqualTo(OBJECTS);
  }

  @Test
  void segmentIsFullOfLeasedObjects_putsFailUntilOneIsRemoved() throws Exception {
    try (MooncakeCluster small = MooncakeCluster.withLeases(600_000).segment(MEMORY)) {
      small.start();
      try (CacheStore store = open(small.settings(client), StoreContext.of("mooncake-full"))) {
        // All that was put is leased, so that nothing can be evicted.
        BatchResult last = BatchResult.all(1, ObjectStatus.OK);
        for (int i = 0; i <= MEMORY / LARGE && last.isOk(0); i++) {
          last = store.put(List.of(put("full-" + i, 1, LARGE)), soon());
        }
        assertThat(last.status(0)).isEqualTo(ObjectStatus.FAILED);
        assertThat(last.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
        assertThat(store.remove(List.of(key("full-0")), /* evenIfLeased= */ true, soon()).isOk(0))
            .isTrue();
        small.await(
            "there is room again", () -> store.put(List.of(put("more", 1, LARGE)), soon()).isOk(0));
      }
    }
  }

  @Test
  void segmentIsFull_putsSucceedOnceLeasesAreOver() {
    CacheStore store = open();
    for (int i = 0; i <= MEMORY / LARGE; i++) {
      PutOp put = put("over-" + i, 1, LARGE);
      CLUSTER.await("there is room", () -> store.put(List.of(put), soon()).isOk(0));
    }
  }

  @Test
  void objectIsLargerThanAllMemory_putFindsNoRoomAndSmallOnesDo() {
    CacheStore store = open();
    List<PutOp> puts = List.of(put("too-large", 1, MEMORY + 1), put("small", 2, 10));
    BatchResult result = store.put(puts, soon());
    assertThat(result.status(0)).isEqualTo(ObjectStatus.FAILED);
    assertThat(result.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
    assertThat(result.isOk(1)).isTrue();
    assertThat(store.put(List.of(put("small-too", 3, 10)), soon()).isOk(0)).isTrue();
  }

  @Test
  void otherClientEvicts_readsAreRightOrNone() throws Exception {
    CacheStore store = open();
    CacheStore other = open();
    AtomicBoolean over = new AtomicBoolean();
    FutureTask<Integer> flood =
        new FutureTask<>(
            () -> {
              int stored = 0;
              for (int i = 0; !over.get(); i++) {
                stored +=
                    other
                        .put(List.of(put("flood-" + i, 1, 4 << 20)), soon())
                        .count(ObjectStatus.OK);
              }
              return stored;
            });
    Thread.ofPlatform().daemon().start(flood);
    int found = 0;
    for (int i = 0; i < 3; i++) {
      CLUSTER.await("all is stored", () -> putAll(store) == OBJECTS);
      found += getAll(store, soon()).count(ObjectStatus.OK);
      // To be listed by the master renews no lease.
      CLUSTER.await("some is evicted", () -> !CLUSTER.keys().containsAll(DrillObjects.keys()));
      assertThat(getAll(store, soon()).count(ObjectStatus.ABSENT)).isPositive();
    }
    over.set(true);
    assertThat(flood.get()).isPositive();
    assertThat(found).isPositive();
  }

  @Test
  void writerDies_objectIsAbsentUntilAnotherMayStoreIt() throws Exception {
    CacheStore store = open();
    Process writer =
        new ProcessBuilder(Installation.python().toString(), "-c", WRITER, CLUSTER.address())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (BufferedReader output = writer.inputReader()) {
      assertThat(output.lines().filter(line -> line.startsWith("begun")).findFirst())
          .contains("begun [0]");
    } finally {
      assertThat(writer.destroyForcibly().waitFor()).as("128 and SIGKILL").isEqualTo(137);
    }
    PutOp put = put("half", 1, 1000);
    StoreFailure failure = store.put(List.of(put), soon()).failure(0);
    assertThat(failure.code()).as(failure.message()).isEqualTo(FailureCode.BUSY);
    assertThat(failure.message()).contains("another writer is at it or has died");
    assertThat(store.exists(List.of(key("half")), soon()).status(0)).isEqualTo(ObjectStatus.ABSENT);
    GetOp get = get("half", 1000);
    assertThat(store.get(List.of(get), soon()).status(0)).isEqualTo(ObjectStatus.ABSENT);
    CLUSTER.await("it can be stored", () -> store.put(List.of(put), soon()).isOk(0));
    assertThat(store.get(List.of(get), soon()).isOk(0)).isTrue();
    assertThat(bytes(get.pieces())).containsOnly(1);
  }

  @Test
  void leaseEndsWhileItsObjectIsRead_readFailsAndLeavesMemoryDirty() throws Exception {
    long size = 64 << 20;
    try (MooncakeCluster brief = MooncakeCluster.withLeases(1).segment(4 * size)) {
      brief.start();
      try (CacheStore store = open(brief.settings(client), StoreContext.of("mooncake-lease"))) {
        assertThat(store.put(List.of(put("large", 1, size)), soon()).isOk(0)).isTrue();
        GetOp get = get("large", size);
        List<BatchResult> reads = new ArrayList<>();
        brief.await(
            "a lease ends before a read does",
            () -> {
              reads.add(store.get(List.of(get), soon()));
              return !reads.getLast().isOk(0);
            });
        StoreFailure failure = reads.getLast().failure(0);
        assertThat(failure.code()).as(failure.message()).isEqualTo(FailureCode.LEASE_EXPIRED);
        assertThat(failure.memory()).isEqualTo(MemoryState.DIRTY);
      }
    }
  }

  @Test
  void clear_leasedObjectsAreKeptAndTold() {
    CacheStore store = open();
    assertThat(store.put(List.of(put("c.1", 1, 10), put("c.2", 2, 10), put("cx3", 3, 10)), soon()))
        .isEqualTo(BatchResult.all(3, ObjectStatus.OK));
    CLUSTER.await(
        "all is cleared, and what is leased was counted",
        () -> {
          ClearResult result = store.clear(KeyPrefix.of("c."), soon());
          assertThat(result.removed() + result.kept()).isLessThanOrEqualTo(2);
          return result.kept() == 0;
        });
    assertThat(store.exists(List.of(key("c.1"), key("c.2"), key("cx3")), soon()))
        .extracting(result -> result.count(ObjectStatus.OK))
        .isEqualTo(1);
  }

  @Test
  void masterIsAway_openSaysSoAndWorksOnceItIsThere() throws Exception {
    CLUSTER.killMaster();
    assertThatThrownBy(this::open)
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.UNREACHABLE))
        .hasMessageContaining(CLUSTER.address())
        .hasMessageContaining("start mooncake_master");
    CLUSTER.startMaster();
    CLUSTER.await("the owner has mounted its memory again", CLUSTER::hasSegment);
    CacheStore store = open();
    CLUSTER.await("objects can be stored", () -> putAll(store) == OBJECTS);
  }

  @Test
  void masterIsAway_degradedLinkerStartsAndHasHitsOnceItIsThere() throws Exception {
    CLUSTER.killMaster();
    Map<String, String> settings = new TreeMap<>(settings());
    settings.put("linker.start-policy", "degraded");
    try (EnginePages engine =
        new EnginePages("drill", /* packed= */ false, EnginePages.keys(1, 4), settings)) {
      assertThat(engine.hits()).isZero();
      CLUSTER.startMaster();
      CLUSTER.await("the owner has mounted its memory again", CLUSTER::hasSegment);
      CLUSTER.await("pages can be stored", engine::canOffload);
      engine.load();
    }
  }

  @Test
  void openAndClose_manyTimes_leavesTheObjects() {
    putAll(open());
    for (int i = 0; i < 4; i++) {
      try (CacheStore store = open()) {
        assertThat(store.exists(List.of(key("drill-0")), soon()).isOk(0)).isTrue();
      }
    }
  }

  @Test
  void processIsTerminated_hooksRun() throws Exception {
    Process process =
        LoadingProcess.start(settings()).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try (BufferedReader output = process.inputReader()) {
      assertThat(output.readLine()).isEqualTo(LoadingProcess.LOADING);
      // The process itself would close its output, too.
      assertThat(process.toHandle().destroy()).isTrue();
      assertThat(output.readAllAsString()).contains(LoadingProcess.HOOK);
      assertThat(process.waitFor()).as("128 and SIGTERM").isEqualTo(143);
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void processExits_whileCallsRun_withItsOwnStatus() throws Exception {
    for (int i = 0; i < Integer.getInteger("mooncake.exits", 4); i++) {
      Process process =
          ExitingProcess.start(settings())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      try {
        assertThat(process.waitFor()).as("exit %d", i).isEqualTo(ExitingProcess.STATUS);
      } finally {
        process.destroyForcibly();
      }
    }
  }

  @Test
  void open_leavesThreadsOfTheJvmOpenToSignals() throws Exception {
    Set<Path> tasks = ConcurrentHashMap.newKeySet();
    ThreadFactory threads =
        work ->
            Thread.ofPlatform()
                .daemon()
                .unstarted(
                    () -> {
                      tasks.add(taskOfThisThread());
                      work.run();
                    });
    StoreContext context = new StoreContext("mooncake-signals", MonotonicClock.SYSTEM, threads);
    try (CacheStore store = open(settings(), context)) {
      assertThat(putAll(store)).isEqualTo(OBJECTS);
      assertThat(tasks).as("the threads of the store").hasSizeGreaterThanOrEqualTo(2);
      tasks.add(taskOfThisThread());
      for (Path task : tasks) {
        assertThat(blockedSignals(task) & SIGNALS).as(task.toString()).isZero();
      }
    }
  }

  private static Path taskOfThisThread() {
    try {
      return Path.of("/proc/thread-self").toRealPath();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long blockedSignals(Path task) throws IOException {
    for (String line : Files.readAllLines(task.resolve("status"))) {
      if (line.startsWith("SigBlk:")) {
        return Long.parseUnsignedLong(line.substring("SigBlk:".length()).strip(), 16);
      }
    }
    throw new IOException("nothing is said of blocked signals in " + task);
  }

  private Map<String, String> settings() {
    return CLUSTER.settings(client);
  }

  private CacheStore open() {
    CacheStore store = open(settings(), StoreContext.of("mooncake-drill"));
    stores.add(store);
    return store;
  }

  private static CacheStore open(Map<String, String> settings, StoreContext context) {
    return MooncakeStore.open(ScriptedStore.settings(settings, Map.of()), context);
  }

  private static StoreFailure existsFailure(CacheStore store) {
    BatchResult result = store.exists(List.of(key("drill-0")), Deadline.after(DEADLINE));
    assertThat(result.status(0)).isEqualTo(ObjectStatus.FAILED);
    return result.failure(0);
  }
}
