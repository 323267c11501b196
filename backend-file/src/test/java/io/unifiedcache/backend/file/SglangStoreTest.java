package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.Verification;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The folder of SGLang's file store. */
class SglangStoreTest {
  private static final String KEY = "page0__0_1.bin";

  @TempDir Path folder = Path.of("set by JUnit");

  private Path root() {
    return folder.resolve("hicache");
  }

  private CacheStore open(Disk disk, Map<String, String> more) {
    return FileStoreProvider.open(disk, settings(more), StoreContext.of("sglang-test"));
  }

  private Settings settings(Map<String, String> more) {
    Map<String, String> options = new HashMap<>(Map.of("format", "sglang", "min-free", "0"));
    options.putAll(more);
    options.put("root", root().toString());
    Settings.Builder builder = Settings.builder(new FileStoreProvider().options());
    new FileStoreProvider()
        .options()
        .forEach(
            option -> {
              String text = options.get(option.name());
              if (text != null) {
                builder.parse(option, text);
              }
            });
    return builder.build();
  }

  private CacheStore open() {
    return open(new LocalDisk(), Map.of());
  }

  private List<Path> begun() throws IOException {
    try (Stream<Path> files = Files.list(root().resolve(SglangFolder.BEGUN))) {
      return files.toList();
    }
  }

  @Test
  void put_isAFileOfThatNameWithTheBytesAlone() throws IOException {
    byte[] bytes = Stores.bytes(10_000, 1);
    try (CacheStore store = open()) {
      Stores.putOk(store, KEY, bytes);
      assertThat(root().resolve(KEY)).hasBinaryContent(bytes);
      Stores.expect(store, KEY, bytes);
      assertThat(begun()).as("the lock alone").hasSize(1);
    }
    assertThat(begun()).isEmpty();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(root())))
        .isEqualTo("rwx------");
  }

  @Test
  void aFileOfOthers_isAnObjectAtOnce() throws IOException {
    try (CacheStore store = open()) {
      assertThat(Stores.exists(store, KEY)).isFalse();
      Files.write(root().resolve(KEY), new byte[] {1, 2, 3});
      assertThat(Stores.exists(store, KEY)).isTrue();
      Stores.expect(store, KEY, new byte[] {1, 2, 3});
      assertThat(Stores.describe(Stores.put(store, KEY, new byte[9]))).isEqualTo("PRESENT");
      Files.delete(root().resolve(KEY));
      assertThat(Stores.get(store, KEY, 3).status()).isEqualTo(ObjectStatus.ABSENT);
    }
  }

  @Test
  void aFileThatIsShortOrLong_isASizeMismatchAndCanBeStoredAnew() throws IOException {
    try (CacheStore store = open()) {
      for (int size : List.of(0, 99, 101)) {
        Files.write(root().resolve(KEY), new byte[size]);
        Stores.Got got = Stores.get(store, KEY, 100);
        assertThat(got.result().failure(0).code()).isEqualTo(FailureCode.SIZE_MISMATCH);
        assertThat(Stores.remove(store, KEY)).isEqualTo(ObjectStatus.OK);
        Stores.putOk(store, KEY, Stores.bytes(100, size));
        Stores.expect(store, KEY, Stores.bytes(100, size));
      }
    }
  }

  @Test
  void symbolicLinksAndFolders_areNoObjectsAndStay() throws IOException {
    Path secret = Files.write(folder.resolve("secret"), new byte[10]);
    try (CacheStore store = open()) {
      Files.createSymbolicLink(root().resolve("link.bin"), secret);
      Files.createDirectory(root().resolve("folder.bin"));
      for (String key : List.of("link.bin", "folder.bin")) {
        assertThat(Stores.exists(store, key)).as(key).isFalse();
        assertThat(Stores.get(store, key, 10).status()).as(key).isEqualTo(ObjectStatus.ABSENT);
        assertThat(Stores.remove(store, key)).as(key).isEqualTo(ObjectStatus.ABSENT);
        assertThat(Stores.describe(Stores.put(store, key, new byte[10])))
            .as(key)
            .startsWith("FAILED IO")
            .contains("no file");
      }
      List<String> keys = new ArrayList<>();
      store.list(KeyPrefix.EVERYTHING, key -> keys.add(key.value()), Stores.soon());
      assertThat(keys).isEmpty();
      assertThat(store.clear(KeyPrefix.EVERYTHING, Stores.soon()).removed()).isZero();
    }
    assertThat(secret).exists();
    assertThat(root().resolve("folder.bin")).exists();
    assertThat(root().resolve("link.bin")).isSymbolicLink();
  }

  @Test
  void clear_leavesWhatIsNoObject() throws IOException {
    try (CacheStore store = open()) {
      Path unfinished = Files.write(root().resolve(".0123.tmp"), new byte[10]);
      Path note = Files.writeString(root().resolve("README"), "mine");
      Stores.putOk(store, KEY, new byte[1]);
      Stores.putOk(store, "other/key", new byte[1]);
      assertThat(store.clear(KeyPrefix.EVERYTHING, Stores.soon()).removed()).isEqualTo(2);
      assertThat(unfinished).exists();
      assertThat(note).exists();
    }
  }

  @Test
  void session_readsWhatItOpened_whateverBecomesOfTheFile() throws IOException {
    byte[] bytes = Stores.bytes(10_000, 1);
    try (CacheStore store = open()) {
      Stores.putOk(store, KEY, bytes);
      try (ReadSession session = store.openSession(List.of(Stores.key(KEY)), Stores.soon())) {
        Files.write(folder.resolve("new"), Stores.bytes(10_000, 2));
        Files.move(folder.resolve("new"), root().resolve(KEY), StandardCopyOption.REPLACE_EXISTING);
        HostMemory target = Stores.memory(new byte[100]);
        BatchResult read =
            session.read(List.of(new ReadOp(0, List.of(new Range(5_000, target)))), Stores.soon());
        assertThat(Stores.describe(read)).isEqualTo("OK");
        assertThat(Stores.read(target)).isEqualTo(Arrays.copyOfRange(bytes, 5_000, 5_100));
      }
      Stores.expect(store, KEY, Stores.bytes(10_000, 2));
    }
  }

  @Test
  void noSpace_isAStatusAndLeavesNothing() throws IOException {
    TestDisk disk = new TestDisk();
    try (CacheStore store = open(disk, Map.of())) {
      disk.room = 5_000;
      assertThat(Stores.describe(Stores.put(store, KEY, new byte[10_000])))
          .startsWith("FAILED NO_SPACE");
      Stores.putOk(store, "small.bin", new byte[100]);
      // A disk that tells of more room than it has.
      TestDisk full =
          new TestDisk() {
            @Override
            public long usableBytes(Path ofFolder) {
              return 1L << 40;
            }
          };
      full.room = 5_000;
      try (CacheStore other = open(full, Map.of())) {
        assertThat(Stores.describe(Stores.put(other, KEY, new byte[10_000])))
            .startsWith("FAILED NO_SPACE");
        assertThat(Stores.exists(other, KEY)).isFalse();
        assertThat(begun()).as("two locks").hasSize(2);
        Stores.putOk(other, "other.bin", new byte[100]);
      }
    }
    try (CacheStore store = open(new LocalDisk(), Map.of("min-free", "1024TiB"))) {
      assertThat(Stores.describe(Stores.put(store, KEY, new byte[1])))
          .startsWith("FAILED NO_SPACE");
    }
  }

  /** Ends in the middle of a put. */
  static final class Dying {
    private Dying() {}

    public static void main(String[] arguments) {
      TestDisk disk =
          new TestDisk() {
            @Override
            void before(String step) {
              if (step.startsWith(arguments[1])) {
                Runtime.getRuntime().halt(9);
              }
            }
          };
      CacheStore store =
          FileStoreProvider.open(
              disk,
              Settings.builder(new FileStoreProvider().options())
                  .set(FileStoreProvider.ROOT, arguments[0])
                  .set(FileStoreProvider.FORMAT, FileStoreProvider.Format.SGLANG)
                  .build(),
              StoreContext.of("dying"));
      Stores.put(store, KEY, new byte[1_000]);
    }
  }

  @Test
  void whatADeadProcessLeft_isDeletedAndNothingElse() throws IOException {
    try (CacheStore living = open()) {
      for (String step : List.of("write ", "link ", "delete ")) {
        Child child = Child.start(Dying.class, root(), step);
        assertThat(child.awaitEnd()).isEqualTo(9);
        assertThat(begun()).as(step).hasSize(3);
        open().close();
        assertThat(begun()).as(step + "the lock of the living").hasSize(1);
        assertThat(Stores.exists(living, KEY)).as(step).isEqualTo(step.equals("delete "));
      }
      Stores.expect(living, KEY, new byte[1_000]);
    }
  }

  @Test
  void open_ofWhatDoesNotGoWithIt_isRefused() {
    for (Map<String, String> wrong :
        List.of(
            Map.of("capacity", "1GiB"),
            Map.of("segment", "4MiB"),
            Map.of("checksum", "on"),
            Map.of("mode", "exclusive"))) {
      assertThatThrownBy(() -> open(new LocalDisk(), wrong))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
          .hasMessageContaining(wrong.keySet().iterator().next());
    }
    assertThat(root()).doesNotExist();
    open(new LocalDisk(), Map.of("checksum", "off", "durability", "flush")).close();
  }

  @Test
  void open_ofAStoreInSegments_isRefusedAndTheOtherWayRound() {
    open().close();
    assertThatThrownBy(() -> Stores.open(root())).hasMessageContaining("neither empty nor");
    Path segments = folder.resolve("segments");
    Stores.open(segments).close();
    assertThatThrownBy(
            () ->
                SglangFolder.open(new LocalDisk(), segments, /* minFree= */ 0, /* flush= */ false))
        .hasMessageContaining("format segments");
  }

  @Test
  void maintenance_countsAndReads() throws IOException {
    List<Verification.Finding> findings = new ArrayList<>();
    List<StoreInventory.Item> items = new ArrayList<>();
    try (CacheStore store = open()) {
      Stores.putOk(store, KEY, new byte[10]);
      Files.write(root().resolve("other.bin"), new byte[20]);
      Files.write(root().resolve("README"), new byte[20]);
      var maintenance =
          FileStoreProvider.maintenance(
              new LocalDisk(), settings(Map.of()), StoreContext.of("operator"));
      assertThat(maintenance.verify(true, findings::add, Stores.soon()))
          .isEqualTo(new Verification(2, 30, 2, 0));
      StoreInventory inventory = maintenance.stat(items::add, Stores.soon());
      assertThat(inventory.objects()).isEqualTo(2);
      assertThat(inventory.bytes()).isEqualTo(30);
      assertThat(inventory.details()).containsEntry("other files", "1");
      assertThat(items)
          .allSatisfy(item -> assertThat(item.stored()).isPresent())
          .extracting(item -> item.key().value())
          .containsExactlyInAnyOrder(KEY, "other.bin");

      Files.createSymbolicLink(root().resolve("link.bin"), root().resolve(KEY));
      assertThat(maintenance.verify(false, findings::add, Stores.soon()).findings()).isEqualTo(1);
      assertThat(findings.getFirst().message()).contains("link.bin");
    }
  }

  @Test
  void put_equalKeysInOneBatch_theFirstWins() {
    try (CacheStore store = open()) {
      BatchResult result =
          store.put(
              List.of(
                  new PutOp(Stores.key(KEY), List.of(Stores.memory(new byte[] {1}))),
                  new PutOp(Stores.key(KEY), List.of(Stores.memory(new byte[] {2})))),
              Stores.soon());
      assertThat(result.status(0)).isEqualTo(ObjectStatus.OK);
      assertThat(result.status(1)).isEqualTo(ObjectStatus.PRESENT);
      Stores.expect(store, KEY, new byte[] {1});
      assertThat(store.stats().stored()).isEqualTo(1);
      assertThat(store.stats().present()).isEqualTo(1);
      assertThat(store.stats().bytesStored()).isEqualTo(1);
    }
  }
}
