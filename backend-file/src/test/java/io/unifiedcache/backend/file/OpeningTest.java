package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.PutOp;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may open a folder, and how stores of one folder live together in one process. */
class OpeningTest {
  @TempDir Path folder = Path.of("set by JUnit");

  private Path root() {
    return folder.resolve("store");
  }

  @Test
  void open_ofAForeignFolder_isRefusedAndChangesNothing() throws IOException {
    Path foreign = Files.createDirectory(folder.resolve("foreign"));
    Files.writeString(foreign.resolve("letter.txt"), "dear");
    assertThatThrownBy(() -> Stores.open(foreign))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining(foreign.toString())
        .hasMessageContaining("letter.txt");
    try (Stream<Path> files = Files.list(foreign)) {
      assertThat(files).hasSize(1);
    }
  }

  @Test
  void open_ofAnotherFormat_isRefusedForGood() throws IOException {
    Stores.open(root()).close();
    Path block = root().resolve(Superblock.NAME);
    for (int version : List.of(0, 1, Superblock.VERSION + 1, -1)) {
      ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(block)).order(ByteOrder.LITTLE_ENDIAN);
      CRC32C sum = new CRC32C();
      sum.update(bytes.putInt(8, version).slice(0, 60));
      Files.write(block, bytes.putInt(60, (int) sum.getValue()).array());
      assertThatThrownBy(() -> Stores.open(root()))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
          .hasMessageContaining("version " + version);
    }
  }

  @Test
  void open_ofADamagedSuperblock_isRefusedWhateverByteItIs() throws IOException {
    Stores.open(root()).close();
    Path block = root().resolve(Superblock.NAME);
    byte[] whole = Files.readAllBytes(block);
    for (int i = 0; i < Superblock.BYTES; i++) {
      byte[] bytes = whole.clone();
      bytes[i] ^= 0x40;
      Files.write(block, bytes);
      assertThatThrownBy(() -> Stores.open(root()))
          .as("byte " + i)
          .isInstanceOf(CacheException.class);
      Files.write(block, Arrays.copyOf(whole, i));
      assertThatThrownBy(() -> Stores.open(root()))
          .as("cut at " + i)
          .isInstanceOf(CacheException.class);
    }
    Files.write(block, whole);
    Stores.open(root()).close();
  }

  @Test
  void stores_ofOneFolder_shareItAndCountApart() {
    try (FileStore two = Stores.open(root(), Map.of("capacity", "1MiB"))) {
      try (FileStore one = Stores.open(root())) {
        Stores.putOk(one, "key", new byte[100]);
        Stores.expect(two, "key", new byte[100]);
        assertThat(Stores.describe(Stores.put(two, "key", new byte[100]))).isEqualTo("PRESENT");
        assertThat(one.stats().stored()).isEqualTo(1);
        assertThat(two.stats().stored()).isZero();
      }
      Stores.expect(two, "key", new byte[100]);
      assertThat(two.stats().capacityBytes()).isEqualTo(1 << 20);
    }
    try (FileStore again = Stores.open(root())) {
      Stores.expect(again, "key", new byte[100]);
    }
  }

  @Test
  void exclusive_refusesOthersNamingTheHolder() {
    String pid = Long.toString(ProcessHandle.current().pid());
    try (FileStore holder = Stores.open(root(), Map.of("mode", "exclusive"))) {
      for (String mode : List.of("shared", "exclusive")) {
        assertThatThrownBy(() -> Stores.open(root(), Map.of("mode", mode)))
            .isInstanceOfSatisfying(
                CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.BUSY))
            .hasMessageContaining(pid)
            .hasMessageContaining("file-test");
      }
      Stores.putOk(holder, "key", new byte[1]);
    }
    try (FileStore shared = Stores.open(root())) {
      assertThatThrownBy(() -> Stores.open(root(), Map.of("mode", "exclusive")))
          .hasMessageContaining(pid);
      Stores.expect(shared, "key", new byte[1]);
    }
  }

  @Test
  void folderInUseByAnotherClassLoader_isRefusedWithoutTouchingItsLocks() throws IOException {
    Stores.open(root()).close();
    String claim = FolderLock.CLAIM + new LocalDisk().identity(root().resolve(Superblock.NAME));
    System.setProperty(claim, "instance elsewhere");
    try {
      assertThatThrownBy(() -> Stores.open(root())).hasMessageContaining("instance elsewhere");
    } finally {
      System.clearProperty(claim);
    }
    Stores.open(root()).close();
  }

  @Test
  void interruptedCaller_closesNothing() {
    try (FileStore store = Stores.open(root())) {
      byte[] bytes = Stores.bytes(1 << 20, 1);
      Thread.currentThread().interrupt();
      try {
        Stores.putOk(store, "key", bytes);
        Stores.expect(store, "key", bytes);
        assertThat(Stores.exists(store, "key")).isTrue();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
      } finally {
        assertThat(Thread.interrupted()).isTrue();
      }
      Stores.putOk(store, "next", bytes);
      Stores.expect(store, "next", bytes);
    }
  }

  @Test
  void clockThatJumps_endsCallsAndHarmsNothing() {
    AtomicLong now = new AtomicLong();
    AtomicLong calls = new AtomicLong();
    try (FileStore store = Stores.open(root())) {
      byte[] bytes = Stores.bytes(300_000, 1);
      for (int i = 0; i < 50; i++) {
        Deadline by =
            Deadline.after(
                Duration.ofSeconds(5),
                () ->
                    now.addAndGet(
                        calls.incrementAndGet() % 3 == 0 ? -3_000_000_000L : 2_000_000_000L));
        BatchResult result =
            store.put(
                List.of(new PutOp(Stores.key("key-" + i), List.of(Stores.memory(bytes)))), by);
        if (result.isOk(0)) {
          Stores.expect(store, "key-" + i, bytes);
        } else {
          assertThat(result.failure(0).code()).isEqualTo(FailureCode.TIMEOUT);
        }
      }
      Stores.putOk(store, "last", bytes);
      Stores.expect(store, "last", bytes);
    }
  }

  @Test
  void recency_isKeptAcrossReopening() {
    Map<String, String> options = Map.of("capacity", "1MiB");
    byte[] bytes = new byte[100_000];
    try (FileStore store = Stores.open(root(), options)) {
      for (int i = 0; i < 10; i++) {
        Stores.putOk(store, "key-" + i, bytes);
      }
      Stores.expect(store, "key-0", bytes);
    }
    try (FileStore store = Stores.open(root(), options)) {
      Stores.putOk(store, "more", bytes);
      assertThat(Stores.exists(store, "key-0")).isTrue();
      assertThat(Stores.exists(store, "key-1")).isFalse();
    }
  }

  @Test
  void smallerCapacity_isKeptFromTheStart() {
    try (FileStore store = Stores.open(root())) {
      for (int i = 0; i < 30; i++) {
        Stores.putOk(store, "key-" + i, new byte[100_000]);
      }
    }
    try (FileStore store = Stores.open(root(), Map.of("capacity", "1MiB"))) {
      assertThat(store.stats().liveBytes()).isEqualTo(1_000_000);
      assertThat(Stores.exists(store, "key-29")).isTrue();
    }
  }
}
