package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the entries of the index log say, they are read within their bytes, or refused. */
class LogFrameFuzzTest {
  private static final long LOG = 7;
  private static final long POSITION = 48;

  /** Reads the bytes as a frame, and as the entries of one whose length and checksum are right. */
  @MethodSource("frames")
  @FuzzTest
  void read_anyBytes_isEntriesOrNull(byte[] bytes) {
    expectEntriesOrNull(ByteBuffer.wrap(bytes));
    expectEntriesOrNull(sealed(bytes));
  }

  private static void expectEntriesOrNull(ByteBuffer source) {
    int begin = source.position();
    int most = source.remaining();
    List<LogEntry> entries = LogFrame.read(source, LOG, POSITION);
    if (entries == null) {
      assertThat(source.position()).isEqualTo(begin);
      return;
    }
    assertThat(source.position()).isGreaterThan(begin);
    // An entry has five bytes at least.
    assertThat(entries.size()).isLessThanOrEqualTo(most / 5);
    ByteBuffer again = LogFrame.of(entries, LOG, POSITION);
    assertThat(LogFrame.read(again, LOG, POSITION)).isEqualTo(entries);
  }

  private static ByteBuffer sealed(byte[] entries) {
    CRC32C sum = new CRC32C();
    sum.update(ByteBuffer.allocate(16).putLong(LOG).putLong(POSITION).flip());
    sum.update(entries);
    return ByteBuffer.allocate(entries.length + 8)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(entries.length)
        .putInt((int) sum.getValue())
        .put(entries)
        .flip();
  }

  /** Returns a frame of each kind of entry, and its entries alone. */
  static List<byte[]> frames() {
    List<LogEntry> all =
        List.of(
            new LogEntry.Segment(3, 1 << 20, 9),
            new LogEntry.Put(Stores.key("key/ä"), 5, 3, 256, 40, 4_000, 1_700_000_000),
            new LogEntry.Touch(Stores.key("key/ä")),
            new LogEntry.Remove(Stores.key("key/ä"), 5, /* evicted= */ false),
            new LogEntry.Remove(Stores.key("key/ä"), 5, /* evicted= */ true),
            new LogEntry.Clear("key/"),
            new LogEntry.Gone(3),
            new LogEntry.NextSegment(4, 5),
            new LogEntry.Continued(8, 48));
    return Stream.concat(all.stream().map(List::of), Stream.of(all))
        .map(entries -> bytes(LogFrame.of(entries, LOG, POSITION)))
        .<byte[]>mapMulti(
            (frame, to) -> {
              to.accept(frame);
              to.accept(Arrays.copyOfRange(frame, 8, frame.length));
            })
        .toList();
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }
}
