package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The header of an extent: whose object it holds, and the checksums of its payload.
 *
 * <p>Its own checksum covers the place of the extent as well, so that a header means nothing
 * anywhere else: not in the bytes of an object, nor in another segment.
 *
 * <p>See {@code docs/file-format.md}, section "Extents".
 */
final class ExtentHeader {
  /** Extents begin at multiples of this, and take multiples of it. */
  static final int GRANULE = 256;

  static final int MAGIC = 0x55435831;

  /** The least block, and the one of all but huge objects. */
  static final int LEAST_BLOCK = 64 << 10;

  private static final int FIXED_BYTES = 48;
  private static final int SUM_BYTES = 4;

  /** More checksums than this are not held for one object: its blocks are larger instead. */
  private static final int MOST_SUMS = 1 << 16;

  /** No header is larger. */
  static final int MOST_BYTES = FIXED_BYTES + Limits.KEY_BYTES + SUM_BYTES * (MOST_SUMS + 1);

  private final UUID store;
  private final long generation;
  private final long payloadBytes;
  private final int blockBytes;
  private final byte[] key;
  private final int[] sums;

  private ExtentHeader(
      UUID store, long generation, long payloadBytes, int blockBytes, byte[] key, int[] sums) {
    this.store = store;
    this.generation = generation;
    this.payloadBytes = payloadBytes;
    this.blockBytes = blockBytes;
    this.key = key;
    this.sums = sums;
  }

  /** Returns the store that it was written for. */
  UUID store() {
    return store;
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

  /** Writes the header of an object whose checksums are known. */
  static void write(ByteBuffer target, StoredObject object, UUID store) {
    int begin = target.position();
    byte[] key = utf8(object.key);
    target.order(ByteOrder.LITTLE_ENDIAN);
    target
        .putInt(MAGIC)
        .putInt(object.headerBytes)
        .putLong(store.getMostSignificantBits())
        .putLong(store.getLeastSignificantBits())
        .putLong(object.generation)
        .putLong(object.size)
        .putInt(object.blockBytes())
        .putInt(key.length)
        .put(key);
    for (int sum : object.sums()) {
      target.putInt(sum);
    }
    target.putInt(sum(target.duplicate().flip().position(begin), object.segment, object.offset));
  }

  private static int sum(ByteBuffer fields, int segment, long offset) {
    CRC32C sum = new CRC32C();
    sum.update(ByteBuffer.allocate(16).putLong(segment).putLong(offset).flip());
    sum.update(fields);
    return (int) sum.getValue();
  }

  /**
   * Returns how many bytes a header says that it has; 0 if it is none.
   *
   * @param source eight bytes of it, or more
   */
  static int bytesOf(ByteBuffer source) {
    source.order(ByteOrder.LITTLE_ENDIAN);
    int bytes = source.getInt(source.position() + 4);
    return source.getInt(source.position()) == MAGIC && bytes > FIXED_BYTES && bytes <= MOST_BYTES
        ? bytes
        : 0;
  }

  /**
   * Reads a header; null if it is not a whole one, or not of this place.
   *
   * @param segment where the extent is
   * @param offset where it begins there
   */
  static @Nullable ExtentHeader read(ByteBuffer source, int segment, long offset) {
    source.order(ByteOrder.LITTLE_ENDIAN);
    int bytes = source.remaining();
    if (bytes < FIXED_BYTES + SUM_BYTES) {
      return null;
    }
    int sum = sum(source.slice(source.position(), bytes - SUM_BYTES), segment, offset);
    if (source.getInt(source.position() + bytes - SUM_BYTES) != sum
        || source.getInt() != MAGIC
        || source.getInt() != bytes) {
      return null;
    }
    UUID store = new UUID(source.getLong(), source.getLong());
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
    return new ExtentHeader(store, generation, payloadBytes, blockBytes, key, sums);
  }

  /** Returns the object of an extent; null if its key is none. */
  @Nullable StoredObject objectAt(int segment, long offset) {
    String text;
    try {
      text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(key)).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
    int headerBytes = bytes(key.length, payloadBytes, blockBytes);
    return new StoredObject(
        new ObjectKey(text),
        generation,
        segment,
        offset,
        headerBytes,
        payloadBytes,
        Generations.seconds(generation));
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
