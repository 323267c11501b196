package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right to use a folder: alone, or beside others who ask for no more.
 *
 * <p>Locks of files end with the process, whatever ends it. Within a process they end when
 * <em>any</em> descriptor of the file is closed; so each is opened once, and whoever finds, in a
 * property of the JVM, that the folder is in use by another class loader does not touch them.
 */
final class FolderLock implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(FolderLock.class);
  private static final String CLAIM = "io.unifiedcache.backend.file:";
  private static final int MOST_HOLDER_BYTES = 1024;

  private final Path root;
  private final boolean exclusive;
  private final String holder;
  private final DiskFile owner;
  private final DiskFile publish;

  private FolderLock(
      Path root, boolean exclusive, String holder, DiskFile owner, DiskFile publish) {
    this.root = root;
    this.exclusive = exclusive;
    this.holder = holder;
    this.owner = owner;
    this.publish = publish;
  }

  /**
   * Locks a folder.
   *
   * @throws CacheException with code {@code BUSY} if others keep it from that, naming who
   * @throws IOException if the folder cannot be used, with a sentence that says why
   */
  static FolderLock acquire(Disk disk, Path root, boolean exclusive, String instance)
      throws IOException {
    String holder =
        "process "
            + ProcessHandle.current().pid()
            + " on "
            + hostName()
            + ", instance "
            + instance
            + (exclusive ? ", exclusive" : ", shared");
    requireStoreOrEmpty(disk, root);
    Object other = System.getProperties().putIfAbsent(CLAIM + root, holder);
    if (other != null) {
      throw inUse(root, String.valueOf(other));
    }
    DiskFile owner = null;
    DiskFile publish = null;
    try {
      owner = disk.open(root.resolve(FileNames.OWNER_LOCK), Disk.Access.CREATE);
      if (!owner.tryLock(!exclusive)) {
        throw inUse(root, read(owner));
      }
      write(owner, holder);
      publish = disk.open(root.resolve(FileNames.PUBLISH_LOCK), Disk.Access.CREATE);
      return new FolderLock(root, exclusive, holder, owner, publish);
    } catch (IOException | RuntimeException | Error e) {
      System.getProperties().remove(CLAIM + root, holder);
      closeAll(owner, publish);
      throw e;
    }
  }

  private static void requireStoreOrEmpty(Disk disk, Path root) throws IOException {
    List<String> names = disk.names(root);
    if (!names.contains(Superblock.NAME) && !names.stream().allMatch(FileNames::isBegun)) {
      throw new IOException(
          "it is neither empty nor a unified-cache store: it has " + names.getFirst());
    }
  }

  private static CacheException inUse(Path root, String holder) {
    return new CacheException(
        FailureCode.BUSY,
        "the folder %s is in use by %s: close that, or open it in shared mode in all processes"
            .formatted(root, holder));
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "this host";
    }
  }

  private static String read(DiskFile file) {
    ByteBuffer bytes = ByteBuffer.allocateDirect(MOST_HOLDER_BYTES);
    try {
      while (bytes.hasRemaining() && file.read(bytes, bytes.position()) > 0) {
        // Until the end of the file.
      }
    } catch (IOException e) {
      return "somebody (" + e.getMessage() + ")";
    }
    return StandardCharsets.UTF_8.decode(bytes.flip()).toString().strip();
  }

  private static void write(DiskFile file, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
    file.writeFully(buffer, 0);
    file.truncate(bytes.length);
  }

  /** Returns the folder. */
  Path root() {
    return root;
  }

  /** Throws if another one in this process cannot use the folder, too. */
  void requireShareable(boolean exclusively) {
    if (exclusive || exclusively) {
      throw inUse(root, holder);
    }
  }

  /** Locks the log against all other processes; false if another one has it. */
  boolean tryLockPublishing() throws IOException {
    return publish.tryLock(/* shared= */ false);
  }

  /** Lets others change the log. */
  void unlockPublishing() throws IOException {
    publish.unlock();
  }

  /** Gives the folder up. */
  @Override
  public void close() {
    closeAll(owner, publish);
    System.getProperties().remove(CLAIM + root, holder);
  }

  private static void closeAll(@org.jspecify.annotations.Nullable DiskFile... files) {
    for (DiskFile file : files) {
      try {
        if (file != null) {
          file.close();
        }
      } catch (IOException e) {
        LOG.warn("a lock cannot be closed", e);
      }
    }
  }
}
