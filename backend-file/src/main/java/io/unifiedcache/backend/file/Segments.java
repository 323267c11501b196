package io.unifiedcache.backend.file;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The segment files, opened when they are first used. Thread-safe. */
final class Segments implements Closeable {
  /** No segment is larger. */
  static final long MOST_BYTES = 1L << 50;

  private static final int MAX_NUMBER = 999_999_999;

  private final Disk disk;
  private final Path root;
  private final Disk.Access access;
  private final Map<Integer, DiskFile> open = new ConcurrentHashMap<>();

  /** How often each segment could not be forced. */
  private final Map<Integer, Integer> failures = new ConcurrentHashMap<>();

  /**
   * Creates the files of a store, none of which is open.
   *
   * @param access how segments can be opened that are there
   */
  Segments(Disk disk, Path root, Disk.Access access) {
    this.disk = disk;
    this.root = root;
    this.access = access;
  }

  /** Returns a segment that is there, to be read, and written if it is this process's own. */
  DiskFile file(int segment) throws IOException {
    DiskFile file = open.get(segment);
    return file != null ? file : open(segment, access);
  }

  /** Returns whether a segment can have this number. */
  static boolean isNumber(int number) {
    return number >= 0 && number <= MAX_NUMBER;
  }

  /**
   * Makes a segment, whose name survives a loss of power; none of this number has ever been there.
   */
  void create(int segment) throws IOException {
    try {
      open(segment, Disk.Access.CREATE);
      disk.forceNames(root);
    } catch (IOException | RuntimeException | Error e) {
      try {
        delete(segment);
      } catch (IOException second) {
        e.addSuppressed(second);
      }
      throw e;
    }
  }

  /**
   * Makes what was written to a segment survive a loss of power. Where that fails, the operating
   * system may have dropped bytes of all writers since, and says so only once: what was written to
   * the segment before has to be written again, as {@link #failures} tells.
   */
  void force(int segment) throws IOException {
    try {
      file(segment).force();
    } catch (IOException | RuntimeException | Error e) {
      failures.merge(segment, 1, Integer::sum);
      throw e;
    }
  }

  /** Returns how often a segment could not be forced. */
  int failures(int segment) {
    return failures.getOrDefault(segment, 0);
  }

  /** Returns the size of the file of a segment, or -1 if there is none. */
  long size(int segment) throws IOException {
    return disk.size(path(segment));
  }

  /**
   * Returns whether the file of a segment has been deleted, or another one put in its place, since
   * it was opened.
   */
  boolean isLost(int segment) throws IOException {
    DiskFile file = open.get(segment);
    Object now = disk.identity(path(segment));
    return now == null || (file != null && !file.identity().equals(now));
  }

  private synchronized DiskFile open(int segment, Disk.Access access) throws IOException {
    DiskFile file = open.get(segment);
    if (file == null) {
      file = disk.open(path(segment), access);
      open.put(segment, file);
    }
    return file;
  }

  /** Closes a segment, which whoever still needs it opens again. */
  synchronized void forget(int segment) throws IOException {
    DiskFile file = open.remove(segment);
    if (file != null) {
      file.close();
    }
  }

  /** Deletes a segment. */
  void delete(int segment) throws IOException {
    forget(segment);
    disk.delete(path(segment));
  }

  private Path path(int segment) {
    return root.resolve(FileNames.segment(segment));
  }

  @Override
  public synchronized void close() throws IOException {
    IOException problem = null;
    for (DiskFile file : open.values()) {
      try {
        file.close();
      } catch (IOException e) {
        if (problem == null) {
          problem = e;
        } else {
          problem.addSuppressed(e);
        }
      }
    }
    open.clear();
    if (problem != null) {
      throw problem;
    }
  }
}
