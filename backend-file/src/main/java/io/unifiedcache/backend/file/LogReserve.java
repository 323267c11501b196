package io.unifiedcache.backend.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Room that is kept for the log on a disk that fills up, so that what was evicted for a put is
 * never lost for a frame that cannot be written.
 *
 * <p>It is a file of zeros, deleted when the log needs its room. Used while this process alone may
 * change the log.
 */
final class LogReserve {
  static final String NAME = "index.reserve";

  /** Enough for a thousand entries with keys of common length. */
  static final int BYTES = 256 << 10;

  private static final Logger LOG = LoggerFactory.getLogger(LogReserve.class);

  private final Disk disk;
  private final Path path;

  LogReserve(Disk disk, Path root) {
    this.disk = disk;
    this.path = root.resolve(NAME);
  }

  /** Makes the reserve if it is not there; returns whether it is. */
  boolean keep() {
    try {
      if (disk.size(path) >= BYTES) {
        return true;
      }
      try (DiskFile file = disk.open(path, Disk.Access.CREATE)) {
        file.writeFully(ByteBuffer.allocateDirect(BYTES), 0);
      }
      return true;
    } catch (IOException e) {
      LOG.debug("there is no room to keep for the log: {}", path, e);
      boolean unused = spend();
      return false;
    }
  }

  /** Gives the room to the log; returns whether there was any. */
  boolean spend() {
    try {
      return disk.delete(path);
    } catch (IOException e) {
      LOG.warn("the room that is kept for the log cannot be given to it: {}", path, e);
      return false;
    }
  }
}
