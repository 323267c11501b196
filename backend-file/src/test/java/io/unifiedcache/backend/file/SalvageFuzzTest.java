package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever is in the files of a log and a segment, a repair reads them to their ends. */
class SalvageFuzzTest {
  private static final UUID STORE = new UUID(1, 2);
  private static final int LOG = 3;

  /** Reads the bytes as a log without its header, and as a segment. */
  @MethodSource("files")
  @FuzzTest
  void look_anyBytes_countsThemAndEnds(byte[] bytes) throws Exception {
    Path root = Files.createTempDirectory("salvage");
    Path log = root.resolve(FileNames.log(LOG));
    Path segment = root.resolve(FileNames.segment(1));
    try {
      Files.write(log, bytes);
      Files.write(segment, bytes);
      LocalDisk disk = new LocalDisk();
      LogReading reading = new LogReading();
      try (DiskFile file = disk.open(log, Disk.Access.READ)) {
        reading.read(file, LOG, IndexLog.HEADER_BYTES);
      }
      assertThat(reading.unreadable()).isBetween(0L, (long) bytes.length);
      Salvage salvage = Salvage.of(disk, root, STORE, /* isLogWhole= */ false, new Job());
      assertThat(salvage.isStore()).isTrue();
      assertThat(salvage.causes()).isNotNull();
      assertThat(salvage.outcome("come back")).contains("objects with");
    } finally {
      Files.deleteIfExists(log);
      Files.deleteIfExists(segment);
      Files.delete(root);
    }
  }

  /** Returns a log, with damage and without, and a segment. */
  static List<byte[]> files() throws IOException {
    byte[] log = log();
    byte[] damaged = log.clone();
    damaged[IndexLog.HEADER_BYTES + 12] ^= 1;
    return List.of(log, damaged, Arrays.copyOf(log, log.length - 5), segment());
  }

  private static byte[] log() throws IOException {
    Path path = Files.createTempFile("salvage", ".log");
    List<LogEntry> entries = new ArrayList<>();
    entries.add(new LogEntry.NextSegment(2, 5));
    entries.add(new LogEntry.Segment(1, 1 << 20, 9));
    for (int i = 0; i < 1_500; i++) {
      entries.add(new LogEntry.Touch(Stores.key("key-" + i % 3)));
    }
    entries.add(new LogEntry.Clear("key-"));
    Iterator<LogEntry> all = entries.iterator();
    try {
      long end = IndexLog.write(new LocalDisk(), path, LOG, STORE, all, /* flush= */ false);
      assertThat(end).isEqualTo(Files.size(path));
      return Files.readAllBytes(path);
    } finally {
      Files.delete(path);
    }
  }

  private static byte[] segment() {
    int headerBytes = ExtentHeader.bytes(3, 0, ExtentHeader.LEAST_BLOCK);
    StoredObject object = new StoredObject(Stores.key("key"), 5, 1, 256, headerBytes, 0, 1);
    object.know(ExtentHeader.LEAST_BLOCK, new int[0]);
    ByteBuffer bytes = ByteBuffer.allocate(512).position(256);
    ByteBuffer header = ByteBuffer.allocate(headerBytes);
    ExtentHeader.write(header, object, STORE);
    return bytes.put(header.flip()).array();
  }
}
