package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.ScriptedStore.bytes;
import static io.unifiedcache.backend.mooncake.ScriptedStore.key;
import static io.unifiedcache.backend.mooncake.ScriptedStore.once;
import static io.unifiedcache.backend.mooncake.ScriptedStore.pieces;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static io.unifiedcache.backend.mooncake.ScriptedStore.soon;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a session does when its calls are late, and when objects go while they are read. */
class MooncakeSessionTest {
  private static final int BYTES = 100;

  private final ScriptedReader client = new ScriptedReader();
  private final MooncakeStore store = ScriptedStore.over(client, Map.of());
  private final CountDownLatch stalled = new CountDownLatch(1);

  @AfterEach
  void close() {
    stalled.countDown();
    store.close();
  }

  private ReadSession open(String key) {
    assertThat(store.put(List.of(put(key, 1, BYTES)), soon()).isOk(0)).isTrue();
    ReadSession session = store.openSession(List.of(key(key)), soon());
    assertThat(session.opened().isOk(0)).isTrue();
    return session;
  }

  private static BatchResult read(ReadSession session, List<Memory> target, Deadline by) {
    return session.read(List.of(new ReadOp(0, List.of(new Range(0, target.getFirst())))), by);
  }

  private void stall() {
    try {
      assertThat(stalled.await(1, TimeUnit.MINUTES)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private String nextEnded() throws InterruptedException {
    return String.valueOf(client.ended.poll(30, TimeUnit.SECONDS));
  }

  @Test
  void close_letsGoOfWhatIsOpen() throws Exception {
    ReadSession session = open("a");
    List<Memory> target = pieces(0, BYTES);
    assertThat(read(session, target, soon()).isOk(0)).isTrue();
    assertThat(bytes(target)).containsOnly(1);
    assertThat(client.ended).isEmpty();
    session.close();
    assertThat(nextEnded()).isEqualTo("a");
  }

  @Test
  void close_whileALateReadIsAtWork_waitsForItsEnd() throws Exception {
    ReadSession session = open("a");
    CountDownLatch reading = new CountDownLatch(1);
    client.beforeRanges =
        () -> {
          reading.countDown();
          stall();
        };
    BatchResult result = read(session, pieces(0, BYTES), once(() -> reading.getCount() == 0));
    assertThat(result.failure(0).code()).isEqualTo(FailureCode.TIMEOUT);
    session.close();
    // What is let go of later is let go of in order.
    ReadSession second = open("b");
    second.close();
    assertThat(nextEnded()).isEqualTo("b");
    assertThat(client.open).containsOnlyKeys("a");
    stalled.countDown();
    assertThat(nextEnded()).isEqualTo("a");
  }

  @Test
  void openSession_late_isTimeoutAndIsLetGoOfInTheEnd() throws Exception {
    assertThat(store.put(List.of(put("a", 1, BYTES)), soon()).isOk(0)).isTrue();
    client.startScript =
        key -> {
          stall();
          return null;
        };
    ReadSession session =
        store.openSession(List.of(key("a")), once(() -> client.started.contains("a")));
    assertThat(session.opened().failure(0).code()).isEqualTo(FailureCode.TIMEOUT);
    session.close();
    stalled.countDown();
    assertThat(nextEnded()).isEqualTo("a");
    assertThat(client.open).isEmpty();
  }

  @Test
  void openSession_sameKeyTwice_readsEither() throws Exception {
    assertThat(store.put(List.of(put("a", 1, BYTES)), soon()).isOk(0)).isTrue();
    ReadSession session = store.openSession(List.of(key("a"), key("a")), soon());
    assertThat(session.opened().count(ObjectStatus.OK)).isEqualTo(2);
    List<Memory> target = pieces(0, BYTES);
    BatchResult result =
        session.read(List.of(new ReadOp(1, List.of(new Range(0, target.getFirst())))), soon());
    assertThat(result.isOk(0)).isTrue();
    session.close();
    assertThat(nextEnded()).isEqualTo("a");
    assertThat(client.ended).isEmpty();
  }

  @Test
  void read_whileTheObjectIsRemovedByForce_isNotTaken() {
    ReadSession session = open("a");
    client.beforeRanges = () -> store.remove(List.of(key("a")), /* evenIfLeased= */ true, soon());
    BatchResult result = read(session, pieces(0, BYTES), soon());
    assertThat(result.failure(0).code()).isEqualTo(FailureCode.LEASE_EXPIRED);
    assertThat(result.failure(0).memory()).isEqualTo(MemoryState.DIRTY);
    client.beforeRanges = () -> {};
    BatchResult after = read(session, pieces(0, BYTES), soon());
    assertThat(after.failure(0).code()).isEqualTo(FailureCode.LEASE_EXPIRED);
    assertThat(after.failure(0).memory()).isEqualTo(MemoryState.UNTOUCHED);
    session.close();
  }

  @Test
  void read_afterTheLease_isFailed_andANewSessionReadsWhatIsThere() {
    MooncakeStore shortLeases = ScriptedStore.over(client, Map.of("default_kv_lease_ttl", "1ms"));
    try {
      assertThat(shortLeases.put(List.of(put("a", 1, BYTES)), soon()).isOk(0)).isTrue();
      ReadSession idle = shortLeases.openSession(List.of(key("a")), soon());
      pass(Duration.ofMillis(2));
      client.objects.put("a", new byte[] {2});
      List<Memory> target = pieces(0, 1);
      // A lease of a millisecond may run out between opening and reading.
      while (!readAnew(shortLeases, target)) {
        Thread.onSpinWait();
      }
      assertThat(bytes(target)).containsExactly(2);
      BatchResult late = read(idle, pieces(0, 1), soon());
      assertThat(late.failure(0).code()).isEqualTo(FailureCode.LEASE_EXPIRED);
      assertThat(late.failure(0).retryable()).isTrue();
      idle.close();
    } finally {
      shortLeases.close();
    }
  }

  @Test
  void read_objectThatIsNotInMemory_isServedFromOneWholeRead() {
    client.objects.put("disk", new byte[] {1, 2, 3, 4, 5, 6});
    client.objects.put("memory", new byte[] {7, 8});
    client.startScript = key -> key.equals("disk") ? Answers.NOT_IN_MEMORY : null;
    ReadSession session = store.openSession(List.of(key("disk"), key("memory")), soon());
    assertThat(session.opened().count(ObjectStatus.OK)).isEqualTo(2);
    assertThat(session.size(0)).isEqualTo(6);
    assertThat(session.size(1)).isEqualTo(2);
    for (int layer = 0; layer < 3; layer++) {
      List<Memory> targets = pieces(0, 1, 1, 1);
      BatchResult result =
          session.read(
              List.of(
                  new ReadOp(
                      0,
                      List.of(
                          new Range(layer + 3, targets.get(0)), new Range(layer, targets.get(1)))),
                  new ReadOp(1, List.of(new Range(1, targets.get(2))))),
              soon());
      assertThat(result.count(ObjectStatus.OK)).isEqualTo(2);
      assertThat(bytes(targets)).containsExactly(layer + 4, layer + 1, 8);
    }
    assertThat(client.calls).containsOnlyOnce("get");
    List<Memory> beyond = pieces(0, 2);
    BatchResult larger =
        session.read(List.of(new ReadOp(0, List.of(new Range(5, beyond.getFirst())))), soon());
    assertThat(larger.failure(0).code()).isEqualTo(FailureCode.SIZE_MISMATCH);
    session.close();
    store.close();
    assertThat(client.ended).containsExactly("memory");
  }

  @Test
  void read_keyOfAnObjectThatIsNotInMemory_isOfAnotherByNow() {
    try (MooncakeStore longLeases =
        ScriptedStore.over(client, Map.of("default_kv_lease_ttl", "1h"))) {
      client.objects.put("a", new byte[] {1, 2, 3});
      client.startScript = key -> Answers.NOT_IN_MEMORY;
      ReadSession session = longLeases.openSession(List.of(key("a")), soon());
      client.objects.put("a", new byte[] {4});
      BatchResult other = read(session, pieces(0, 1), soon());
      assertThat(other.failure(0).code())
          .as("another object has its key")
          .isEqualTo(FailureCode.LEASE_EXPIRED);
      client.objects.remove("a");
      assertThat(read(session, pieces(0, 1), soon()).status(0)).isEqualTo(ObjectStatus.ABSENT);
      session.close();
    }
  }

  @Test
  void read_objectThatIsNotInMemory_leaseRunsOutBeforeItsTurn_isNotTaken() {
    client.objects.put("first", new byte[1 << 20]);
    client.objects.put("second", new byte[1 << 20]);
    client.startScript = key -> Answers.NOT_IN_MEMORY;
    // Only one at a time finds room to be copied.
    try (MooncakeStore narrow =
        ScriptedStore.over(client, Map.of("staging", "1MiB", "default_kv_lease_ttl", "500ms"))) {
      ReadSession session = narrow.openSession(List.of(key("first"), key("second")), soon());
      client.getScript =
          key -> {
            if (key.equals("first")) {
              pass(Duration.ofMillis(501));
              byte[] other = new byte[1 << 20];
              other[0] = 7;
              client.objects.put("second", other);
            }
            return null;
          };
      List<Memory> targets = pieces(0, 1, 1);
      BatchResult result =
          session.read(
              List.of(
                  new ReadOp(0, List.of(new Range(0, targets.get(0)))),
                  new ReadOp(1, List.of(new Range(0, targets.get(1))))),
              soon());
      assertThat(result.failure(1).code()).isEqualTo(FailureCode.LEASE_EXPIRED);
      assertThat(bytes(targets)).containsOnly(0);
      session.close();
    }
  }

  @Test
  void read_objectThatIsLargerThanTheStaging_saysWhichSettingToRaise() {
    client.objects.put("disk", new byte[(1 << 20) + 1]);
    client.startScript = key -> Answers.NOT_IN_MEMORY;
    try (MooncakeStore narrow = ScriptedStore.over(client, Map.of("staging", "1MiB"))) {
      ReadSession session = narrow.openSession(List.of(key("disk")), soon());
      BatchResult result = read(session, pieces(0, 1), soon());
      assertThat(result.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
      assertThat(result.failure(0).message()).contains("set staging to more");
      session.close();
    }
  }

  @Test
  void read_whileTheLeaseRunsOutAndOthersOpenAnew_isNotTaken() {
    MooncakeStore shortLeases = ScriptedStore.over(client, Map.of("default_kv_lease_ttl", "100ms"));
    try {
      assertThat(shortLeases.put(List.of(put("a", 1, BYTES)), soon()).isOk(0)).isTrue();
      ReadSession session = shortLeases.openSession(List.of(key("a")), soon());
      client.beforeRanges =
          () -> {
            pass(Duration.ofMillis(101));
            shortLeases.openSession(List.of(key("a")), soon()).close();
            client.beforeRanges = () -> {};
          };
      BatchResult result = read(session, pieces(0, BYTES), soon());
      assertThat(result.failure(0).code()).isEqualTo(FailureCode.LEASE_EXPIRED);
      session.close();
    } finally {
      shortLeases.close();
    }
  }

  /** Lets time pass that Mooncake would count. */
  private static void pass(Duration time) {
    Deadline over = Deadline.after(time);
    while (!over.hasPassed()) {
      Thread.onSpinWait();
    }
  }

  private static boolean readAnew(MooncakeStore store, List<Memory> target) {
    try (ReadSession session = store.openSession(List.of(key("a")), soon())) {
      return session.opened().isOk(0) && read(session, target, soon()).isOk(0);
    }
  }
}
