package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the superblock says, it names a store, or is refused with a sentence. */
class SuperblockFuzzTest {
  /** Reads the bytes as a superblock, and those of its fields with a right checksum. */
  @MethodSource("superblocks")
  @FuzzTest
  void store_anyBytes_isNamedOrRefused(byte[] bytes) {
    expectNamedOrRefused(ByteBuffer.wrap(bytes));
    byte[] fields = Arrays.copyOf(bytes, Superblock.BYTES - 4);
    CRC32C sum = new CRC32C();
    sum.update(fields);
    expectNamedOrRefused(
        ByteBuffer.allocate(Superblock.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(fields)
            .putInt((int) sum.getValue())
            .flip());
  }

  private static void expectNamedOrRefused(ByteBuffer block) {
    try {
      assertThat(Superblock.store(block)).isNotNull();
      assertThat(block.order(ByteOrder.LITTLE_ENDIAN).getInt(8)).isEqualTo(Superblock.VERSION);
    } catch (IOException e) {
      assertThat(e).hasMessageMatching("its (file|format) .+");
    }
  }

  /** Returns superblocks of this version, of the one before and of the next. */
  static List<byte[]> superblocks() {
    return List.of(
        superblock(Superblock.VERSION),
        superblock(0),
        superblock(Superblock.VERSION - 1),
        superblock(Superblock.VERSION + 1));
  }

  private static byte[] superblock(int version) {
    ByteBuffer block = ByteBuffer.allocate(Superblock.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    block.put("UC-CACHE".getBytes(StandardCharsets.US_ASCII)).putInt(version);
    block.putLong(16, 1).putLong(24, 2);
    CRC32C sum = new CRC32C();
    sum.update(block.slice(0, Superblock.BYTES - 4));
    block.putInt(Superblock.BYTES - 4, (int) sum.getValue());
    return block.array();
  }
}
