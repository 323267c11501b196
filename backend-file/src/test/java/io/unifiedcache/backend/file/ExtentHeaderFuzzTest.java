package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the header of an extent says, it is read within its bytes, or is none. */
class ExtentHeaderFuzzTest {
  private static final int SEGMENT = 3;
  private static final long OFFSET = 256;

  /** Reads the bytes as a header, and as one whose length and checksum are right. */
  @MethodSource("headers")
  @FuzzTest
  void read_anyBytes_isAHeaderOrNull(byte[] bytes) {
    expectHeaderOrNull(ByteBuffer.wrap(bytes));
    if (bytes.length >= 8) {
      byte[] fields = bytes.clone();
      ByteBuffer header = ByteBuffer.allocate(bytes.length + 4).order(ByteOrder.LITTLE_ENDIAN);
      ByteBuffer.wrap(fields)
          .order(ByteOrder.LITTLE_ENDIAN)
          .putInt(0, ExtentHeader.MAGIC)
          .putInt(4, header.capacity());
      CRC32C sum = new CRC32C();
      sum.update(ByteBuffer.allocate(16).putLong(SEGMENT).putLong(OFFSET).flip());
      sum.update(fields);
      expectHeaderOrNull(header.put(fields).putInt((int) sum.getValue()).flip());
    }
  }

  private static void expectHeaderOrNull(ByteBuffer source) {
    int bytes = source.remaining();
    ExtentHeader header = ExtentHeader.read(source, SEGMENT, OFFSET);
    if (header != null) {
      // A header has 52 bytes and a key besides its checksums.
      assertThat(header.sums().length).isLessThanOrEqualTo((bytes - 53) / 4);
      StoredObject object = header.objectAt(SEGMENT, OFFSET);
      assertThat(object == null || header.isOf(object)).isTrue();
      assertThat(header.blockBytes())
          .matches(block -> block == 0 || block >= ExtentHeader.LEAST_BLOCK);
    }
  }

  /** Returns headers with and without checksums, and their fields without the sum of all. */
  static List<byte[]> headers() {
    byte[] with = header(150_000, ExtentHeader.LEAST_BLOCK);
    byte[] without = header(150_000, 0);
    byte[] empty = header(0, ExtentHeader.LEAST_BLOCK);
    return List.of(
        with,
        without,
        empty,
        Arrays.copyOf(with, with.length - 4),
        Arrays.copyOf(without, without.length - 4),
        Arrays.copyOf(empty, empty.length - 4));
  }

  private static byte[] header(long size, int blockBytes) {
    byte[] key = ExtentHeader.utf8(Stores.key("key/ä"));
    int headerBytes = ExtentHeader.bytes(key.length, size, blockBytes);
    ByteBuffer target = ByteBuffer.allocate(headerBytes);
    StoredObject object =
        new StoredObject(Stores.key("key/ä"), 5, SEGMENT, OFFSET, headerBytes, size, 1_700_000_000);
    object.know(blockBytes, new int[(int) ExtentHeader.sums(size, blockBytes)]);
    ExtentHeader.write(target, object, new UUID(1, 2));
    return target.array();
  }
}
