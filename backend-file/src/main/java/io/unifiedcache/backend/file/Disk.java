package io.unifiedcache.backend.file;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The files below a store: a seam through which tests let a disk fill up, fail or stall.
 *
 * <p>Symbolic links are not followed: a file that is one cannot be opened. Thread-safe.
 */
interface Disk {
  /** How a file is opened. */
  enum Access {
    /** It is there, and is only read. */
    READ,
    /** It is there, and is read and written. */
    WRITE,
    /** It is read and written, and made if it is not there, for its owner alone. */
    CREATE,
    /** It is read and written, and made; it is for whom the process's files are by default. */
    NEW
  }

  /** Looks at how long a file is. Thread-safe. */
  interface Watch extends Closeable {
    /** Returns the size in bytes, also to threads that are interrupted. */
    long length() throws IOException;

    /**
     * Returns whether the size is told without waiting for anything, as where the file system is in
     * this machine; otherwise only threads of the store may ask for it.
     */
    boolean isQuick();
  }

  /** Opens a file. */
  DiskFile open(Path path, Access access) throws IOException;

  /** Opens a file to ask for its length only, from any thread. */
  Watch watch(Path path) throws IOException;

  /** Returns the names in a folder. */
  List<String> names(Path folder) throws IOException;

  /** Returns the size of a file, or -1 if there is no such file. */
  long size(Path path) throws IOException;

  /**
   * Returns which file has a name: what is equal for one file under all of its names, and different
   * for two files that are there at the same time; null if there is no such file.
   */
  @Nullable Object identity(Path path) throws IOException;

  /** Gives a file another name, in one step, taking the place of one that has it. */
  void move(Path from, Path to) throws IOException;

  /** Gives a file another name besides, in one step; false if something has that name. */
  boolean link(Path from, Path to) throws IOException;

  /** Deletes a file; false if it is not there. */
  boolean delete(Path path) throws IOException;

  /** Makes the names in a folder survive a loss of power. */
  void forceNames(Path folder) throws IOException;

  /** Returns how many bytes the file system has left. */
  long usableBytes(Path folder);
}
