package io.unifiedcache.backend.file;

import io.unifiedcache.api.store.Verification.Remedy;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Damaged extents that are kept in the folder of the store, to be looked at: for each a file with
 * its bytes, and one that says what it is.
 *
 * <p>They have a bound, beyond which nothing is kept until somebody deletes them. The store itself
 * never reads them. Used by one thread.
 */
final class SetAside {
  private static final Logger LOG = LoggerFactory.getLogger(SetAside.class);

  static final String PREFIX = "damaged-";

  /** No more bytes are kept than this. */
  static final long MOST_BYTES = 256L << 20;

  private static final int CHUNK_BYTES = 1 << 20;

  private final Disk disk;
  private final Path root;
  private final long minFree;
  private long files;
  private long bytes;

  /**
   * Looks at what there is.
   *
   * @param minFree the bytes that the file system is left
   */
  SetAside(Disk disk, Path root, long minFree) throws IOException {
    this.disk = disk;
    this.root = root;
    this.minFree = minFree;
    for (String name : disk.names(root)) {
      if (name.startsWith(PREFIX)) {
        files++;
        bytes += Math.max(0, disk.size(root.resolve(name)));
      }
    }
  }

  /** Returns how many files there are. */
  long files() {
    return files;
  }

  /** Returns the bytes that they have. */
  long bytes() {
    return bytes;
  }

  /**
   * What became of a damaged extent.
   *
   * @param message where it is kept, or why it is not
   */
  record Kept(Remedy remedy, String message) {}

  /** Copies a damaged extent. */
  Kept keep(StoredObject object, String damage, Segments segments) {
    if (object.extentBytes() > MOST_BYTES - bytes) {
      return new Kept(
          Remedy.DROPPED,
          "not kept, since %,d bytes are set aside already, of at most %,d"
              .formatted(bytes, MOST_BYTES));
    } else if (disk.usableBytes(root) - object.extentBytes() < minFree) {
      return new Kept(Remedy.DROPPED, "not kept, since the disk has no room");
    }
    String name = String.format(Locale.ROOT, PREFIX + "%016x", object.generation);
    Path extent = root.resolve(name + ".extent");
    Path text = root.resolve(name + ".txt");
    try {
      long copied = copy(object, segments, extent);
      write(text, describe(object, damage));
      files += 2;
      bytes += copied;
      return new Kept(Remedy.SET_ASIDE, "kept as " + extent);
    } catch (IOException e) {
      delete(extent);
      delete(text);
      return new Kept(Remedy.DROPPED, "not kept: " + e);
    }
  }

  /** Deletes what was kept of an extent. */
  void forget(StoredObject object) {
    String name = String.format(Locale.ROOT, PREFIX + "%016x", object.generation);
    delete(root.resolve(name + ".extent"));
    delete(root.resolve(name + ".txt"));
  }

  private long copy(StoredObject object, Segments segments, Path to) throws IOException {
    DiskFile from = segments.file(object.segment);
    disk.delete(to);
    try (DiskFile target = disk.open(to, Disk.Access.CREATE)) {
      ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK_BYTES);
      long done = 0;
      long bytesToCopy = object.end() - object.offset;
      while (done < bytesToCopy) {
        chunk.clear().limit((int) Math.min(CHUNK_BYTES, bytesToCopy - done));
        int read = from.read(chunk, object.offset + done);
        if (read <= 0) {
          // The file ends early, which is what is wrong with it.
          break;
        }
        target.writeFully(chunk.flip(), done);
        done += read;
      }
      return done;
    }
  }

  private static String describe(StoredObject object, String damage) {
    return """
    key         %s
    size        %d
    stored      %s
    generation  %016x
    was         %s, header of %d bytes at %d
    found       %s, %s
    """
        .formatted(
            object.key.value(),
            object.size,
            object.storedAt(),
            object.generation,
            FileNames.segment(object.segment),
            object.headerBytes,
            object.offset,
            Instant.now(),
            damage);
  }

  private void write(Path path, String text) throws IOException {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    disk.delete(path);
    try (DiskFile file = disk.open(path, Disk.Access.CREATE)) {
      file.writeFully(ByteBuffer.allocateDirect(utf8.length).put(utf8).flip(), 0);
    }
  }

  private void delete(Path path) {
    try {
      disk.delete(path);
    } catch (IOException e) {
      LOG.warn("{} cannot be deleted", path, e);
    }
  }
}
