package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the header of an extent says, it is read within its bytes, or is none. */
class ExtentHeaderFuzzTest {
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
      sum.update(fields);
      expectHeaderOrNull(header.put(fields).putInt((int) sum.getValue()).flip());
    }
  }

  private static void expectHeaderOrNull(ByteBuffer source) {
    int bytes = source.remaining();
    ExtentHeader header = ExtentHeader.read(source);
    if (header != null) {
      // A header has 36 bytes and a key besides its checksums.
      assertThat(header.sums().length).isLessThanOrEqualTo((bytes - 37) / 4);
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
    ExtentHeader.write(
        target,
        new StoredObject(Stores.key("key/ä"), 5, 3, 256, headerBytes, size, 1_700_000_000),
        key,
        blockBytes,
        new int[(int) ExtentHeader.sums(size, blockBytes)]);
    return target.array();
  }
}
