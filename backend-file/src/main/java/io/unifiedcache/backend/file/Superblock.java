package io.unifiedcache.backend.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32C;

/**
 * The beginning of the file that makes a directory a store: what it is, the version of its format,
 * its own name. {@link FolderLock} has what else is in the file.
 *
 * <p>See {@code docs/file-format.md}, section "Superblock".
 */
final class Superblock {
  static final String NAME = "unified-cache.store";

  /** Raised with every change that another program could misunderstand. */
  static final int VERSION = 3;

  /** The bytes of the file, of which the first {@link #BYTES} are the superblock. */
  static final int FILE_BYTES = 8192;

  static final int BYTES = 64;

  private static final long MAGIC = 0x45484341432d4355L; // "UC-CACHE"

  private Superblock() {}

  /**
   * Returns the name of the store.
   *
   * @param block the first bytes of the file, fewer than {@link #BYTES} if it has no more
   * @throws IOException that says in a sentence why the directory is refused
   */
  static UUID store(ByteBuffer block) throws IOException {
    ByteBuffer bytes = block.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.limit() < BYTES || bytes.getLong(0) != MAGIC) {
      throw new DamagedException("its file " + NAME + " is none of a unified-cache store");
    }
    if (bytes.getInt(BYTES - 4) != sum(bytes)) {
      throw new DamagedException(
          "its file " + NAME + " is damaged, or of a format that this program does not know");
    }
    int version = bytes.getInt(8);
    if (version != VERSION) {
      throw new UnknownVersionException(version);
    }
    return new UUID(bytes.getLong(16), bytes.getLong(24));
  }

  /** The file does not say what it has to. */
  static final class DamagedException extends IOException {
    private static final long serialVersionUID = 1;

    DamagedException(String message) {
      super(message);
    }
  }

  /** There is no such file. */
  static final class MissingException extends IOException {
    private static final long serialVersionUID = 1;

    MissingException() {
      super("it is no unified-cache store: it has no file " + NAME);
    }
  }

  /** A store has a format that this program does not know. */
  static final class UnknownVersionException extends IOException {
    private static final long serialVersionUID = 1;

    UnknownVersionException(int version) {
      super(
          "its format has version %d, and this program knows version %d alone"
              .formatted(version, VERSION));
    }
  }

  /**
   * Makes a directory a store, in one step, unless another process is first.
   *
   * <p>The file is whole and closed before it has its name: nobody can have locked what is closed
   * here.
   */
  static void create(Disk disk, Path root) throws IOException {
    create(disk, root, content(UUID.randomUUID(), FILE_BYTES));
  }

  /**
   * Gives a directory that has lost its superblock a damaged one, which can be locked and {@link
   * #restore restored}, unless another process is first.
   */
  static void createDamaged(Disk disk, Path root) throws IOException {
    create(disk, root, ByteBuffer.allocateDirect(FILE_BYTES));
  }

  /** Makes a damaged file the superblock of a store; texts for people in it stay. */
  static void restore(DiskFile file, UUID store) throws IOException {
    file.writeFully(content(store, FolderLock.TEXTS), 0);
    file.force();
  }

  private static ByteBuffer content(UUID store, int bytes) {
    ByteBuffer file = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    file.putLong(0, MAGIC).putInt(8, VERSION);
    file.putLong(16, store.getMostSignificantBits()).putLong(24, store.getLeastSignificantBits());
    return file.putInt(BYTES - 4, sum(file));
  }

  private static void create(Disk disk, Path root, ByteBuffer file) throws IOException {
    String unique = String.format(Locale.ROOT, ".%016x", ThreadLocalRandom.current().nextLong());
    Path temporary = root.resolve(NAME + unique + FileNames.TEMPORARY);
    Path name = root.resolve(NAME);
    try {
      try (DiskFile begun = disk.open(temporary, Disk.Access.CREATE)) {
        begun.writeFully(file, 0);
        begun.force();
      }
      giveName(disk, temporary, name);
      disk.forceNames(root);
    } finally {
      boolean unused = disk.delete(temporary);
    }
  }

  private static void giveName(Disk disk, Path temporary, Path name) throws IOException {
    try {
      boolean unused = disk.link(temporary, name);
    } catch (IOException e) {
      if (disk.identity(name) != null) {
        return;
      }
      // The file system has no hard links. Where two processes do this at once, the first is told
      // that its file has been replaced.
      disk.move(temporary, name);
    }
  }

  private static int sum(ByteBuffer block) {
    CRC32C sum = new CRC32C();
    sum.update(block.slice(0, BYTES - 4));
    return (int) sum.getValue();
  }
}
