package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreHealth;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes in two steps whose second step fails, and what the next calls answer. */
class FailedStepTest {
  private static final int BYTES = 400_000;

  @TempDir Path folder = Path.of("set by JUnit");

  /** A disk on which some of the steps of one kind fail. */
  private static final class FailingDisk extends TestDisk {
    private final String kind;
    private volatile IntPredicate fails = count -> false;
    private int count;

    FailingDisk(String kind) {
      this.kind = kind;
    }

    @Override
    void before(String step) throws IOException {
      super.before(step);
      if (step.startsWith(kind) && failsNow()) {
        throw new IOException("Input/output error");
      }
    }

    private synchronized boolean failsNow() {
      return fails.test(++count);
    }

    synchronized void failAt(IntPredicate which) {
      count = 0;
      fails = which;
    }
  }

  /** Puts objects, and returns those that are said to be stored. */
  private static Map<String, byte[]> putSome(FileStore store, String prefix, int count) {
    Map<String, byte[]> stored = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      byte[] bytes = Stores.bytes(BYTES, prefix.hashCode() + i);
      if (Stores.put(store, prefix + i, bytes).status(0) == ObjectStatus.OK) {
        stored.put(prefix + i, bytes);
      }
    }
    return stored;
  }

  private static void expectAll(FileStore store, Map<String, byte[]> stored) {
    stored.forEach((key, bytes) -> Stores.expect(store, key, bytes));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "write index-",
        "create segment-",
        "force names",
        "write segment-",
        "force index-"
      })
  void step_failsNowAndThen_losesNothingThatWasStored(String kind) {
    Path root = folder.resolve("store");
    Map<String, String> options =
        Map.of("capacity", "64MiB", "segment", "4MiB", "durability", "flush");
    FailingDisk disk = new FailingDisk(kind);
    Map<String, byte[]> stored = new LinkedHashMap<>();
    try (FileStore store = Stores.open(disk, root, options)) {
      disk.failAt(count -> count % 3 == 1);
      stored.putAll(putSome(store, "a", 40));
      disk.failAt(count -> false);
      stored.putAll(putSome(store, "b", 20));
      expectAll(store, stored);
      assertThat(store.probe(Stores.soon()).state()).isEqualTo(StoreHealth.State.UP);
      try (FileStore other = Stores.open(root, options)) {
        expectAll(other, stored);
      }
    }
    assertThat(stored).as("objects stored after failures").hasSizeGreaterThanOrEqualTo(20);
    try (FileStore store = Stores.open(root, options)) {
      expectAll(store, stored);
    }
  }

  @Test
  void segment_thatCouldNotBeAdded_isNotTakenForTheNextOfItsNumber() throws IOException {
    Path root = folder.resolve("store");
    FailingDisk disk = new FailingDisk("write index-");
    Map<String, byte[]> stored;
    try (FileStore store = Stores.open(disk, root, Map.of("segment", "4MiB"))) {
      disk.failAt(count -> count == 1);
      assertThat(Stores.put(store, "first", Stores.bytes(BYTES, 1)).status(0))
          .isEqualTo(ObjectStatus.FAILED);
      stored = putSome(store, "key-", 10);
    }
    assertThat(stored).hasSize(10);
    try (FileStore store = Stores.open(root)) {
      expectAll(store, stored);
    }
    try (Stream<Path> files = Files.list(root)) {
      assertThat(files.map(file -> String.valueOf(file.getFileName())))
          .filteredOn(name -> FileNames.asSegment(name) >= 0)
          .doesNotContain(FileNames.segment(1));
    }
  }

  @Test
  void log_thatCouldNotBeForced_isWrittenAnewBeforeAnythingIsStored() throws IOException {
    Path root = folder.resolve("store");
    Map<String, String> options = Map.of("durability", "flush");
    FailingDisk disk = new FailingDisk("force index-");
    try (FileStore store = Stores.open(disk, root, options)) {
      Stores.putOk(store, "before", Stores.bytes(BYTES, 1));
      List<String> logs = logs(root);
      disk.failAt(count -> count == 1);
      assertThat(Stores.put(store, "failed", Stores.bytes(BYTES, 2)).status(0))
          .isEqualTo(ObjectStatus.FAILED);
      assertThat(logs(root)).isEqualTo(logs);
      // It is there, but only another log makes it last.
      BatchResult again = Stores.put(store, "failed", Stores.bytes(BYTES, 2));
      assertThat(again.status(0)).isEqualTo(ObjectStatus.PRESENT);
      assertThat(logs(root)).hasSize(1).isNotEqualTo(logs);
      Stores.putOk(store, "after", Stores.bytes(BYTES, 3));
      Stores.expect(store, "before", Stores.bytes(BYTES, 1));
    }
  }

  @Test
  void segment_thatCouldNotBeForced_isNotForcedByTheNextTry() {
    FailingDisk disk = new FailingDisk("force segment-");
    try (FileStore store =
        Stores.open(disk, folder.resolve("store"), Map.of("durability", "flush"))) {
      disk.failAt(count -> count == 1);
      assertThat(Stores.put(store, "key", Stores.bytes(BYTES, 1)).status(0))
          .isEqualTo(ObjectStatus.FAILED);
      assertThat(Stores.exists(store, "key")).isFalse();
      Stores.putOk(store, "key", Stores.bytes(BYTES, 1));
      Stores.expect(store, "key", Stores.bytes(BYTES, 1));
    }
  }

  @Test
  void fullDisk_batchInTheRoomOfOthers_isStoredOrLeavesThemThere() {
    TestDisk disk = new TestDisk();
    try (FileStore store = Stores.open(disk, folder.resolve("store"), Map.of("min-free", "0B"))) {
      int count = 32;
      putSome(store, "old-", count);
      disk.room = 0;
      List<PutOp> ops =
          IntStream.range(0, 28)
              .mapToObj(
                  i ->
                      new PutOp(
                          new ObjectKey("new-" + i),
                          List.of(Stores.memory(Stores.bytes(BYTES, 100 + i)))))
              .toList();
      BatchResult result = store.put(ops, Stores.soon());
      assertThat(result.count(ObjectStatus.OK)).isPositive();
      List<String> there = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        if (Stores.exists(store, "old-" + i)) {
          Stores.expect(store, "old-" + i, Stores.bytes(BYTES, "old-".hashCode() + i));
          there.add("old-" + i);
        }
      }
      for (int i = 0; i < ops.size(); i++) {
        assertThat(Stores.exists(store, "new-" + i)).isEqualTo(result.isOk(i));
        if (result.isOk(i)) {
          Stores.expect(store, "new-" + i, Stores.bytes(BYTES, 100 + i));
        }
      }
      assertThat(there.size() + result.count(ObjectStatus.OK))
          .as("objects that are there, of %d before", count)
          .isGreaterThanOrEqualTo(count - 1);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void log_thatGoesOnInItselfOrBackwards_isTornThere(long next) throws IOException {
    Path root = folder.resolve("store");
    Map<String, byte[]> stored;
    try (FileStore store = Stores.open(root)) {
      stored = putSome(store, "key-", 3);
    }
    // A log of number 2 goes on in itself, or in the first.
    Path path = root.resolve(FileNames.log(2));
    LocalDisk disk = new LocalDisk();
    rename(root, path);
    try (IndexLog log =
        Objects.requireNonNull(IndexLog.open(disk, Disk.Access.WRITE, path, 2, store(root)))) {
      var unused = log.read(entries -> {});
      assertThat(log.append(List.of(new LogEntry.Continued(next, IndexLog.HEADER_BYTES))))
          .isPositive();
    }
    try (FileStore store = Stores.open(root)) {
      expectAll(store, stored);
      Stores.putOk(store, "more", Stores.bytes(BYTES, 9));
      Stores.expect(store, "more", Stores.bytes(BYTES, 9));
    }
  }

  /** Writes what the first log says to another one, and deletes the first. */
  private static void rename(Path root, Path second) throws IOException {
    LocalDisk disk = new LocalDisk();
    Path first = root.resolve(FileNames.log(1));
    List<LogEntry> entries = new ArrayList<>();
    try (IndexLog log =
        Objects.requireNonNull(IndexLog.open(disk, Disk.Access.WRITE, first, 1, store(root)))) {
      assertThat(log.read(entries::addAll)).isEqualTo(IndexLog.End.CLEAN);
    }
    var unused =
        IndexLog.write(disk, second, 2, store(root), entries.iterator(), /* flush= */ false);
    Files.delete(first);
  }

  private static UUID store(Path root) throws IOException {
    return Superblock.store(ByteBuffer.wrap(Files.readAllBytes(root.resolve(Superblock.NAME))));
  }

  private static List<String> logs(Path root) throws IOException {
    try (Stream<Path> files = Files.list(root)) {
      return files
          .map(file -> String.valueOf(file.getFileName()))
          .filter(name -> FileNames.asLog(name) >= 0)
          .sorted()
          .toList();
    }
  }

  @Test
  void log_thatIsLeft_isNotTakenForReadUntilTheNextIsInUse() throws IOException {
    Path path = folder.resolve(FileNames.log(1));
    LocalDisk disk = new LocalDisk();
    UUID store = UUID.randomUUID();
    Iterator<LogEntry> entries =
        List.<LogEntry>of(
                new LogEntry.Segment(1, 4096, 7), new LogEntry.Continued(2, IndexLog.HEADER_BYTES))
            .iterator();
    var unused = IndexLog.write(disk, path, 1, store, entries, /* flush= */ false);
    try (IndexLog log =
        Objects.requireNonNull(IndexLog.open(disk, Disk.Access.WRITE, path, 1, store))) {
      assertThat(log.read(read -> {})).isEqualTo(IndexLog.End.CONTINUED);
      assertThat(log.hasGrown()).isTrue();
      assertThat(log.isKnownToBeRead()).isFalse();
    }
  }

  @Test
  void index_neverUsesTheNumberOfASegmentAgain() {
    Index index = new Index(new Extents(1), 1);
    index.apply(new LogEntry.Segment(7, 4096, 1));
    index.apply(new LogEntry.Gone(7));
    assertThat(index.nextSegment()).isEqualTo(8);
    Index read = new Index(new Extents(1), 2);
    index.snapshot().forEach(read::apply);
    assertThat(read.nextSegment()).isEqualTo(8);
  }

  @Test
  void log_whoseHeaderIsLost_isKeptWithItsSegments() throws IOException {
    Path root = folder.resolve("store");
    try (FileStore store = Stores.open(root)) {
      putSome(store, "key-", 3);
    }
    byte[] before = Files.readAllBytes(root.resolve(FileNames.segment(1)));
    byte[] log = Files.readAllBytes(root.resolve(FileNames.log(1)));
    for (int i = 0; i < IndexLog.HEADER_BYTES; i++) {
      log[i] = 0;
    }
    Files.write(root.resolve(FileNames.log(1)), log);
    try (FileStore store = Stores.open(root)) {
      assertThat(Stores.exists(store, "key-0")).isFalse();
      Stores.putOk(store, "key-0", Stores.bytes(BYTES, 5));
      Stores.expect(store, "key-0", Stores.bytes(BYTES, 5));
    }
    assertThat(root.resolve("damaged-segment-000001")).hasBinaryContent(before);
    assertThat(root.resolve("damaged-index-0000000001.log")).hasBinaryContent(log);
    assertThat(root.resolve(FileNames.segment(1))).doesNotExist();
  }

  @Test
  void superblock_ofVersionZero_isRefused() throws IOException {
    Path root = folder.resolve("store");
    Stores.open(root).close();
    byte[] block = Files.readAllBytes(root.resolve(Superblock.NAME));
    ByteBuffer bytes = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putInt(8, 0);
    CRC32C sum = new CRC32C();
    sum.update(block, 0, 60);
    bytes.putInt(60, (int) sum.getValue());
    Files.write(root.resolve(Superblock.NAME), block);
    assertThatThrownBy(() -> Stores.open(root)).hasMessageContaining("version 0");
  }
}
