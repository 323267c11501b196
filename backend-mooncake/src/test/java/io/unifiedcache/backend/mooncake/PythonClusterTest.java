package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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
  void calls_ofTwoThreads_runBesideEachOther() throws Exception {
    MooncakeClient client = client(0, false);
    try {
      assertThat(client.put(object("shared"))).containsExactly(0);
      CompletableFuture<Void> other =
          CompletableFuture.runAsync(() -> readOften(client, memory.address() + BYTES));
      readOften(client, memory.address() + 2 * BYTES);
      assertThat(other.get(1, TimeUnit.MINUTES)).isNull();
      assertThat(memory.asSlice(BYTES, 2 * BYTES).mismatch(memory.asSlice(0, 2 * BYTES)))
          .isEqualTo(-1);
    } finally {
      client.close();
    }
  }

  private static void readOften(MooncakeClient client, long address) {
    try {
      for (int i = 0; i < 200; i++) {
        assertThat(client.get(new Transfer(1, 1).object("shared").piece(address, BYTES)))
            .containsExactly(BYTES);
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
        List.of());
  }
}
