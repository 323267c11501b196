package io.unifiedcache.backend.mooncake;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A directory on an SSD that one client alone moves objects to. Clients of Mooncake that share one
 * overwrite each other's files, and read the other's bytes as their own.
 *
 * <p>It is the first {@code client-N} under a directory that no other client has, in this process
 * or another. One that has ended leaves its directory to the next.
 */
final class OffloadDirectory implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OffloadDirectory.class);

  /** More clients than one machine has. */
  private static final int MAX_CLIENTS = 1024;

  /**
   * The locks of this process, by what the file system calls their files: to close a second channel
   * of such a file would give up its lock. Guarded by itself.
   */
  private static final Set<Object> CLAIMED = new HashSet<>();

  private final Path path;
  private final Object fileKey;
  private final FileChannel lock;

  private OffloadDirectory(Path path, Object fileKey, FileChannel lock) {
    this.path = path;
    this.fileKey = fileKey;
    this.lock = lock;
  }

  /**
   * Takes a directory, which is made if it is not there.
   *
   * @param under where it is
   * @throws IOException if none can be had
   */
  static OffloadDirectory claim(Path under) throws IOException {
    Files.createDirectories(under);
    synchronized (CLAIMED) {
      for (int i = 0; i < MAX_CLIENTS; i++) {
        OffloadDirectory claimed = tryClaim(under, "client-" + i);
        if (claimed != null) {
          return claimed;
        }
      }
    }
    throw new IOException(MAX_CLIENTS + " clients have a directory there already");
  }

  private static @Nullable OffloadDirectory tryClaim(Path under, String name) throws IOException {
    Path lockFile = under.resolve(name + ".lock");
    try {
      Files.createFile(lockFile);
    } catch (FileAlreadyExistsException e) {
      // The usual case: it stays where it is.
    }
    Object key = Files.readAttributes(lockFile, BasicFileAttributes.class).fileKey();
    Object fileKey = key == null ? lockFile.toRealPath() : key;
    if (CLAIMED.contains(fileKey)) {
      return null;
    }
    FileChannel channel = FileChannel.open(lockFile, StandardOpenOption.WRITE);
    boolean claimed = false;
    try {
      if (channel.tryLock() != null) {
        Path path = Files.createDirectories(under.resolve(name));
        claimed = CLAIMED.add(fileKey);
        return new OffloadDirectory(path, fileKey, channel);
      }
    } catch (OverlappingFileLockException e) {
      // Another copy of this class has it, whose lock would go with this channel: it stays open.
      claimed = CLAIMED.add(fileKey);
    } finally {
      if (!claimed) {
        channel.close();
      }
    }
    return null;
  }

  /** Returns the directory. */
  Path path() {
    return path;
  }

  /** Leaves the directory to others, once its client has been closed. */
  @Override
  public void close() {
    synchronized (CLAIMED) {
      try {
        lock.close();
        CLAIMED.remove(fileKey);
      } catch (IOException e) {
        LOG.warn("{} stays taken until this process ends", path, e);
      }
    }
  }
}
