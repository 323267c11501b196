package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right to use a store: alone, or beside others who ask for no more; and all locks in it.
 *
 * <p>All locks are on bytes of one file, the one that makes the directory a store: so who has a
 * lock has it on the store, and not on a file that a cleaner may have deleted and another process
 * made anew. Before anything is changed, the name and the content of that file are compared with
 * what was opened; once they have parted, nothing is done any more.
 *
 * <p>Locks of files end with the process, whatever ends it. Within a process they end when
 * <em>any</em> descriptor of the file is closed; so it is opened once, and whoever finds, in a
 * property of the JVM, that another class loader has it open does not touch it.
 *
 * <p>Thread-safe.
 */
final class FolderLock implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(FolderLock.class);

  /** Precedes the identity of the file in a property of the JVM whose value names who has it. */
  static final String CLAIM = "io.unifiedcache.backend.file:";

  /** Locked by every process that has the store open, shared or exclusively. */
  private static final long OWNER = 1L << 62;

  /** Locked by the one process that changes the log. */
  private static final long PUBLISHER = OWNER + 1;

  /** The numbers of writers: each locks the byte of its number as long as it lives. */
  static final long LEAST_WRITER = 1L << 61;

  static final long MOST_WRITER = OWNER - 1;

  /** Where the file names who opened the store last, and who changed its log last. */
  private static final long OWNER_TEXT = 4096;

  /** Where texts for people begin. */
  static final int TEXTS = (int) OWNER_TEXT;

  private static final long PUBLISHER_TEXT = 4608;
  private static final int TEXT_BYTES = 512;

  /** What a store is locked for. */
  enum Purpose {
    /** To store and read objects. */
    USE,
    /** To see what is there, also where it can only be read. */
    LOOK,
    /** To rebuild what is damaged, be it the superblock itself. */
    REPAIR
  }

  /** For so long a store that was the same is taken to be the same. */
  private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /**
   * Files of which it is not known who has locked them: they were put in the place of others while
   * those were opened. To close one could end a lock of another class loader.
   */
  private static final List<DiskFile> UNKNOWN = new ArrayList<>();

  private final Disk disk;
  private final Path root;
  private final boolean exclusive;
  private final boolean writable;
  private final String holder;
  private final DiskFile file;
  private volatile ByteBuffer block;
  private volatile @Nullable UUID store;
  private final ReentrantLock writers = new ReentrantLock();

  private volatile long same = System.nanoTime();
  private volatile boolean lost;

  private FolderLock(
      Disk disk, Path root, DiskFile file, boolean writable, String holder, boolean exclusive)
      throws IOException {
    this.disk = disk;
    this.root = root;
    this.file = file;
    this.writable = writable;
    this.holder = holder;
    this.exclusive = exclusive;
    block = readBlock();
  }

  /**
   * Locks a store.
   *
   * @param identity the identity of its superblock, which nobody in this class loader has open
   * @throws CacheException with code {@code BUSY} if others keep it from that, naming who
   * @throws IOException if the directory cannot be used, with a sentence that says why
   */
  static FolderLock acquire(
      Disk disk, Path root, Object identity, boolean exclusive, String instance, Purpose purpose)
      throws IOException {
    String holder = holder(instance, exclusive);
    Object other = System.getProperties().putIfAbsent(CLAIM + identity, holder);
    if (other != null) {
      throw inUse(root, String.valueOf(other));
    }
    DiskFile file = null;
    try {
      boolean writable = true;
      try {
        file = open(disk, root, identity, Disk.Access.WRITE);
      } catch (IOException e) {
        if (purpose != Purpose.LOOK || !isUnwritable(e)) {
          throw e;
        }
        file = open(disk, root, identity, Disk.Access.READ);
        writable = false;
      }
      FolderLock lock = new FolderLock(disk, root, file, writable, holder, exclusive);
      lock.identify(purpose);
      // Without the right to write a file it cannot be locked exclusively.
      if (!file.tryLock(OWNER, !exclusive || !writable)) {
        throw inUse(root, lock.readText(OWNER_TEXT));
      }
      lock.writeText(OWNER_TEXT);
      return lock;
    } catch (IOException | RuntimeException | Error e) {
      close(file);
      System.getProperties().remove(CLAIM + identity, holder);
      throw e;
    }
  }

  private void identify(Purpose purpose) throws IOException {
    try {
      store = Superblock.store(block);
    } catch (Superblock.DamagedException e) {
      if (purpose != Purpose.REPAIR) {
        throw e;
      }
    }
  }

  private static DiskFile open(Disk disk, Path root, Object identity, Disk.Access access)
      throws IOException {
    DiskFile file = disk.open(root.resolve(Superblock.NAME), access);
    if (!file.identity().equals(identity)) {
      synchronized (UNKNOWN) {
        UNKNOWN.add(file);
      }
      throw new IOException("its file " + Superblock.NAME + " was replaced while it was opened");
    }
    return file;
  }

  private static boolean isUnwritable(IOException problem) {
    return problem instanceof AccessDeniedException
        || (problem instanceof FileSystemException e
            && String.valueOf(e.getReason()).contains("Read-only file system"));
  }

  private static String holder(String instance, boolean exclusive) {
    return "process "
        + ProcessHandle.current().pid()
        + " on "
        + hostName()
        + ", instance "
        + instance
        + (exclusive ? ", exclusive" : ", shared");
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "this host";
    }
  }

  private static CacheException inUse(Path root, String holder) {
    return new CacheException(
        FailureCode.BUSY,
        "the directory %s is in use by %s: close that, or open it in shared mode in all processes"
            .formatted(root, holder));
  }

  /** Returns the directory. */
  Path root() {
    return root;
  }

  /** Returns the identity of the file that makes it a store. */
  Object identity() {
    return file.identity();
  }

  /** Returns the UUID of the store. */
  UUID store() {
    UUID known = store;
    if (known == null) {
      throw new IllegalStateException("the superblock of " + root + " is damaged");
    }
    return known;
  }

  /** Returns whether the superblock does not say which store it is. */
  boolean isDamaged() {
    return store == null;
  }

  /** Writes a superblock that is damaged anew. */
  void restore(UUID known) throws IOException {
    Superblock.restore(file, known);
    block = readBlock();
    store = known;
  }

  /** Returns how files of the store can be opened that are there. */
  Disk.Access access() {
    return writable ? Disk.Access.WRITE : Disk.Access.READ;
  }

  /** Throws if another one in this process cannot use the store, too. */
  void requireShareable(boolean exclusively) {
    if (exclusive || exclusively) {
      throw inUse(root, holder);
    }
  }

  // Whether it is still the store that was opened.

  /**
   * Fails if the directory is no longer the store that was opened, as where it was deleted and made
   * anew; then all that follow fail, too.
   */
  void requireSame() throws IOException {
    if (!lost) {
      Object now = disk.identity(root.resolve(Superblock.NAME));
      if (file.identity().equals(now) && readBlock().equals(block)) {
        same = System.nanoTime();
        return;
      }
      lost = true;
      LOG.error("{} is no longer the store {} that was opened", root, store);
    }
    throw new IOException(
        "the directory %s is no longer the store that was opened: its file %s was deleted or"
                .formatted(root, Superblock.NAME)
            + " replaced; open it anew");
  }

  /** Returns whether it was the same store a moment ago. */
  boolean wasSame() {
    return !lost && System.nanoTime() - same < FRESH_NANOS;
  }

  private ByteBuffer readBlock() throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(Superblock.BYTES);
    while (bytes.hasRemaining() && file.read(bytes, bytes.position()) > 0) {
      // Until it is full, or the file ends.
    }
    return bytes.flip();
  }

  // The lock of the log.

  /**
   * Locks the log against all other processes; false if another one has it.
   *
   * @throws IOException if that cannot be done, or it is no longer the store that was opened
   */
  boolean tryLockPublishing() throws IOException {
    if (!writable) {
      throw new IOException("the directory " + root + " can only be read");
    }
    if (!file.tryLock(PUBLISHER, /* shared= */ false)) {
      return false;
    }
    try {
      requireSame();
      writeText(PUBLISHER_TEXT);
    } catch (IOException | RuntimeException | Error e) {
      file.unlock(PUBLISHER);
      throw e;
    }
    return true;
  }

  /** Lets others change the log. */
  void unlockPublishing() throws IOException {
    file.unlock(PUBLISHER);
  }

  /** Returns who has locked the log, as whoever does so says. */
  String publisher() {
    return readText(PUBLISHER_TEXT);
  }

  // The locks of writers.

  /** Locks a writer of this process, until {@link #unlockWriter}. */
  void lockWriter(long writer) throws IOException {
    writers.lock();
    try {
      if (!file.tryLock(writer, /* shared= */ false)) {
        throw new IOException("the lock of a writer that nobody can know is taken");
      }
    } finally {
      writers.unlock();
    }
  }

  /** Says that a writer of this process is no more. */
  void unlockWriter(long writer) throws IOException {
    file.unlock(writer);
  }

  /** Returns whether a writer of another process lives. */
  boolean isAlive(long writer) throws IOException {
    if (writer < LEAST_WRITER || writer > MOST_WRITER) {
      return false;
    }
    writers.lock();
    try {
      if (!file.tryLock(writer, /* shared= */ !writable)) {
        return true;
      }
      file.unlock(writer);
      return false;
    } finally {
      writers.unlock();
    }
  }

  // Texts for people.

  private void writeText(long position) {
    if (!writable) {
      return;
    }
    byte[] text = holder.getBytes(StandardCharsets.UTF_8);
    ByteBuffer bytes = ByteBuffer.allocate(TEXT_BYTES);
    bytes.put(text, 0, Math.min(text.length, TEXT_BYTES)).clear();
    try {
      file.writeFully(bytes, position);
    } catch (IOException e) {
      LOG.debug("{} does not name this process", root, e);
    }
  }

  private String readText(long position) {
    ByteBuffer bytes = ByteBuffer.allocate(TEXT_BYTES);
    try {
      while (bytes.hasRemaining() && file.read(bytes, position + bytes.position()) > 0) {
        // Until it is full, or the file ends.
      }
    } catch (IOException e) {
      return "another process (" + e.getMessage() + ")";
    }
    String text = StandardCharsets.UTF_8.decode(bytes.flip()).toString().replace("\0", "").strip();
    return text.isEmpty() ? "another process" : text;
  }

  /** Gives the store up. */
  @Override
  public void close() {
    close(file);
    System.getProperties().remove(CLAIM + file.identity(), holder);
  }

  private static void close(@Nullable DiskFile file) {
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException e) {
      LOG.warn("a lock cannot be closed", e);
    }
  }
}
