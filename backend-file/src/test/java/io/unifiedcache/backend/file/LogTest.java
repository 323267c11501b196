package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.ObjectKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of a store whose log was cut, damaged or made up. */
class LogTest {
  private static final int OBJECTS = 6;
  private static final int BYTES = 300;

  @TempDir Path folder = Path.of("set by JUnit");

  private Path root() {
    return folder.resolve("store");
  }

  private void fill() {
    try (FileStore store = Stores.open(root())) {
      for (int i = 0; i < OBJECTS; i++) {
        Stores.putOk(store, "key-" + i, Stores.bytes(BYTES, i));
      }
    }
  }

  private Path log() throws IOException {
    try (Stream<Path> files = Files.list(root())) {
      return files
          .filter(file -> FileNames.asLog(String.valueOf(file.getFileName())) >= 0)
          .findFirst()
          .orElseThrow();
    }
  }

  private static Map<Path, byte[]> save(Path root) throws IOException {
    Map<Path, byte[]> saved = new HashMap<>();
    try (Stream<Path> files = Files.list(root)) {
      for (Path file : files.toList()) {
        saved.put(file, Files.readAllBytes(file));
      }
    }
    return saved;
  }

  private static void restore(Path root, Map<Path, byte[]> saved) throws IOException {
    try (Stream<Path> files = Files.list(root)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    for (Map.Entry<Path, byte[]> each : saved.entrySet()) {
      Files.write(each.getKey(), each.getValue());
    }
  }

  /** Returns how many of the first objects are there; none of the others is, and all serve. */
  private int expectBeginning(String when) {
    try (FileStore store = Stores.open(root())) {
      int count = 0;
      while (count < OBJECTS && Stores.exists(store, "key-" + count)) {
        Stores.expect(store, "key-" + count, Stores.bytes(BYTES, count));
        count++;
      }
      for (int i = count; i < OBJECTS; i++) {
        assertThat(Stores.exists(store, "key-" + i)).as(when + ": key-" + i).isFalse();
        Stores.putOk(store, "key-" + i, Stores.bytes(BYTES, 100 + i));
        Stores.expect(store, "key-" + i, Stores.bytes(BYTES, 100 + i));
      }
      assertThat(store.stats().liveBytes()).as(when).isEqualTo((long) OBJECTS * BYTES);
      return count;
    }
  }

  @Test
  void log_cutAtAnyByte_isReadUpToThere() throws IOException {
    fill();
    Map<Path, byte[]> saved = save(root());
    Path log = log();
    byte[] whole = Files.readAllBytes(log);
    int before = 0;
    for (int length = 0; length <= whole.length; length++) {
      restore(root(), saved);
      Files.write(log, Arrays.copyOf(whole, length));
      int count = expectBeginning("log of " + length + " bytes");
      assertThat(count)
          .as("objects in a log of " + length + " bytes")
          .isGreaterThanOrEqualTo(before);
      before = count;
    }
    assertThat(before).isEqualTo(OBJECTS);
  }

  @Test
  void log_withAnyByteChanged_isReadUpToThere() throws IOException {
    fill();
    Map<Path, byte[]> saved = save(root());
    Path log = log();
    byte[] whole = Files.readAllBytes(log);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int i = 0; i < whole.length; i++) {
      restore(root(), saved);
      byte[] damaged = whole.clone();
      damaged[i] ^= (byte) (1 << random.nextInt(8));
      Files.write(log, damaged);
      expectBeginning("byte " + i + " changed, seed " + seed);
    }
  }

  @Test
  void log_deleted_leavesAnEmptyStore() throws IOException {
    fill();
    Files.delete(log());
    assertThat(expectBeginning("no log")).isZero();
  }

  @Test
  void log_cutOrDeletedWhileOpen_isWrittenAnewByWhoKnows() throws IOException {
    fill();
    try (FileStore store = Stores.open(root())) {
      Files.write(log(), new byte[0]);
      Stores.putOk(store, "next", Stores.bytes(BYTES, 50));
      Stores.expect(store, "key-0", Stores.bytes(BYTES, 0));
      Files.delete(log());
      Stores.putOk(store, "last", Stores.bytes(BYTES, 51));
    }
    try (FileStore store = Stores.open(root())) {
      Stores.expect(store, "key-5", Stores.bytes(BYTES, 5));
      Stores.expect(store, "next", Stores.bytes(BYTES, 50));
      Stores.expect(store, "last", Stores.bytes(BYTES, 51));
    }
  }

  @Test
  void log_grown_isShortened() throws IOException {
    String name = "k".repeat(8_000);
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key-0", Stores.bytes(BYTES, 0));
      for (int i = 0; i < 400; i++) {
        Stores.putOk(store, name, Stores.bytes(BYTES, i));
        Stores.remove(store, name);
      }
      Stores.expect(store, "key-0", Stores.bytes(BYTES, 0));
      assertThat(Files.size(log())).isLessThan(5L << 20);
    }
    assertThat(FileNames.asLog(String.valueOf(log().getFileName()))).isGreaterThan(1);
    try (FileStore store = Stores.open(root())) {
      Stores.expect(store, "key-0", Stores.bytes(BYTES, 0));
      assertThat(store.stats().objects()).isEqualTo(1);
    }
  }

  @Test
  void frames_ofChance_areReadOrRefusedWithinBounds() throws IOException {
    fill();
    Map<Path, byte[]> saved = save(root());
    Path log = log();
    byte[] whole = Files.readAllBytes(log);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    UUID store =
        Superblock.store(ByteBuffer.wrap(Files.readAllBytes(root().resolve(Superblock.NAME))));
    assertThat(store).isNotNull();
    for (int round = 0; round < 200; round++) {
      restore(root(), saved);
      // A right frame with entries of chance, behind what is there.
      List<LogEntry> entries = new ArrayList<>();
      for (int i = 0; i <= random.nextInt(20); i++) {
        entries.add(chance(random));
      }
      ByteBuffer frames = LogFrame.of(entries, 1, whole.length);
      byte[] added = new byte[frames.remaining()];
      frames.get(added);
      byte[] all = Arrays.copyOf(whole, whole.length + added.length);
      System.arraycopy(added, 0, all, whole.length, added.length);
      Files.write(log, all);
      try (FileStore opened = Stores.open(root())) {
        for (int i = 0; i < OBJECTS; i++) {
          Stores.Got got = Stores.get(opened, "key-" + i, BYTES);
          if (got.result().isOk(0)) {
            assertThat(got.bytes())
                .as("round " + round + " of seed " + seed)
                .isEqualTo(Stores.bytes(BYTES, i));
          }
        }
        Stores.putOk(opened, "fresh", Stores.bytes(BYTES, 77));
        Stores.expect(opened, "fresh", Stores.bytes(BYTES, 77));
      }
    }
  }

  private static LogEntry chance(Random random) {
    ObjectKey key = Stores.key("key-" + random.nextInt(2 * OBJECTS));
    int segment = random.nextInt(4);
    return switch (random.nextInt(7)) {
      case 0, 1 ->
          new LogEntry.Put(
              key,
              random.nextLong(),
              segment,
              256L * random.nextInt(20),
              1 + random.nextInt(400),
              random.nextInt(4) == 0 ? random.nextLong(1L << 45) : random.nextInt(2_000),
              random.nextInt());
      case 2 -> new LogEntry.Remove(key, random.nextLong(), random.nextBoolean());
      case 3 -> new LogEntry.Segment(segment, 1 + random.nextLong(1L << 50), random.nextLong());
      case 4 -> new LogEntry.Gone(2 + random.nextInt(3));
      case 5 -> new LogEntry.Touch(key);
      default -> new LogEntry.Clear("key-" + random.nextInt(20));
    };
  }
}
