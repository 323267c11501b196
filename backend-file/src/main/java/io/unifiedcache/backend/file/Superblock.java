package io.unifiedcache.backend.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The file that makes a folder a store: what it is, the version of its format, its own name.
 *
 * <p>See {@code docs/file-format.md}, section "Superblock".
 */
final class Superblock {
  static final String NAME = "unified-cache.store";

  /** Raised with every change that an older program could misunderstand. */
  static final int VERSION = 1;

  private static final long MAGIC = 0x45484341432d4355L; // "UC-CACHE"
  private static final int BYTES = 64;

  private Superblock() {}

  /**
   * Reads it.
   *
   * @return the name of the store; null if there is no such file
   * @throws IOException that says in a sentence why the folder is refused
   */
  static @Nullable UUID read(Disk disk, Path root) throws IOException {
    Path path = root.resolve(NAME);
    long size = disk.size(path);
    if (size < 0) {
      return null;
    }
    ByteBuffer block = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    if (size >= BYTES) {
      try (DiskFile file = disk.open(path, Disk.Access.READ)) {
        file.readFully(block, 0);
      }
      block.flip();
    }
    if (size < BYTES || block.getLong(0) != MAGIC) {
      throw new IOException("its file " + NAME + " is none of a unified-cache store");
    }
    int version = block.getInt(8);
    if (version > VERSION) {
      throw new IOException(
          "its format has version %d, and this program knows version %d"
              .formatted(version, VERSION));
    }
    if (block.getInt(BYTES - 4) != sum(block)) {
      throw new IOException("its file " + NAME + " is damaged");
    }
    return new UUID(block.getLong(16), block.getLong(24));
  }

  /** Writes it, in one step. */
  static UUID create(Disk disk, Path root) throws IOException {
    UUID store = UUID.randomUUID();
    ByteBuffer block = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    block.putLong(0, MAGIC).putInt(8, VERSION);
    block.putLong(16, store.getMostSignificantBits()).putLong(24, store.getLeastSignificantBits());
    block.putInt(BYTES - 4, sum(block));
    Path temporary = root.resolve(NAME + FileNames.TEMPORARY);
    try (DiskFile file = disk.open(temporary, Disk.Access.CREATE)) {
      file.writeFully(block, 0);
      file.force();
    }
    disk.move(temporary, root.resolve(NAME));
    disk.forceNames(root);
    return store;
  }

  private static int sum(ByteBuffer block) {
    CRC32C sum = new CRC32C();
    sum.update(block.slice(0, BYTES - 4));
    return (int) sum.getValue();
  }
}
