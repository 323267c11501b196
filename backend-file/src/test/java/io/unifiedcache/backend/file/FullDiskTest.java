package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a store does when the disk, or its quota, has no room. */
class FullDiskTest {
  private static final int BYTES = 100_000;

  @TempDir Path folder = Path.of("set by JUnit");

  @Test
  void fullDisk_isNoSpaceWithoutObjectsToEvictAndLeavesNothing() {
    TestDisk disk = new TestDisk();
    try (FileStore store = Stores.open(disk, folder.resolve("store"), Map.of())) {
      disk.room = 0;
      for (int i = 0; i < 10; i++) {
        BatchResult result = Stores.put(store, "key-" + i, Stores.bytes(BYTES, i));
        assertThat(result.status(0)).isEqualTo(ObjectStatus.FAILED);
        assertThat(result.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
        assertThat(Stores.exists(store, "key-" + i)).isFalse();
      }
      assertThat(store.stats().liveBytes()).isZero();
      disk.room = Long.MAX_VALUE;
      for (int i = 0; i < 10; i++) {
        Stores.putOk(store, "key-" + i, Stores.bytes(BYTES, i));
        Stores.expect(store, "key-" + i, Stores.bytes(BYTES, i));
      }
    }
  }

  @Test
  void fullDisk_givesTheRoomOfOldObjectsToNewOnes() {
    TestDisk disk = new TestDisk();
    try (FileStore store = Stores.open(disk, folder.resolve("store"), Map.of())) {
      for (int i = 0; i < 10; i++) {
        Stores.putOk(store, "key-" + i, Stores.bytes(BYTES, i));
      }
      // Enough for the log, and not for one more object.
      disk.room = BYTES / 2;
      for (int i = 10; i < 30; i++) {
        Stores.putOk(store, "key-" + i, Stores.bytes(BYTES, i));
        Stores.expect(store, "key-" + i, Stores.bytes(BYTES, i));
      }
      assertThat(store.stats().evicted()).isEqualTo(20);
      assertThat(store.stats().liveBytes()).isEqualTo(10L * BYTES);
    }
  }

  @Test
  void fullLog_takesTheRoomThatIsKeptForIt_thenFailsThePutAndLeavesNothing() {
    TestDisk disk = new TestDisk();
    Path root = folder.resolve("store");
    try (FileStore store = Stores.open(disk, root, Map.of())) {
      Stores.putOk(store, "first", Stores.bytes(BYTES, 1));
      assertThat(Stores.remove(store, "first")).isEqualTo(ObjectStatus.OK);
      // The extent is written already; the log is not.
      disk.room = 10;
      Stores.putOk(store, "second", Stores.bytes(BYTES, 2));
      Stores.expect(store, "second", Stores.bytes(BYTES, 2));
      assertThat(Stores.remove(store, "second")).isEqualTo(ObjectStatus.OK);
      // Others have taken what was left of the room that was kept.
      disk.room = 10;
      BatchResult result = Stores.put(store, "third", Stores.bytes(BYTES, 2));
      assertThat(Stores.describe(result)).startsWith("FAILED NO_SPACE");
      assertThat(Stores.exists(store, "third")).isFalse();
      disk.room = Long.MAX_VALUE;
      Stores.putOk(store, "third", Stores.bytes(BYTES, 3));
      Stores.expect(store, "third", Stores.bytes(BYTES, 3));
    }
    try (FileStore store = Stores.open(root)) {
      Stores.expect(store, "third", Stores.bytes(BYTES, 3));
      assertThat(store.stats().objects()).isEqualTo(1);
    }
  }

  @Test
  void lowWatermark_isKeptFreeAfterCalls() {
    Path root = folder.resolve("store");
    try (FileStore store =
        Stores.open(root, Map.of("capacity", "1MiB", "low-watermark", "256KiB"))) {
      for (int i = 0; i < 1024 * 1024 / BYTES; i++) {
        Stores.putOk(store, "key-" + i, Stores.bytes(BYTES, i));
      }
      // Upkeep comes after calls, once a second.
      Deadline by = Deadline.after(Duration.ofSeconds(20));
      while (store.stats().liveBytes() > 768 << 10 && !by.hasPassed()) {
        LockSupport.parkNanos(1_000_000);
        assertThat(Stores.exists(store, "never")).isFalse();
      }
      long live = store.stats().liveBytes();
      assertThat(live).isBetween((768L << 10) - BYTES, 768L << 10);
      assertThat(Stores.exists(store, "key-0")).as("what was unused for longest").isFalse();
      long last = 1024 * 1024 / BYTES - 1;
      assertThat(Stores.exists(store, "key-" + last)).as("what was put last").isTrue();
      assertThat(store.stats().evicted()).isEqualTo(last + 1 - store.stats().objects());
    }
  }

  @Test
  void lowWatermark_beyondTheCapacity_isRefused() {
    assertThatThrownBy(
            () ->
                Stores.open(
                    folder.resolve("store"), Map.of("capacity", "1MiB", "low-watermark", "1MiB")))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("low-watermark=1MiB")
        .hasMessageContaining("capacity=1MiB");
  }

  @Test
  void minFree_isLeft() {
    TestDisk disk = new TestDisk();
    disk.room = 3_000_000;
    try (FileStore store =
        Stores.open(
            disk,
            folder.resolve("store"),
            Map.of("min-free", "1000000", "capacity", "4MiB", "segment", "4MiB"))) {
      int ok = 0;
      for (int i = 0; i < 100; i++) {
        ok += Stores.put(store, "key-" + i, Stores.bytes(BYTES, i)).isOk(0) ? 1 : 0;
        assertThat(disk.room).isGreaterThan(900_000);
      }
      assertThat(ok).isLessThanOrEqualTo(100);
      assertThat(disk.room).isGreaterThan(900_000);
    }
  }

  @Test
  void smallFileSystem_fillsUpAndServesOn() throws Exception {
    Path mount = Files.createDirectory(folder.resolve("mount"));
    assumeTrue(
        run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", mount.toString()),
        "no file system can be mounted here");
    try {
      try (FileStore store = Stores.open(mount.resolve("store"))) {
        int stored = 0;
        for (int i = 0; i < 300; i++) {
          BatchResult result = Stores.put(store, "key-" + i, Stores.bytes(BYTES, i));
          if (result.isOk(0)) {
            stored++;
            Stores.expect(store, "key-" + i, Stores.bytes(BYTES, i));
          } else {
            assertThat(result.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
            assertThat(Stores.exists(store, "key-" + i)).isFalse();
          }
        }
        assertThat(stored).as("puts into 8 MiB that found room").isGreaterThan(60);
      }
      try (FileStore store = Stores.open(mount.resolve("store"))) {
        assertThat(store.stats().objects()).isGreaterThan(50);
        assertThat(store.stats().liveBytes()).isEqualTo(store.stats().objects() * BYTES);
      }
    } finally {
      run("umount", mount.toString());
    }
  }

  private static boolean run(String... command) throws IOException, InterruptedException {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      return process.waitFor(20, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (IOException e) {
      return false;
    }
  }
}
