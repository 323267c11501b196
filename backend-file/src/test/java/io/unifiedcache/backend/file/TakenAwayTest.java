package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is under an open store is deleted, replaced, or reached in another way. */
class TakenAwayTest {
  private static final int BYTES = 90_000;
  private static final int OBJECTS = 50;

  @TempDir Path folder = Path.of("set by JUnit");

  private Path root() {
    return folder.resolve("store");
  }

  /** Opens a store in a mode, and stores and tells what it is asked for. */
  static final class Other {
    private Other() {}

    public static void main(String[] arguments) throws IOException {
      try (FileStore store = Stores.open(Path.of(arguments[0]), Map.of("mode", arguments[1]));
          BufferedReader in =
              new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        Stores.say("open");
        for (String key = in.readLine(); key != null; key = in.readLine()) {
          Stores.say(Stores.describe(Stores.put(store, key, bytesOf(key))));
        }
      } catch (CacheException e) {
        Stores.say(e.code().toString());
      }
    }
  }

  private static byte[] bytesOf(String key) {
    return Stores.bytes(BYTES, key.hashCode());
  }

  private List<Path> files(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    }
  }

  private void deleteAll(Path directory) throws IOException {
    for (Path file : files(directory)) {
      Files.delete(file);
    }
  }

  private List<Path> segments() throws IOException {
    return files(root()).stream()
        .filter(file -> FileNames.asSegment(String.valueOf(file.getFileName())) >= 0)
        .toList();
  }

  private static void fillByAnother(Path root) throws IOException {
    try (Child other = Child.start(Other.class, root, "shared")) {
      assertThat(other.line()).isEqualTo("open");
      for (int i = 0; i < OBJECTS; i++) {
        assertThat(other.ask("theirs-" + i)).isEqualTo("OK");
      }
    }
  }

  private static void assertFails(BatchResult result) {
    assertThat(Stores.describe(result)).startsWith("FAILED IO").contains("no longer the store");
  }

  private static void assertServesNoMore(FileStore store) {
    assertFails(Stores.put(store, "mine", bytesOf("mine")));
    assertFails(Stores.put(store, "new", bytesOf("new")));
    assertFails(Stores.get(store, "mine", BYTES).result());
    assertFails(store.exists(List.of(Stores.key("mine")), Stores.soon()));
    assertFails(store.remove(List.of(Stores.key("mine")), true, Stores.soon()));
    try (var session = store.openSession(List.of(Stores.key("mine")), Stores.soon())) {
      assertFails(session.opened());
    }
    assertThatThrownBy(() -> store.clear(KeyPrefix.EVERYTHING, Stores.soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.IO));
    assertThatThrownBy(() -> store.list(KeyPrefix.EVERYTHING, key -> true, Stores.soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.IO));
    StoreHealth health = store.probe(Stores.soon());
    assertThat(health.state()).isEqualTo(StoreHealth.State.DOWN);
    assertThat(health.detail()).contains("no longer the store");
  }

  private static void assertIsWhole(FileStore store) {
    assertThat(store.stats().objects()).isEqualTo(OBJECTS);
    for (int i = 0; i < OBJECTS; i++) {
      Stores.expect(store, "theirs-" + i, bytesOf("theirs-" + i));
    }
  }

  @Test
  void directory_deletedAndMadeAnewByAnotherProcess_isNotTouched() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "mine", bytesOf("mine"));
      deleteAll(root());
      Files.delete(root());
      fillByAnother(root());
      assertServesNoMore(store);
      // The new one is another store, also for this process.
      try (FileStore theirs = Stores.open(root())) {
        assertIsWhole(theirs);
        assertServesNoMore(store);
      }
    }
    try (FileStore theirs = Stores.open(root())) {
      assertIsWhole(theirs);
    }
  }

  @Test
  void directory_emptiedAndFilledByAnotherProcess_isNotTouched() throws IOException {
    FileStore store = Stores.open(root());
    Stores.putOk(store, "mine", bytesOf("mine"));
    deleteAll(root());
    fillByAnother(root());
    assertServesNoMore(store);
    store.close();
    try (FileStore theirs = Stores.open(root())) {
      assertIsWhole(theirs);
    }
  }

  @Test
  void directory_replacedWhileAStoreIsIdle_isSeenByTheFirstCall() throws IOException {
    for (String call : List.of("exists", "get", "put", "session")) {
      try (FileStore store = Stores.open(folder.resolve(call))) {
        Stores.putOk(store, "mine", bytesOf("mine"));
        Files.move(folder.resolve(call), folder.resolve("moved-" + call));
        fillByAnother(folder.resolve(call));
        BatchResult first =
            switch (call) {
              case "exists" -> store.exists(List.of(Stores.key("mine")), Stores.soon());
              case "get" -> Stores.get(store, "mine", BYTES).result();
              case "put" -> Stores.put(store, "mine", bytesOf("mine"));
              default -> store.openSession(List.of(Stores.key("mine")), Stores.soon()).opened();
            };
        assertFails(first);
      }
    }
  }

  @Test
  void superblock_overwrittenInPlace_isAnotherStore() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "mine", bytesOf("mine"));
      try (Child writer = Child.start(Overwriter.class, root().resolve(Superblock.NAME))) {
        assertThat(writer.awaitEnd()).isZero();
      }
      assertServesNoMore(store);
    }
  }

  /** Changes a byte of the UUID: in another process, since here it would end the locks. */
  static final class Overwriter {
    private Overwriter() {}

    public static void main(String[] arguments) throws IOException {
      Path file = Path.of(arguments[0]);
      byte[] bytes = Files.readAllBytes(file);
      bytes[16] ^= 1;
      Files.write(file, bytes);
    }
  }

  @Test
  void cleaner_findsNoFileOfALockToDelete() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "mine", bytesOf("mine"));
      assertThat(files(root()))
          .extracting(file -> String.valueOf(file.getFileName()))
          .allMatch(
              name ->
                  name.equals(Superblock.NAME)
                      || name.equals(LogReserve.NAME)
                      || FileNames.asLog(name) >= 0
                      || FileNames.asSegment(name) >= 0);
      // The file that all locks are in is what makes it a store.
      Files.delete(root().resolve(Superblock.NAME));
      assertServesNoMore(store);
      assertThatThrownBy(() -> Stores.open(root())).hasMessageContaining("neither empty nor");
    }
  }

  @Test
  void segments_deletedUnderAnOpenStore_areNoticedBeforeAPutIsOk() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "before", bytesOf("before"));
      for (Path segment : segments()) {
        Files.delete(segment);
      }
      assertThat(Stores.describe(Stores.put(store, "lost", bytesOf("lost"))))
          .startsWith("FAILED IO")
          .contains("segment-");
      assertThat(Stores.exists(store, "before")).isFalse();
      Stores.putOk(store, "after", bytesOf("after"));
      assertThat(segments()).isNotEmpty();
      assertThat(store.probe(Stores.soon()).state()).isEqualTo(StoreHealth.State.UP);
    }
    try (FileStore store = Stores.open(root())) {
      Stores.expect(store, "after", bytesOf("after"));
      assertThat(store.stats().objects()).isEqualTo(1);
    }
  }

  @Test
  void segment_replacedByAnotherFile_isNoticedBeforeAPutIsOk() throws IOException {
    try (FileStore store = Stores.open(root(), Map.of("io-threads", "1"))) {
      Stores.putOk(store, "before", bytesOf("before"));
      Path segment = segments().getFirst();
      Path copy = folder.resolve("copy");
      Files.copy(segment, copy);
      Files.move(copy, segment, StandardCopyOption.REPLACE_EXISTING);
      assertThat(Stores.describe(Stores.put(store, "lost", bytesOf("lost"))))
          .startsWith("FAILED IO");
      Stores.putOk(store, "lost", bytesOf("lost"));
    }
    try (FileStore store = Stores.open(root())) {
      Stores.expect(store, "lost", bytesOf("lost"));
    }
  }

  @Test
  void probe_ofAStoreThatLostItsSegments_isNotUpUntilItCanServe() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "before", bytesOf("before"));
      for (Path segment : segments()) {
        Files.delete(segment);
      }
      assertThat(store.probe(Stores.soon()).state()).isEqualTo(StoreHealth.State.DEGRADED);
      assertThat(Stores.exists(store, "before")).isFalse();
      assertThat(store.probe(Stores.soon()).state()).isEqualTo(StoreHealth.State.UP);
      Stores.putOk(store, "before", bytesOf("before"));
    }
  }

  @Test
  void log_deletedUnderAnOpenStore_isWrittenAnewBeforeAPutIsOk() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "before", bytesOf("before"));
      for (Path file : files(root())) {
        if (FileNames.asLog(String.valueOf(file.getFileName())) >= 0) {
          Files.delete(file);
        }
      }
      Stores.putOk(store, "after", bytesOf("after"));
    }
    try (FileStore store = Stores.open(root())) {
      Stores.expect(store, "before", bytesOf("before"));
      Stores.expect(store, "after", bytesOf("after"));
    }
  }

  private String openedByAnother(String mode) throws IOException {
    try (Child other = Child.start(Other.class, root(), mode)) {
      return String.valueOf(other.line());
    }
  }

  @Test
  void directory_reachedByASecondPath_isTheSameStore() throws IOException {
    Files.createSymbolicLink(folder.resolve("alias"), folder);
    Path alias = folder.resolve("alias").resolve("store");
    try (FileStore store = Stores.open(root(), Map.of("mode", "exclusive"))) {
      for (Path path : List.of(root(), alias)) {
        assertThatThrownBy(() -> Stores.open(path))
            .isInstanceOfSatisfying(
                CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.BUSY));
        var maintenance =
            FileStoreProvider.maintenance(
                new LocalDisk(), Stores.settings(path, Map.of()), StoreContext.of("operator"));
        assertThatThrownBy(() -> maintenance.stat(item -> {}, Stores.soon()))
            .isInstanceOfSatisfying(
                CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.BUSY));
        assertThatThrownBy(() -> maintenance.verify(false, item -> {}, Stores.soon()))
            .isInstanceOf(CacheException.class);
        assertThat(openedByAnother("shared")).as("after " + path).isEqualTo("BUSY");
      }
      Stores.putOk(store, "mine", bytesOf("mine"));
    }
    try (FileStore store = Stores.open(root())) {
      try (FileStore same = Stores.open(alias)) {
        Stores.putOk(same, "more", bytesOf("more"));
        Stores.expect(store, "more", bytesOf("more"));
      }
      assertThat(openedByAnother("exclusive")).isEqualTo("BUSY");
      assertThat(openedByAnother("shared")).isEqualTo("open");
    }
    assertThat(openedByAnother("exclusive")).isEqualTo("open");
  }

  @Test
  void directory_ofAnotherLayout_isAskedForWithoutALockLost() throws IOException {
    try (FileStore store = Stores.open(root(), Map.of("mode", "exclusive"))) {
      assertThatThrownBy(
              () ->
                  SglangFolder.open(new LocalDisk(), root(), /* minFree= */ 0, /* flush= */ false))
          .hasMessageContaining("format segments");
      assertThat(openedByAnother("shared")).isEqualTo("BUSY");
      Stores.putOk(store, "mine", bytesOf("mine"));
    }
  }
}
