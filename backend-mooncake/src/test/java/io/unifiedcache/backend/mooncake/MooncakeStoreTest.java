package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.ScriptedStore.bytes;
import static io.unifiedcache.backend.mooncake.ScriptedStore.get;
import static io.unifiedcache.backend.mooncake.ScriptedStore.key;
import static io.unifiedcache.backend.mooncake.ScriptedStore.pieces;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static io.unifiedcache.backend.mooncake.ScriptedStore.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a cluster cannot be made to do whenever a test wants it. */
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MooncakeStoreTest {
  private final ScriptedClient client = new ScriptedClient();
  private final MooncakeStore store = ScriptedStore.over(client, Map.of("staging", "1MiB"));

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void put_otherWriterIsAtIt_isLookedForAgainThenBusy() {
    client.putScript = key -> 0L;
    client.sizesScript = key -> Answers.REPLICA_NOT_READY;
    BatchResult result = store.put(List.of(put("a", 1, 100)), soon());
    StoreFailure failure = failure(result, 0, FailureCode.BUSY);
    assertThat(failure.retryable()).isTrue();
    assertThat(failure.message()).contains("put answered 0, but it is not there", "writer");
    assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
    // Put again, it could be stored twice with a removal in between.
    assertThat(client.calls).containsOnlyOnce("put").containsSubsequence("put", "exists", "exists");
    assertThat(store.stats().stored()).isZero();
  }

  @Test
  void put_objectIsRemovedAtOnce_isBusyWithoutAnotherLook() {
    client.putScript = key -> 0L;
    BatchResult result = store.put(List.of(put("a", 1, 100)), soon());
    StoreFailure failure = failure(result, 0, FailureCode.BUSY);
    assertThat(failure.retryable()).isTrue();
    assertThat(failure.message()).contains("put answered 0, but it is not there", "removed");
    assertThat(client.calls).containsExactly("put", "exists", "sizes");
  }

  @Test
  void put_otherWriterEndsWhileItIsLookedFor_isOk() {
    client.putScript = key -> 0L;
    client.sizesScript = key -> 100L;
    assertThat(store.put(List.of(put("a", 1, 100)), soon()).isOk(0)).isTrue();
  }

  @Test
  void put_sizeAfterIsNotKnown_failsWithItsNumber() {
    client.putScript = key -> 0L;
    client.sizesScript = key -> Answers.RPC_FAILED;
    BatchResult result = store.put(List.of(put("a", 1, 100)), soon());
    assertThat(failure(result, 0, FailureCode.UNREACHABLE).message()).contains("-900");
  }

  @Test
  void put_otherWriterEnds_isOk() {
    AtomicInteger looks = new AtomicInteger();
    client.putScript = key -> 0L;
    client.sizesScript = key -> Answers.REPLICA_NOT_READY;
    client.existsScript = key -> looks.incrementAndGet() == 3 ? 1L : 0L;
    BatchResult result = store.put(List.of(put("a", 1, 100)), soon());
    assertThat(result.status(0)).isEqualTo(ObjectStatus.OK);
    assertThat(looks).hasValue(3);
  }

  @Test
  void put_noRoomForAMoment_isTriedAgain() {
    AtomicInteger puts = new AtomicInteger();
    client.putScript =
        key -> key.equals("b") && puts.incrementAndGet() < 3 ? Answers.NO_SPACE : null;
    BatchResult result = store.put(List.of(put("a", 1, 10), put("b", 2, 10)), soon());
    assertThat(result.count(ObjectStatus.OK)).isEqualTo(2);
    assertThat(puts).hasValue(3);
    assertThat(client.objects).containsOnlyKeys("a", "b");
  }

  @Test
  void put_noRoomForLong_failsWithinABound() {
    AtomicInteger puts = new AtomicInteger();
    client.putScript =
        key -> {
          puts.incrementAndGet();
          return Answers.NO_SPACE;
        };
    BatchResult result = store.put(List.of(put("a", 1, 10)), soon());
    StoreFailure failure = failure(result, 0, FailureCode.NO_SPACE);
    assertThat(failure.message()).contains("-200");
    assertThat(failure.retryable()).isTrue();
    assertThat(puts).hasValue(6);
  }

  @Test
  void put_withoutBytes_isRefusedBeforeMooncakeIsAsked() {
    BatchResult result = store.put(List.of(put("a", 1, 0), put("b", 1, 4)), soon());
    failure(result, 0, FailureCode.REFUSED);
    assertThat(result.isOk(1)).isTrue();
    assertThat(client.objects).containsOnlyKeys("b");
  }

  @Test
  void put_sameKeyTwice_firstWins() {
    BatchResult result = store.put(List.of(put("a", 1, 4), put("a", 2, 4)), soon());
    assertThat(result.count(ObjectStatus.OK)).isEqualTo(2);
    assertThat(client.objects.get("a")).containsOnly(1);
  }

  @Test
  void get_sameKeyTwice_fillsBoth() {
    client.objects.put("a", new byte[] {1, 2, 3, 4});
    GetOp first = get("a", 4);
    GetOp second = get("a", 1, 3);
    BatchResult result = store.get(List.of(first, second, get("a", 5)), soon());
    assertThat(result.isOk(0)).isTrue();
    assertThat(result.isOk(1)).isTrue();
    failure(result, 2, FailureCode.SIZE_MISMATCH);
    assertThat(bytes(first.pieces())).containsExactly(1, 2, 3, 4);
    assertThat(bytes(second.pieces())).containsExactly(1, 2, 3, 4);
  }

  @Test
  void get_severalPieces_goesThroughRegisteredMemory() {
    store.put(List.of(put("a", 7, 3, 5)), soon());
    assertThat(client.objects.get("a")).hasSize(8).containsOnly(7);
    assertThat(client.registered).hasSize(1);
    GetOp op = get("a", 1, 0, 7);
    assertThat(store.get(List.of(op), soon()).isOk(0)).isTrue();
    assertThat(bytes(op.pieces())).hasSize(8).containsOnly(7);
  }

  @Test
  void get_severalPiecesBeyondTheStaging_isCut() {
    List<PutOp> puts = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      puts.add(put("k" + i, i, 100_000, 3));
    }
    assertThat(store.put(puts, soon()).count(ObjectStatus.OK)).isEqualTo(20);
    List<GetOp> gets = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      gets.add(get("k" + i, 3, 100_000));
    }
    assertThat(store.get(gets, soon()).count(ObjectStatus.OK)).isEqualTo(20);
    for (int i = 0; i < 20; i++) {
      assertThat(bytes(gets.get(i).pieces())).containsOnly(i);
    }
    assertThat(client.registered).hasSize(1);
  }

  @Test
  void pieces_moreThanTheStaging_takeNoMemoryBeyondIt() {
    assertThat(
            failure(store.put(List.of(put("a", 1, 1 << 20, 1)), soon()), 0, FailureCode.NO_SPACE))
        .extracting(StoreFailure::message)
        .asString()
        .contains("1048577 bytes are more than the 1048576", "set staging to more");
    client.objects.put("small", new byte[128]);
    client.objects.put("large", new byte[(1 << 20) + 1]);
    failure(store.get(List.of(get("small", 1 << 20, 1)), soon()), 0, FailureCode.SIZE_MISMATCH);
    failure(store.get(List.of(get("large", 1 << 20, 1)), soon()), 0, FailureCode.NO_SPACE);
    assertThat(store.get(List.of(get("none", 1 << 20, 1)), soon()).status(0))
        .isEqualTo(ObjectStatus.ABSENT);
    assertThat(client.registered).isEmpty();
    assertThat(client.calls).doesNotContain("get", "put");
  }

  @Test
  void get_ofOtherSize_isMismatch() {
    client.objects.put("a", new byte[10]);
    BatchResult result =
        store.get(List.of(get("a", 9), get("a", 11), get("a", 0), get("b", 0)), soon());
    assertThat(failure(result, 0, FailureCode.SIZE_MISMATCH).memory())
        .isEqualTo(MemoryState.UNTOUCHED);
    assertThat(failure(result, 1, FailureCode.SIZE_MISMATCH).memory()).isEqualTo(MemoryState.DIRTY);
    failure(result, 2, FailureCode.SIZE_MISMATCH);
    assertThat(result.status(3)).isEqualTo(ObjectStatus.ABSENT);
  }

  @Test
  void get_leaseRanOut_isDirtyAndMayPass() {
    client.getScript = key -> Answers.LEASE_EXPIRED;
    StoreFailure failure =
        failure(store.get(List.of(get("a", 4)), soon()), 0, FailureCode.LEASE_EXPIRED);
    assertThat(failure.memory()).isEqualTo(MemoryState.DIRTY);
    assertThat(failure.retryable()).isTrue();
    assertThat(store.stats().bytesRead()).isZero();
  }

  @Test
  void get_notComplete_isAbsent() {
    client.getScript = key -> Answers.REPLICA_NOT_READY;
    assertThat(store.get(List.of(get("a", 4)), soon()).status(0)).isEqualTo(ObjectStatus.ABSENT);
  }

  @Test
  void get_transferFailed_keepsMemoryInUseUntilTheClientIsClosed() {
    client.getScript = key -> key.equals("a") ? failAfterWaiting() : null;
    client.objects.put("b", new byte[4]);
    BatchResult result = store.get(List.of(get("a", 4), get("b", 4)), soon());
    StoreFailure failure = failure(result, 0, FailureCode.UNREACHABLE);
    assertThat(result.isOk(1)).isTrue();
    CompletableFuture<?> released = released(failure);
    assertThat(released).isNotDone();
    store.close();
    assertThat(released).isDone();
  }

  @Test
  void get_transferFailedAtOnce_isDirty() {
    client.getScript = key -> Answers.TRANSFER_FAILED;
    StoreFailure failure =
        failure(store.get(List.of(get("a", 4)), soon()), 0, FailureCode.UNREACHABLE);
    assertThat(failure.memory()).isEqualTo(MemoryState.DIRTY);
    assertThat(failure.message()).contains("-800");
  }

  @Test
  void get_transferFailed_releasesMemoryAfterTheQuarantine() throws Exception {
    try (MooncakeStore brief = ScriptedStore.over(client, Map.of("quarantine", "10ms"))) {
      client.getScript = key -> failAfterWaiting();
      StoreFailure failure =
          failure(brief.get(List.of(get("a", 4)), soon()), 0, FailureCode.UNREACHABLE);
      released(failure).get(30, TimeUnit.SECONDS);
    }
  }

  @Test
  void get_stagedTransferFailed_keepsTheStagingAndNotTheCallersMemory() {
    client.getScript = key -> failAfterWaiting();
    StoreFailure failure =
        failure(store.get(List.of(get("a", 500_000, 500_000)), soon()), 0, FailureCode.UNREACHABLE);
    assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
    client.getScript = key -> null;
    client.objects.put("b", new byte[1_000_000]);
    StoreFailure late =
        failure(
            store.get(List.of(get("b", 500_000, 500_000)), Deadline.after(Duration.ofMillis(100))),
            0,
            FailureCode.TIMEOUT);
    assertThat(late.memory()).isNotEqualTo(MemoryState.DIRTY);
  }

  @Test
  void put_stagingIsNotRegistered_failsAndLeavesNoMemory() {
    Set<Long> addresses = new HashSet<>();
    client.registerScript =
        address -> {
          addresses.add(address);
          return Answers.INVALID_PARAMS;
        };
    try (MooncakeStore wide = ScriptedStore.over(client, Map.of("staging", "64MiB"))) {
      for (int i = 0; i < 6; i++) {
        StoreFailure failure =
            failure(wide.put(List.of(put("a", 1, 1, 1)), soon()), 0, FailureCode.REFUSED);
        assertThat(failure.message()).contains("-600");
      }
      assertThat(addresses).as("what was freed is there again").hasSizeLessThan(6);
      client.registerScript = address -> 0;
      assertThat(wide.put(List.of(put("a", 1, 1, 1)), soon()).isOk(0)).isTrue();
    }
  }

  @Test
  void put_moreThanTheTransportQueues_waitsForThoseBefore() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch stalled = new CountDownLatch(1);
    client.putScript =
        key -> {
          entered.countDown();
          await(stalled);
          return 0L;
        };
    client.existsScript = key -> 1L;
    List<Memory> pieces = pieces(1, 300 << 10);
    List<PutOp> all = new ArrayList<>();
    for (int i = 0; i < Window.TRANSFERS / 2; i++) {
      all.add(new PutOp(key("k" + i), pieces));
    }
    FutureTask<BatchResult> first = begin(() -> store.put(all, soon()));
    assertThat(entered.await(30, TimeUnit.SECONDS)).isTrue();
    StoreFailure failure =
        failure(
            store.put(List.of(put("a", 1, 1)), Deadline.after(Duration.ofMillis(100))),
            0,
            FailureCode.TIMEOUT);
    assertThat(failure.memory()).isEqualTo(MemoryState.UNTOUCHED);
    assertThat(client.calls).containsOnlyOnce("put");
    stalled.countDown();
    assertThat(first.get().count(ObjectStatus.OK)).isEqualTo(all.size());
    assertThat(store.put(List.of(put("a", 1, 1)), soon()).isOk(0)).isTrue();
  }

  @Test
  void get_clientThrows_isFailedAndInDoubt() {
    client.getScript =
        key -> {
          throw new ClientException("batch_get_into answered -1");
        };
    StoreFailure failure =
        failure(store.get(List.of(get("a", 4)), soon()), 0, FailureCode.INTERNAL);
    assertThat(failure.message()).contains("batch_get_into answered -1");
    assertThat(failure.memory()).isInstanceOf(MemoryState.InUse.class);
  }

  @Test
  void get_clientStalls_returnsInTimeAndReleasesMemoryWhenItReturns() throws Exception {
    client.objects.put("a", new byte[] {5});
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch stalled = new CountDownLatch(1);
    client.getScript =
        key -> {
          entered.countDown();
          await(stalled);
          return null;
        };
    StoreFailure failure =
        failure(store.get(List.of(get("a", 1)), onceCalled("get")), 0, FailureCode.TIMEOUT);
    assertThat(entered.getCount()).isZero();
    CompletableFuture<?> released = released(failure);
    assertThat(released).isNotDone();
    stalled.countDown();
    released.get(30, TimeUnit.SECONDS);
  }

  @Test
  void get_noThreadIsFree_isLateAndUntouched() throws Exception {
    CountDownLatch stalled = new CountDownLatch(1);
    try (MooncakeStore narrow = ScriptedStore.over(client, Map.of("io-threads", "1"))) {
      client.getScript =
          key -> {
            await(stalled);
            return null;
          };
      failure(narrow.get(List.of(get("a", 1)), onceCalled("get")), 0, FailureCode.TIMEOUT);
      StoreFailure second =
          failure(narrow.get(List.of(get("b", 1)), brief()), 0, FailureCode.TIMEOUT);
      assertThat(second.memory()).isEqualTo(MemoryState.UNTOUCHED);
      assertThat(narrow.exists(List.of(key("a")), soon()).status(0))
          .as("what moves no bytes does not wait behind what does")
          .isEqualTo(ObjectStatus.ABSENT);
      stalled.countDown();
    }
  }

  @Test
  void close_callStillRunning_closesTheClientAfterIt() throws Exception {
    CountDownLatch stalled = new CountDownLatch(1);
    client.getScript =
        key -> {
          await(stalled);
          assertThat(client.closed).isFalse();
          return null;
        };
    StoreFailure failure =
        failure(store.get(List.of(get("a", 1)), onceCalled("get")), 0, FailureCode.TIMEOUT);
    Thread closing = Thread.ofPlatform().start(store::close);
    closing.join(Duration.ofMillis(200));
    assertThat(client.closed).isFalse();
    stalled.countDown();
    released(failure).get(30, TimeUnit.SECONDS);
    closing.join();
    assertThat(client.closed).isTrue();
  }

  @Test
  void close_whileAnotherCloses_waitsForTheClientToo() throws Exception {
    CountDownLatch stalled = new CountDownLatch(1);
    stallExists(stalled);
    failure(store.exists(List.of(key("a")), onceCalled("exists")), 0, FailureCode.TIMEOUT);
    FutureTask<Boolean> first = begin(this::closeStore);
    awaitClosing();
    FutureTask<Boolean> second = begin(this::closeStore);
    assertThatThrownBy(() -> second.get(200, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    stalled.countDown();
    assertThat(second.get(30, TimeUnit.SECONDS)).as("closed").isTrue();
    assertThat(first.get(30, TimeUnit.SECONDS)).as("closed").isTrue();
  }

  @Test
  void close_callsThatStall_letsTheirCallersGo() throws Exception {
    CountDownLatch stalled = new CountDownLatch(1);
    stallExists(stalled);
    client.getScript =
        key -> {
          await(stalled);
          return null;
        };
    FutureTask<BatchResult> get = begin(() -> store.get(List.of(get("a", 1)), Deadline.never()));
    FutureTask<BatchResult> exists = begin(() -> store.exists(List.of(key("a")), Deadline.never()));
    while (!client.calls.containsAll(List.of("get", "exists"))) {
      Thread.onSpinWait();
    }
    FutureTask<Boolean> closing = begin(this::closeStore);
    CompletableFuture<?> released =
        released(failure(get.get(30, TimeUnit.SECONDS), 0, FailureCode.TIMEOUT));
    failure(exists.get(30, TimeUnit.SECONDS), 0, FailureCode.TIMEOUT);
    assertThat(released).isNotDone();
    assertThat(client.closed).isFalse();
    stalled.countDown();
    assertThat(closing.get(30, TimeUnit.SECONDS)).as("closed").isTrue();
    assertThat(released).isDone();
  }

  private boolean closeStore() {
    store.close();
    return client.closed;
  }

  private void awaitClosing() {
    try {
      while (true) {
        store.exists(List.of(), soon());
      }
    } catch (CacheException e) {
      assertThat(e.code()).isEqualTo(FailureCode.CLOSED);
    }
  }

  private void stallExists(CountDownLatch stalled) {
    client.existsScript =
        key -> {
          await(stalled);
          return null;
        };
  }

  @Test
  void remove_clientStalls_returnsInTime() {
    CountDownLatch stalled = new CountDownLatch(1);
    client.removeScript =
        key -> {
          await(stalled);
          return null;
        };
    failure(
        store.remove(List.of(key("a")), /* evenIfLeased= */ false, brief()),
        0,
        FailureCode.TIMEOUT);
    stalled.countDown();
  }

  @Test
  void clear_clientStalls_returnsInTime() {
    CountDownLatch stalled = new CountDownLatch(1);
    client.clearScript =
        pattern -> {
          await(stalled);
          return null;
        };
    assertThatThrownBy(() -> store.clear(KeyPrefix.EVERYTHING, brief()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));
    stalled.countDown();
  }

  @Test
  void probe_clientStalls_isDownInTime() {
    CountDownLatch stalled = new CountDownLatch(1);
    stallExists(stalled);
    StoreHealth health = store.probe(onceCalled("exists"));
    assertThat(health.state()).isEqualTo(StoreHealth.State.DOWN);
    assertThat(health.detail()).contains("the deadline passed");
    assertThat(client.objects).hasSize(1);
    stalled.countDown();
    store.close();
    assertThat(client.objects).as("what the probe has put, once nobody waits any more").isEmpty();
  }

  @Test
  void clear_answersANumber_failsWithIt() {
    client.clearScript = pattern -> Answers.RPC_FAILED;
    assertThatThrownBy(() -> store.clear(KeyPrefix.of("a"), soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.UNREACHABLE))
        .hasMessageContaining("-900");
  }

  @Test
  void clear_clientEndsUnforeseen_failsWithIt() {
    client.clearScript =
        pattern -> {
          throw new IllegalStateException("beyond all expectation");
        };
    assertThatThrownBy(() -> store.clear(KeyPrefix.of("a"), soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.INTERNAL))
        .hasMessageContaining("beyond all expectation");
  }

  @Test
  void keysAlone_notComplete_areAbsentAndNotRemoved() {
    client.existsScript = key -> Answers.REPLICA_NOT_READY;
    client.removeScript = key -> Answers.REPLICA_NOT_READY;
    assertThat(store.exists(List.of(key("a")), soon()).status(0)).isEqualTo(ObjectStatus.ABSENT);
    StoreFailure failure =
        failure(store.remove(List.of(key("a")), true, soon()), 0, FailureCode.BUSY);
    assertThat(failure.message()).contains("-703");
  }

  @Test
  void remove_leased_isBusyUnlessForced() {
    client.objects.put("a", new byte[1]);
    client.removeScript = key -> client.calls.getLast().equals("remove") ? Answers.LEASED : null;
    StoreFailure failure =
        failure(
            store.remove(List.of(key("a")), /* evenIfLeased= */ false, soon()),
            0,
            FailureCode.BUSY);
    assertThat(failure.retryable()).isTrue();
    BatchResult forced = store.remove(List.of(key("a"), key("a")), true, soon());
    assertThat(forced.status(0)).isEqualTo(ObjectStatus.OK);
    assertThat(forced.status(1)).isEqualTo(ObjectStatus.ABSENT);
  }

  @Test
  void get_removedByForceMeanwhile_isNotOk() {
    client.objects.put("a", new byte[1]);
    client.getScript =
        key -> {
          assertThat(store.remove(List.of(key("a")), true, soon()).isOk(0)).isTrue();
          client.objects.put("a", new byte[] {9});
          return null;
        };
    failure(store.get(List.of(get("a", 1)), soon()), 0, FailureCode.LEASE_EXPIRED);
  }

  @Test
  void probe_allWorks_isUpAndLeavesNothing() {
    StoreHealth health = store.probe(soon());
    assertThat(health.state()).as(health.detail()).isEqualTo(StoreHealth.State.UP);
    assertThat(client.objects).isEmpty();
    assertThat(store.stats().stored()).isZero();
  }

  @Test
  void probe_masterDoesNotAnswer_isDownWithTheNumber() {
    client.existsScript = key -> Answers.RPC_FAILED;
    assertDown("-900", "no master of Mooncake listens at 127.0.0.1:1");
  }

  @Test
  void probe_masterOfAnotherVersion_isDownThoughItAnswersSomeCalls() {
    client.putScript = key -> Answers.RPC_FAILED;
    assertDown("-900", "of another version");
  }

  @Test
  void probe_objectsCannotBeRead_isDown() {
    client.getScript = key -> Answers.TRANSFER_FAILED;
    assertDown("-800");
    client.getScript = key -> Answers.OBJECT_NOT_FOUND;
    assertDown("what was just put is not there");
  }

  @Test
  void probe_otherBytesAreRead_isDown() {
    client.putScript =
        key -> {
          client.objects.put(key, new byte[key.length()]);
          return 0L;
        };
    assertDown("other bytes were read than were put");
  }

  @Test
  void probe_noRoom_isDegraded() {
    client.putScript = key -> Answers.NO_SPACE;
    StoreHealth health = store.probe(soon());
    assertThat(health.state()).isEqualTo(StoreHealth.State.DEGRADED);
    assertThat(health.detail()).contains("nothing can be put", "-200");
  }

  private void assertDown(String... texts) {
    StoreHealth health = store.probe(soon());
    assertThat(health.state()).isEqualTo(StoreHealth.State.DOWN);
    assertThat(health.detail()).contains(texts);
  }

  @Test
  void exists_masterDoesNotAnswer_isFailedAndNotAbsent() {
    client.existsScript = key -> Answers.RPC_FAILED;
    failure(store.exists(List.of(key("a")), soon()), 0, FailureCode.UNREACHABLE);
  }

  @Test
  void clear_prefixWithANul_isRefused() {
    assertThatThrownBy(() -> store.clear(KeyPrefix.of("a\0b"), soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContaining("NUL");
    assertThat(client.calls).isEmpty();
  }

  @Test
  void clear_quotesThePrefix_andFailsWhereNobodyTellsWhatIsLeft() {
    assertThatThrownBy(() -> store.clear(KeyPrefix.of("a.b*(c|d)[e]\\ü^$"), soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.UNREACHABLE))
        .hasMessageContaining("master_metrics_port");
    assertThat(client.calls).contains("remove_by_regex ^a\\.b\\*\\(c\\|d\\)\\[e\\]\\\\ü\\^\\$");
  }

  @Test
  void keys_withNul_areRefused() {
    failure(store.put(List.of(put("a\0b", 1, 1)), soon()), 0, FailureCode.REFUSED);
    failure(store.exists(List.of(key("a\0b")), soon()), 0, FailureCode.REFUSED);
  }

  @Test
  void put_largeBatch_isCutIntoChunks() {
    List<PutOp> puts = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      puts.add(put("k" + i, 1, 1));
    }
    assertThat(store.put(puts, soon()).count(ObjectStatus.OK)).isEqualTo(3000);
    assertThat(client.calls.stream().filter("put"::equals)).hasSizeGreaterThan(5);
  }

  @Test
  void put_groupsThatTheClientIgnores_areSpokenOfOnce() {
    List<String> said = new ArrayList<>();
    try (MooncakeStore ungrouped =
        ScriptedStore.over(client, Map.of(), new IgnoredGroups(said::add))) {
      assertThat(ungrouped.put(List.of(put("a", 1, 1)), soon()).isOk(0)).isTrue();
      assertThat(said).as("of objects without a group").isEmpty();
      for (String key : List.of("b", "c")) {
        PutOp grouped = new PutOp(key(key), pieces(1, 1), Optional.of("the group"));
        assertThat(ungrouped.put(List.of(grouped), soon()).isOk(0)).isTrue();
      }
    }
    assertThat(said).singleElement().asString().contains("the group").contains("client=python");
  }

  @Test
  void capabilities_ofAClientOfWholeObjects() {
    assertThat(store.capabilities())
        .containsExactlyInAnyOrder(Capability.REMOVE, Capability.CLEAR, Capability.SHARED);
  }

  @Test
  void unregisteredMemory_isStagedWhereTheTransportNeedsIt() {
    try (MooncakeStore rdma =
        ScriptedStore.over(client, Map.of("protocol", "rdma", "staging", "1MiB"))) {
      List<Memory> pieces = pieces(3, 100);
      assertThat(rdma.put(List.of(new PutOp(key("a"), pieces)), soon()).isOk(0)).isTrue();
      assertThat(client.registered).as("the staging").hasSize(1);
      Registration registration = rdma.register(pieces.getFirst());
      assertThat(client.registered).hasSize(2);
      assertThat(rdma.capabilities()).contains(Capability.DEVICE_MEMORY);
      registration.close();
      assertThat(client.registered).hasSize(1);
    }
  }

  private static StoreFailure failure(BatchResult result, int i, FailureCode code) {
    assertThat(result.status(i)).isEqualTo(ObjectStatus.FAILED);
    assertThat(result.failure(i).code()).as(result.failure(i).message()).isEqualTo(code);
    return result.failure(i);
  }

  private static CompletableFuture<?> released(StoreFailure failure) {
    assertThat(failure.memory()).isInstanceOf(MemoryState.InUse.class);
    return ((MemoryState.InUse) failure.memory()).released().toCompletableFuture();
  }

  /** Does as Mooncake does when a transfer makes no progress: waits, if not a minute long. */
  private static long failAfterWaiting() {
    try {
      assertThat(new CountDownLatch(1).await(1100, TimeUnit.MILLISECONDS)).isFalse();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return Answers.TRANSFER_FAILED;
  }

  /** Returns a deadline that passes once the client is in a call. */
  private Deadline onceCalled(String name) {
    return ScriptedStore.once(() -> client.calls.contains(name));
  }

  /** A deadline that is met. */
  private static Deadline brief() {
    return Deadline.after(Duration.ofMillis(50));
  }

  private static <T> FutureTask<T> begin(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread.ofPlatform().daemon().start(task);
    return task;
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
