package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is answered where segment files are not what was written. */
class DamageTest {
  private static final int BYTES = 150_000;

  @TempDir Path folder = Path.of("set by JUnit");

  private Path root() {
    return folder.resolve("store");
  }

  private StoredObject object(String key) {
    StoredObject object = Engines.find(root()).find(Stores.key(key));
    assertThat(object).isNotNull();
    return object;
  }

  private void change(StoredObject object, long at) throws IOException {
    try (RandomAccessFile file =
        new RandomAccessFile(root().resolve(FileNames.segment(object.segment)).toFile(), "rw")) {
      file.seek(at);
      int before = file.read();
      file.seek(at);
      file.write(before ^ 0x10);
    }
  }

  @Test
  void anyBitOfAnExtent_flipped_isCorruptOnceAndThenAbsent() throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] bytes = Stores.bytes(BYTES, 1);
    StoredObject object;
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "neighbour", bytes);
      Stores.putOk(store, "key", bytes);
      object = object("key");
    }
    for (int round = 0; round < 60; round++) {
      // Every byte of the header, in the end, and some of the payload.
      long at =
          object.offset
              + (round < 20 ? random.nextInt(object.headerBytes) : 0)
              + (round >= 20 ? ExtentHeader.padded(object.headerBytes) + random.nextInt(BYTES) : 0);
      change(object, at);
      try (FileStore store = Stores.open(root())) {
        String when = "byte " + (at - object.offset) + " of the extent, seed " + seed;
        Stores.Got got = Stores.get(store, "key", BYTES);
        assertThat(got.described()).as(when).startsWith("FAILED CORRUPT");
        assertThat(Stores.get(store, "key", BYTES).status())
            .as(when)
            .isEqualTo(ObjectStatus.ABSENT);
        assertThat(store.stats().failed()).as(when).isEqualTo(1);
        assertThat(store.stats().found()).as(when).isZero();
        Stores.putOk(store, "key", bytes);
        Stores.expect(store, "key", bytes);
        Stores.expect(store, "neighbour", bytes);
        object = object("key");
      }
    }
  }

  @Test
  void range_inADamagedBlock_isCorruptAndOthersAreNot() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", bytes);
      StoredObject object = object("key");
      change(object, object.payloadOffset() + ExtentHeader.LEAST_BLOCK + 5);
      try (ReadSession session = store.openSession(List.of(Stores.key("key")), Stores.soon())) {
        HostMemory target = Stores.memory(new byte[100]);
        ReadOp good = new ReadOp(0, List.of(new Range(ExtentHeader.LEAST_BLOCK - 100, target)));
        assertThat(session.read(List.of(good), Stores.soon()).isOk(0)).isTrue();
        ReadOp bad = new ReadOp(0, List.of(new Range(ExtentHeader.LEAST_BLOCK - 50, target)));
        assertThat(session.read(List.of(bad), Stores.soon()).failure(0).code())
            .isEqualTo(FailureCode.CORRUPT);
      }
    }
  }

  @Test
  void segments_swapped_areSeenByTheirHeadersAlsoWithoutChecksums() throws IOException {
    Map<String, String> options = Map.of("checksum", "off", "segment", "4MiB");
    byte[] large = Stores.bytes(3 << 20, 1);
    byte[] other = Stores.bytes(3 << 20, 2);
    StoredObject first;
    StoredObject second;
    try (FileStore store = Stores.open(root(), options)) {
      Stores.putOk(store, "first", large);
      Stores.putOk(store, "second", other);
      first = object("first");
      second = object("second");
      assertThat(first.segment).isNotEqualTo(second.segment);
    }
    Path a = root().resolve(FileNames.segment(first.segment));
    Path b = root().resolve(FileNames.segment(second.segment));
    Path c = folder.resolve("aside");
    Files.move(a, c);
    Files.move(b, a);
    Files.move(c, b);
    try (FileStore store = Stores.open(root(), options)) {
      assertThat(Stores.get(store, "first", large.length).described()).startsWith("FAILED CORRUPT");
      assertThat(Stores.get(store, "second", large.length).described())
          .startsWith("FAILED CORRUPT");
      Stores.putOk(store, "first", large);
      Stores.expect(store, "first", large);
    }
  }

  @Test
  void segment_cutAtAnyPlace_losesWhatIsBehind() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    // One thread needs one segment.
    Map<String, String> oneSegment = Map.of("io-threads", "1");
    long end;
    Path segment;
    try (FileStore store = Stores.open(root(), oneSegment)) {
      for (int i = 0; i < 3; i++) {
        Stores.putOk(store, "key-" + i, bytes);
      }
      StoredObject last = object("key-2");
      segment = root().resolve(FileNames.segment(last.segment));
      end = last.end();
    }
    assertThat(Files.size(segment)).isEqualTo(end);
    Random random = new Random(3);
    for (int round = 0; round < 20; round++) {
      long length = round == 0 ? end - 1 : random.nextLong(end);
      try (RandomAccessFile file = new RandomAccessFile(segment.toFile(), "rw")) {
        file.setLength(length);
      }
      try (FileStore store = Stores.open(root(), oneSegment)) {
        long objects = 0;
        for (int i = 0; i < 3; i++) {
          if (Stores.exists(store, "key-" + i)) {
            Stores.expect(store, "key-" + i, bytes);
            objects++;
          }
        }
        assertThat(objects).isLessThan(3);
        assertThat(store.stats().liveBytes()).isEqualTo(objects * BYTES);
        for (int i = 0; i < 3; i++) {
          Stores.put(store, "key-" + i, bytes);
          Stores.expect(store, "key-" + i, bytes);
        }
        end =
            Math.max(Math.max(object("key-0").end(), object("key-1").end()), object("key-2").end());
      }
    }
  }

  @Test
  void segment_cutWhileOpen_isCorruptAndServesOn() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", bytes);
      StoredObject object = object("key");
      try (RandomAccessFile file =
          new RandomAccessFile(root().resolve(FileNames.segment(object.segment)).toFile(), "rw")) {
        file.setLength(BYTES / 2);
      }
      assertThat(Stores.get(store, "key", BYTES).described()).startsWith("FAILED CORRUPT");
      Stores.putOk(store, "key", bytes);
      Stores.expect(store, "key", bytes);
    }
  }

  @Test
  void segment_deleted_isAMissAfterReopening() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", bytes);
      Files.delete(root().resolve(FileNames.segment(object("key").segment)));
      // What is open is still there.
      Stores.expect(store, "key", bytes);
    }
    try (FileStore store = Stores.open(root())) {
      assertThat(Stores.get(store, "key", BYTES).status()).isEqualTo(ObjectStatus.ABSENT);
      assertThat(store.stats().liveBytes()).isZero();
      Stores.putOk(store, "key", bytes);
      Stores.expect(store, "key", bytes);
    }
  }

  @Test
  void segment_deletedBeforeItWasOpened_isAMiss() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    int segment;
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", bytes);
      segment = object("key").segment;
    }
    try (FileStore store = Stores.open(root())) {
      Files.delete(root().resolve(FileNames.segment(segment)));
      assertThat(Stores.get(store, "key", BYTES).status()).isEqualTo(ObjectStatus.ABSENT);
      assertThat(Stores.exists(store, "key")).isFalse();
      assertThat(store.stats().absent()).isEqualTo(1);
    }
  }

  @Test
  void segment_replacedByALink_isNotFollowed() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    Path segment;
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", bytes);
      segment = root().resolve(FileNames.segment(object("key").segment));
    }
    Path elsewhere = folder.resolve("elsewhere");
    Files.move(segment, elsewhere, StandardCopyOption.ATOMIC_MOVE);
    Files.createSymbolicLink(segment, elsewhere);
    try (FileStore store = Stores.open(root())) {
      assertThat(Stores.get(store, "key", BYTES).status()).isEqualTo(ObjectStatus.ABSENT);
      Stores.putOk(store, "key", bytes);
      Stores.expect(store, "key", bytes);
    }
    assertThat(Files.size(elsewhere)).isGreaterThan(BYTES);
  }

  @Test
  void folder_isForItsOwnerAlone() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[10]);
    }
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(root())))
        .isEqualTo("rwx------");
    try (Stream<Path> files = Files.list(root())) {
      for (Path file : files.toList()) {
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
            .as(file.toString())
            .isEqualTo("rw-------");
      }
    }
  }

  @Test
  void segment_ofRandomBytes_neverGivesWrongOnes() throws IOException {
    byte[] bytes = Stores.bytes(5_000, 1);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 40; round++) {
      Path segment;
      try (FileStore store = Stores.open(root())) {
        for (int i = 0; i < 20; i++) {
          Stores.put(store, "key-" + i, bytes);
        }
        segment = root().resolve(FileNames.segment(object("key-0").segment));
      }
      byte[] all = Files.readAllBytes(segment);
      int from = random.nextInt(all.length);
      int to = from + random.nextInt(all.length - from);
      byte[] noise = Stores.bytes(to - from, random.nextLong());
      System.arraycopy(noise, 0, all, from, noise.length);
      Files.write(segment, all);
      try (FileStore store = Stores.open(root())) {
        for (int i = 0; i < 20; i++) {
          Stores.Got got = Stores.get(store, "key-" + i, bytes.length);
          if (got.result().isOk(0)) {
            assertThat(got.bytes()).as("round " + round + " of seed " + seed).isEqualTo(bytes);
          }
        }
      }
    }
  }
}
