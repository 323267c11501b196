package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.ScriptedStore.bytes;
import static io.unifiedcache.backend.mooncake.ScriptedStore.key;
import static io.unifiedcache.backend.mooncake.ScriptedStore.pieces;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static io.unifiedcache.backend.mooncake.ScriptedStore.soon;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A cluster that moves objects to an SSD when its memory is full. */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PythonSsdTest {
  private static final int OBJECTS = 64;
  private static final int BYTES = 1 << 20;

  /** How many are put at once, less than the memory holds. */
  private static final int BATCH = 16;

  @TempDir Path folder = Path.of("set by JUnit");

  @RegisterExtension
  static final MooncakeCluster CLUSTER =
      MooncakeCluster.withLeases(4_000).segment(32 << 20).withSsd();

  @Test
  void openSession_objectsOnTheSsd_areReadAndStay() {
    try (CacheStore store = open(CLUSTER.settings(Choice.PYTHON))) {
      // What is put before the SSD is mounted stays in memory.
      AtomicInteger warm = new AtomicInteger();
      CLUSTER.await(
          "objects are moved to the SSD",
          () ->
              store.put(List.of(put("warm-" + warm.incrementAndGet(), 1, 1000)), soon()).isOk(0)
                  && CLUSTER.onSsd("warm-") > 0);
      List<ObjectKey> keys = new ArrayList<>();
      for (int i = 0; i < OBJECTS; i++) {
        int number = i;
        keys.add(key("ssd-" + i));
        CLUSTER.await(
            "object " + i + " is stored",
            () -> store.put(List.of(put("ssd-" + number, number, BYTES)), soon()).isOk(0));
        int stored = i + 1;
        if (stored % BATCH == 0) {
          CLUSTER.await(stored + " objects are on the SSD", () -> CLUSTER.onSsd("ssd-") >= stored);
        }
      }
      assertThat(store.exists(keys, soon()).count(ObjectStatus.OK)).isEqualTo(OBJECTS);
      try (ReadSession session = store.openSession(keys, soon())) {
        assertThat(session.opened().count(ObjectStatus.OK)).isEqualTo(OBJECTS);
        for (int layer = 0; layer < 4; layer++) {
          List<Memory> targets = new ArrayList<>();
          List<ReadOp> reads = new ArrayList<>();
          for (int i = 0; i < OBJECTS; i++) {
            assertThat(session.size(i)).isEqualTo(BYTES);
            Memory target = pieces(-1, 1000).getFirst();
            targets.add(target);
            reads.add(new ReadOp(i, List.of(new Range((BYTES - 1000L) / 3 * layer, target))));
          }
          BatchResult result = session.read(reads, soon());
          assertThat(result.count(ObjectStatus.OK)).as(result.toString()).isEqualTo(OBJECTS);
          for (int i = 0; i < OBJECTS; i++) {
            assertThat(bytes(List.of(targets.get(i)))).containsOnly(i);
          }
        }
      }
      assertThat(store.exists(keys, soon()).count(ObjectStatus.OK)).isEqualTo(OBJECTS);
    }
  }

  @Test
  void enableSsdOffload_eachStoreHasADirectoryOfItsOwn() {
    Map<String, String> settings = new TreeMap<>(CLUSTER.settings(Choice.PYTHON));
    settings.put("global_segment_size", "32MiB");
    settings.put("ranks", "2");
    settings.put("enable_ssd_offload", "true");
    settings.put("ssd_offload_path", folder.toString());
    settings.put("check_server", "true");
    try (CacheStore first = open(settings);
        CacheStore second = open(settings)) {
      assertThat(folder.resolve("client-0")).isDirectory();
      assertThat(folder.resolve("client-1")).isDirectory();
      AtomicInteger own = new AtomicInteger();
      CLUSTER.await(
          "objects in the memory of a store are moved to its directory",
          () -> {
            BatchResult unused =
                first.put(List.of(put("own-" + own.incrementAndGet(), 1, BYTES)), soon());
            return MooncakeCluster.files(folder, "own-") > 0;
          });
      assertThat(second.probe(soon()).state()).isNotEqualTo(StoreHealth.State.DOWN);
    }
    try (CacheStore next = open(settings)) {
      assertThat(next.probe(soon()).state()).isNotEqualTo(StoreHealth.State.DOWN);
      assertThat(folder.resolve("client-2")).doesNotExist();
    }
  }

  private static CacheStore open(Map<String, String> settings) {
    return MooncakeStore.open(
        ScriptedStore.settings(settings, Map.of()), StoreContext.of("mooncake-ssd"));
  }
}
