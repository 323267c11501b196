package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The header of an extent: whose object it holds, and the checksums of its payload.
 *
 * <p>See {@code docs/file-format.md}, section "Extents".
 */
final class ExtentHeader {
  /** Extents begin at multiples of this, and take multiples of it. */
  static final int GRANULE = 256;

  static final int MAGIC = 0x55435831;

  /** The least block, and the one of all but huge objects. */
  static final int LEAST_BLOCK = 64 << 10;

  private static final int FIXED_BYTES = 32;
  private static final int SUM_BYTES = 4;

  /** More checksums than this are not held for one object: its blocks are larger instead. */
  private static final int MOST_SUMS = 1 << 16;

  /** No header is larger. */
  static final int MOST_BYTES = FIXED_BYTES + Limits.KEY_BYTES + SUM_BYTES * (MOST_SUMS + 1);

  private final long generation;
  private final long payloadBytes;
  private final int blockBytes;
  private final byte[] key;
  private final int[] sums;

  private ExtentHeader(long generation, long payloadBytes, int blockBytes, byte[] key, int[] sums) {
    this.generation = generation;
    this.payloadBytes = payloadBytes;
    this.blockBytes = blockBytes;
    this.key = key;
    this.sums = sums;
  }

  /** Returns how many bytes of the payload one checksum is for; 0 if there are none. */
  int blockBytes() {
    return blockBytes;
  }

  /** Returns the checksums of the blocks. */
  int[] sums() {
    return sums;
  }

  /** Returns the size of the blocks of an object with checksums. */
  static int blockBytes(long payloadBytes) {
    long block = LEAST_BLOCK;
    while (sums(payloadBytes, block) > MOST_SUMS && block < 1 << 30) {
      block <<= 1;
    }
    return (int) block;
  }

  /** Returns how many checksums an object has. */
  static long sums(long payloadBytes, long blockBytes) {
    return blockBytes == 0 ? 0 : (payloadBytes - 1 + blockBytes) / blockBytes;
  }

  /** Returns the bytes of a header. */
  static int bytes(int keyBytes, long payloadBytes, int blockBytes) {
    return Math.toIntExact(
        FIXED_BYTES + keyBytes + SUM_BYTES * (sums(payloadBytes, blockBytes) + 1));
  }

  /** Returns the bytes up to the next granule. */
  static long padded(long bytes) {
    return (bytes + GRANULE - 1) & -GRANULE;
  }

  /** Returns the bytes of an extent. */
  static long extentBytes(int headerBytes, long payloadBytes) {
    return padded(padded(headerBytes) + payloadBytes);
  }

  /** Writes the header of an object. */
  static void write(
      ByteBuffer target, StoredObject object, byte[] key, int blockBytes, int[] sums) {
    int begin = target.position();
    target.order(ByteOrder.LITTLE_ENDIAN);
    target
        .putInt(MAGIC)
        .putInt(object.headerBytes)
        .putLong(object.generation)
        .putLong(object.size)
        .putInt(blockBytes)
        .putInt(key.length)
        .put(key);
    for (int sum : sums) {
      target.putInt(sum);
    }
    CRC32C all = new CRC32C();
    all.update(target.duplicate().flip().position(begin));
    target.putInt((int) all.getValue());
  }

  /** Reads a header; null if it is not a whole one. */
  static @Nullable ExtentHeader read(ByteBuffer source) {
    source.order(ByteOrder.LITTLE_ENDIAN);
    int bytes = source.remaining();
    if (bytes < FIXED_BYTES + SUM_BYTES) {
      return null;
    }
    CRC32C all = new CRC32C();
    all.update(source.slice(source.position(), bytes - SUM_BYTES));
    if (source.getInt(source.position() + bytes - SUM_BYTES) != (int) all.getValue()
        || source.getInt() != MAGIC
        || source.getInt() != bytes) {
      return null;
    }
    long generation = source.getLong();
    long payloadBytes = source.getLong();
    int blockBytes = source.getInt();
    int keyBytes = source.getInt();
    boolean legal =
        payloadBytes >= 0
            && payloadBytes <= Limits.MOST_CAPACITY
            && (blockBytes == 0 || (blockBytes >= LEAST_BLOCK && Integer.bitCount(blockBytes) == 1))
            && keyBytes > 0
            && keyBytes <= Limits.KEY_BYTES
            && sums(payloadBytes, blockBytes) <= MOST_SUMS
            && bytes(keyBytes, payloadBytes, blockBytes) == bytes;
    if (!legal) {
      return null;
    }
    byte[] key = new byte[keyBytes];
    source.get(key);
    int[] sums = new int[(int) sums(payloadBytes, blockBytes)];
    for (int i = 0; i < sums.length; i++) {
      sums[i] = source.getInt();
    }
    return new ExtentHeader(generation, payloadBytes, blockBytes, key, sums);
  }

  /** Tells whether this is the header of the object. */
  boolean isOf(StoredObject object) {
    return generation == object.generation
        && payloadBytes == object.size
        && Arrays.equals(key, utf8(object.key));
  }

  /** Returns a key as it is stored. */
  static byte[] utf8(ObjectKey key) {
    return key.value().getBytes(StandardCharsets.UTF_8);
  }
}
