package io.unifiedcache.backend.file;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * One file of the index log, and how far it has been read.
 *
 * <p>See {@code docs/file-format.md}, section "Index log". Used by one thread at a time, but for
 * {@link #isKnownToBeRead}.
 */
final class IndexLog implements Closeable {
  private static final long MAGIC = 0x474f4c2d58445543L; // "CUDX-LOG"
  static final int HEADER_BYTES = 48;
  private static final int MOST_KEPT_BYTES = 1 << 20;
  private static final int CHUNK_BYTES = 1 << 20;

  private final long number;
  private final DiskFile file;
  private final Disk.Watch watch;

  /** Where the next frame begins. */
  private volatile long position;

  /** The buffer of what was appended last, to be used again. */
  private @Nullable ByteBuffer appended;

  private ByteBuffer chunk = ByteBuffer.allocateDirect(0);

  private IndexLog(long number, DiskFile file, Disk.Watch watch, long position) {
    this.number = number;
    this.file = file;
    this.watch = watch;
    this.position = position;
  }

  /**
   * Opens a log.
   *
   * @param access how it can be opened
   * @return null if there is no such file, or if its header is not right
   */
  static @Nullable IndexLog open(Disk disk, Disk.Access access, Path path, long number, UUID store)
      throws IOException {
    if (disk.size(path) < HEADER_BYTES) {
      return null;
    }
    DiskFile file = disk.open(path, access);
    try {
      ByteBuffer header = ByteBuffer.allocateDirect(HEADER_BYTES);
      file.readFully(header, 0);
      if (!header.flip().equals(header(number, store))) {
        file.close();
        return null;
      }
      return new IndexLog(number, file, disk.watch(path), HEADER_BYTES);
    } catch (IOException | RuntimeException e) {
      file.close();
      throw e;
    }
  }

  /**
   * Writes a log that begins with entries.
   *
   * @return the bytes it has
   */
  static long write(
      Disk disk, Path path, long number, UUID store, Iterator<LogEntry> entries, boolean flush)
      throws IOException {
    disk.delete(path);
    try (DiskFile file = disk.open(path, Disk.Access.CREATE)) {
      file.writeFully(header(number, store), 0);
      long end = HEADER_BYTES;
      while (entries.hasNext()) {
        List<LogEntry> some = new ArrayList<>();
        while (entries.hasNext() && some.size() < 1_000) {
          some.add(entries.next());
        }
        ByteBuffer frames = LogFrame.of(some, number, end);
        int length = frames.remaining();
        file.writeFully(frames, end);
        end += length;
      }
      if (flush) {
        file.force();
      }
      return end;
    }
  }

  /**
   * Returns the store that a log is of; null if its header is not right.
   *
   * @param header its first bytes, {@link #HEADER_BYTES} or fewer where it has no more
   */
  static @Nullable UUID storeOf(ByteBuffer header, long number) {
    ByteBuffer bytes = header.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.remaining() < HEADER_BYTES) {
      return null;
    }
    UUID store = new UUID(bytes.getLong(24), bytes.getLong(32));
    return bytes.equals(header(number, store)) ? store : null;
  }

  private static ByteBuffer header(long number, UUID store) {
    ByteBuffer header = ByteBuffer.allocateDirect(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    header.putLong(MAGIC).putInt(Superblock.VERSION).putInt(HEADER_BYTES).putLong(number);
    header.putLong(store.getMostSignificantBits()).putLong(store.getLeastSignificantBits());
    CRC32C sum = new CRC32C();
    sum.update(header.duplicate().flip());
    return header.putInt((int) sum.getValue()).putInt(0).flip();
  }

  /** Returns the number of this log. */
  long number() {
    return number;
  }

  /** Returns where the next frame begins. */
  long position() {
    return position;
  }

  /** Goes on reading behind what is known already. */
  void skipTo(long end) {
    position = end;
  }

  /**
   * Returns whether it is known, without waiting for anything, that there is nothing to read. Any
   * thread may ask, interrupted or not.
   */
  boolean isKnownToBeRead() {
    return watch.isQuick() && !hasGrown();
  }

  /** Returns whether there may be something to read. */
  boolean hasGrown() {
    try {
      return watch.length() != position;
    } catch (IOException e) {
      // Closed meanwhile, or it cannot be told: whoever reads will find out.
      return true;
    }
  }

  /** What the end of a log looked like. */
  enum End {
    /** Everything was read. */
    CLEAN,
    /** There is something that is no frame: of a crash, or still being written. */
    TORN,
    /** The log was shorter than what has been read: another one has taken its place. */
    CUT,
    /** The log goes on in another file; nothing behind that entry was read. */
    CONTINUED
  }

  /** Reads what has been added, and passes it on frame by frame. */
  End read(Consumer<List<LogEntry>> to) throws IOException {
    long length = file.length();
    if (length < position) {
      return End.CUT;
    }
    if (position == length) {
      return End.CLEAN;
    }
    reserve(Math.min(length - position, CHUNK_BYTES));
    while (position < length) {
      chunk.clear().limit((int) Math.min(chunk.capacity(), length - position));
      long begin = position;
      file.readFully(chunk, begin);
      chunk.flip();
      int read = chunk.limit();
      List<LogEntry> entries;
      while ((entries = LogFrame.read(chunk, number, position)) != null) {
        if (entries.getLast() instanceof LogEntry.Continued next) {
          if (next.log() <= number) {
            // Nobody writes this: to follow it would never end.
            return End.TORN;
          }
          // Not passed until the next log is in use, so that callers do not take this one for read.
          to.accept(entries);
          return End.CONTINUED;
        }
        to.accept(entries);
        position = begin + chunk.position();
      }
      if (position == begin) {
        if (begin + read >= length || chunk.capacity() >= LogFrame.MOST_BYTES + 8) {
          return End.TORN;
        }
        reserve(Math.min(length - position, LogFrame.MOST_BYTES + 8L));
      }
    }
    return End.CLEAN;
  }

  private void reserve(long bytes) {
    if (chunk.capacity() < bytes) {
      chunk = ByteBuffer.allocateDirect((int) Math.max(bytes, 1 << 16));
    }
  }

  /**
   * Adds entries at the end, which has been read. If it fails, it has to be {@link #read} whether
   * they were added: nothing may be, or a torn frame, or all.
   *
   * @return where they end; {@link #skipTo} it once they are applied, and not before, so that
   *     {@link #hasGrown} holds back whoever would miss them
   */
  long append(List<LogEntry> entries) throws IOException {
    ByteBuffer before = appended;
    ByteBuffer frames =
        before == null
            ? LogFrame.of(entries, number, position)
            : LogFrame.of(entries, number, position, before);
    appended = frames.capacity() <= MOST_KEPT_BYTES ? frames : null;
    long end = position + frames.remaining();
    try {
      file.writeFully(frames, position);
    } catch (IOException | RuntimeException | Error e) {
      try {
        // A reader that has gone beyond, should the frame be whole, reads everything anew.
        file.truncate(position);
      } catch (IOException second) {
        e.addSuppressed(second);
      }
      throw e;
    }
    return end;
  }

  /** Returns whether nothing is behind the frames that were read, as after a failed append. */
  boolean isCutBack() throws IOException {
    return file.length() == position;
  }

  /** Makes what was added survive a loss of power. */
  void force() throws IOException {
    file.force();
  }

  /** Cuts this log to nothing, so that whoever follows it looks for another one. */
  void abolish() throws IOException {
    file.truncate(0);
  }

  @Override
  public void close() throws IOException {
    try (file;
        watch) {
      // Both are closed.
    }
  }
}
