package io.unifiedcache.backend.file;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * An open file. Thread-safe.
 *
 * <p>To interrupt a thread that is in any of these closes the file, so that only threads of the
 * store may call them.
 */
interface DiskFile extends Closeable {
  /** Returns the size in bytes. */
  long length() throws IOException;

  /** Reads some bytes at a position; -1 at the end of the file. */
  int read(ByteBuffer target, long position) throws IOException;

  /** Writes some bytes at a position. */
  int write(ByteBuffer source, long position) throws IOException;

  /** Makes what was written survive a loss of power. */
  void force() throws IOException;

  /** Cuts the file. */
  void truncate(long bytes) throws IOException;

  /** Returns which file it is, as {@link Disk#identity} does of a name. */
  Object identity();

  /**
   * Locks a byte of the file, which does not have to be there, against other processes, until the
   * file is closed or {@link #unlock} is called.
   *
   * @return false if another process has locked it
   */
  boolean tryLock(long position, boolean shared) throws IOException;

  /** Unlocks a byte of the file, if it is locked. */
  void unlock(long position) throws IOException;

  /** Fills the target. */
  default void readFully(ByteBuffer target, long position) throws IOException {
    while (target.hasRemaining()) {
      int count = read(target, position);
      if (count < 0) {
        throw new EOFException(
            "the file ends at " + position + ", " + target.remaining() + " bytes early");
      }
      position += count;
    }
  }

  /** Writes all of the source. */
  default void writeFully(ByteBuffer source, long position) throws IOException {
    while (source.hasRemaining()) {
      position += write(source, position);
    }
  }
}
