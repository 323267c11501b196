package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the Python client does on a cluster that a store does not show. */
class PythonClusterTest {
  @RegisterExtension static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(5_000);

  private static final int BYTES = 1000;

  private final MemorySegment memory = Arena.ofAuto().allocate(4 * BYTES).fill((byte) 7);

  @Test
  void put_withSoftPin_isCountedByTheMaster() throws Exception {
    long before = softPinned();
    MooncakeClient client = client(0, true);
    try {
      assertThat(client.put(object("pinned"))).containsExactly(0);
      assertThat(softPinned()).isEqualTo(before + 1);
    } finally {
      client.close();
    }
  }

  private static long softPinned() {
    Matcher count =
        Pattern.compile("(?m)^master_soft_pin_key_count (\\d+)").matcher(CLUSTER.http("/metrics"));
    assertThat(count.find()).isTrue();
    return Long.parseLong(count.group(1));
  }

  @Test
  void close_clientThatOwnsASegment_takesItAway() throws Exception {
    long before = CLUSTER.http("/get_all_segments").lines().count();
    MooncakeClient client = client(16 << 20, false);
    assertThat(CLUSTER.http("/get_all_segments").lines().count()).isEqualTo(before + 1);
    client.close();
    assertThat(CLUSTER.http("/get_all_segments").lines().count()).isEqualTo(before);
  }

  @Test
  void sessions_partlyStarted_readWhatIsThere() throws Exception {
    var client = (MooncakeClient.Scattering) client(0, false);
    try {
      for (int i = 0; i < BYTES; i++) {
        memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i % 100));
      }
      assertThat(client.put(object("there"))).containsExactly(0);
      List<String> keys = List.of("not-there", "there");
      assertThat(client.startReading(keys)).containsExactly(Answers.OBJECT_NOT_FOUND, 0);
      Transfer ranges =
          new Transfer(1, 2)
              .object("there")
              .range(10, memory.address() + BYTES, 20)
              .range(990, memory.address() + 2 * BYTES, 10);
      assertThat(client.readRanges(ranges)).containsExactly(30);
      assertThat(memory.asSlice(BYTES, 20).mismatch(memory.asSlice(10, 20))).isEqualTo(-1);
      assertThat(memory.asSlice(2 * BYTES, 10).mismatch(memory.asSlice(990, 10))).isEqualTo(-1);
      assertThat(client.endReading(List.of("there"))).isZero();
      assertThat(client.readRanges(ranges)).containsExactly(Answers.INVALID_PARAMS);
    } finally {
      client.close();
    }
  }

  @Test
  void callsOfTwoThreads_oneWaitsForTheOwner_otherIsAnswered() throws Exception {
    MooncakeClient client = client(0, false);
    assertThat(client.put(object("shared"))).containsExactly(0);
    CountDownLatch begun = new CountDownLatch(1);
    FutureTask<long[]> waiting =
        new FutureTask<>(
            () -> {
              begun.countDown();
              return client.get(
                  new Transfer(1, 1).object("shared").piece(memory.address() + BYTES, BYTES));
            });
    FutureTask<Void> answered = new FutureTask<>(() -> askOften(client), null);
    CLUSTER.stopOwner();
    try {
      Thread.ofPlatform().daemon().start(waiting);
      assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
      Thread.ofPlatform().daemon().start(answered);
      assertThat(answered.get(20, TimeUnit.SECONDS)).isNull();
      assertThat(waiting).isNotDone();
    } finally {
      CLUSTER.continueOwner();
    }
    assertThat(waiting.get(2, TimeUnit.MINUTES)).containsExactly(BYTES);
    assertThat(memory.asSlice(BYTES, BYTES).mismatch(memory.asSlice(0, BYTES))).isEqualTo(-1);
    client.close();
  }

  /** Asks for an object for long enough that a call which has begun before is under way. */
  private static void askOften(MooncakeClient client) {
    try {
      for (int i = 0; i < 20; i++) {
        assertThat(client.exists(List.of("shared"))).containsExactly(1);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
    } catch (ClientException e) {
      throw new AssertionError(e);
    }
  }

  private Transfer object(String key) {
    return new Transfer(1, 1).object(key).piece(memory.address(), BYTES);
  }

  private static MooncakeClient client(long segmentBytes, boolean softPin) throws Exception {
    return PythonLibrary.load(Installation.python().toString()).setUp(setup(segmentBytes, softPin));
  }

  private static ClientSetup setup(long segmentBytes, boolean softPin) throws IOException {
    return new ClientSetup(
        "127.0.0.1:" + MooncakeCluster.freePort(),
        "P2PHANDSHAKE",
        segmentBytes,
        16 << 20,
        "tcp",
        "",
        CLUSTER.address(),
        "",
        1,
        softPin,
        false,
        List.of(),
        /* ssdPath= */ null);
  }
}
