package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.ObjectStatus;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder of SGLang's file store: a file for each object, with nothing in it but the bytes.
 *
 * <p>An object is written to a file in a folder below, and linked under its name when it is whole,
 * which fails if that is taken. What a process leaves there that ends in between is deleted by the
 * next that opens the folder: each holds a lock as long as it lives. Nothing is known of the folder
 * beyond the call, since SGLang adds to it and deletes from it.
 *
 * <p>Thread-safe. Called by threads of the store alone.
 */
final class SglangFolder implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(SglangFolder.class);

  /** Where files are that are not whole yet; SGLang looks at no folder in its folder. */
  static final String BEGUN = ".unified-cache";

  private static final String CLAIM = "io.unifiedcache.backend.file:writer-";
  private static final String LOCK = ".lock";
  private static final int MOST_ATTEMPTS = 20;

  private final Disk disk;
  private final Path root;
  private final Path begun;
  private final long minFree;
  private final boolean flush;
  private final String writer;
  private final DiskFile lock;
  private final AtomicLong files = new AtomicLong();

  private SglangFolder(
      Disk disk, Path root, long minFree, boolean flush, String writer, DiskFile lock) {
    this.disk = disk;
    this.root = root;
    this.begun = root.resolve(BEGUN);
    this.minFree = minFree;
    this.flush = flush;
    this.writer = writer;
    this.lock = lock;
  }

  /**
   * Opens a folder, made if it is not there.
   *
   * @throws IOException if it cannot be used, with a sentence that says why
   */
  static SglangFolder open(Disk disk, Path folder, long minFree, boolean flush) throws IOException {
    Engines.makeDirectory(folder);
    Path root = folder.toRealPath();
    if (disk.size(root.resolve(Superblock.NAME)) >= 0) {
      throw Engines.refused(folder, "it is a store of format segments, not sglang");
    }
    Path begun = root.resolve(BEGUN);
    LocalDisk.makeFolder(begun);
    if (!Files.isDirectory(begun, LinkOption.NOFOLLOW_LINKS)) {
      throw new IOException("its " + BEGUN + " is no folder");
    }
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      SglangFolder opened = tryOpen(disk, root, minFree, flush);
      if (opened != null) {
        return opened;
      }
    }
    throw new IOException("others have deleted every lock in its " + BEGUN);
  }

  /** Returns null if somebody has taken the lock for one that was left, before it was locked. */
  private static @Nullable SglangFolder tryOpen(Disk disk, Path root, long minFree, boolean flush)
      throws IOException {
    String writer = String.format(Locale.ROOT, "%016x", ThreadLocalRandom.current().nextLong());
    Path path = root.resolve(BEGUN).resolve(writer + LOCK);
    System.setProperty(CLAIM + writer, "");
    SglangFolder opened = null;
    DiskFile lock = null;
    try {
      lock = disk.open(path, Disk.Access.CREATE);
      if (lock.tryLock(0, /* shared= */ false) && disk.size(path) >= 0) {
        SglangFolder begun = new SglangFolder(disk, root, minFree, flush, writer, lock);
        begun.deleteLeftovers();
        opened = begun;
      }
      return opened;
    } catch (NoSuchFileException e) {
      LOG.debug("another process has deleted {}", path, e);
      return null;
    } finally {
      if (opened == null) {
        System.clearProperty(CLAIM + writer);
        if (lock != null) {
          lock.close();
        }
      }
    }
  }

  /** Deletes what writers have left that live no more. */
  private void deleteLeftovers() throws IOException {
    List<String> names = disk.names(begun);
    for (String name : names) {
      if (name.endsWith(LOCK)) {
        String other = name.substring(0, name.length() - LOCK.length());
        // A lock of this process would be lost if its file were opened and closed again.
        if (System.getProperty(CLAIM + other) == null) {
          deleteIfDead(other, names);
        }
      }
    }
    for (String name : names) {
      int end = name.lastIndexOf('-');
      // A writer that lives has a lock: one that could not delete a file may have closed it.
      if (end > 0 && disk.size(begun.resolve(name.substring(0, end) + LOCK)) < 0) {
        boolean unused = disk.delete(begun.resolve(name));
      }
    }
  }

  private void deleteIfDead(String other, List<String> names) throws IOException {
    Path path = begun.resolve(other + LOCK);
    try (DiskFile otherLock = disk.open(path, Disk.Access.WRITE)) {
      if (otherLock.tryLock(0, /* shared= */ false)) {
        for (String name : names) {
          if (name.startsWith(other + "-")) {
            boolean unused = disk.delete(begun.resolve(name));
          }
        }
        boolean unused = disk.delete(path);
      }
    } catch (NoSuchFileException e) {
      LOG.debug("another process was first to delete {}", path);
    }
  }

  /** Returns the folder. */
  Path root() {
    return root;
  }

  /** Returns the file of an object; null if its key makes no name. */
  @Nullable Path path(ObjectKey key) {
    String name = SglangNames.of(key);
    try {
      return name == null ? null : root.resolve(name);
    } catch (InvalidPathException e) {
      // The locale has no such characters.
      return null;
    }
  }

  /** Tells whether there is an object. */
  boolean contains(Path path) throws IOException {
    return disk.size(path) >= 0;
  }

  /** Stores an object, unless it is there; what goes wrong is a failure of the entry. */
  ObjectStatus put(ObjectCopy copy, Path path, Job job) {
    try {
      if (job.isLate()) {
        copy.failLate();
        return ObjectStatus.FAILED;
      } else if (contains(path)) {
        return ObjectStatus.PRESENT;
      } else if (disk.usableBytes(root) - copy.size() < minFree) {
        copy.fail(
            copy.failure(
                    FailureCode.NO_SPACE,
                    "with its %,d bytes the disk had less than %,d left"
                        .formatted(copy.size(), minFree))
                .asRetryable());
        return ObjectStatus.FAILED;
      }
      return write(copy, path, job);
    } catch (IOException e) {
      copy.fail(copy.failure(Failures.codeOf(e), "it cannot be stored: " + e).asRetryable());
    } catch (RuntimeException | Error e) {
      copy.fail(e);
    }
    return ObjectStatus.FAILED;
  }

  private ObjectStatus write(ObjectCopy copy, Path path, Job job) throws IOException {
    Path part = begun.resolve(writer + "-" + files.incrementAndGet());
    try {
      try (DiskFile file = disk.open(part, Disk.Access.NEW)) {
        long[] at = {0};
        copy.visit(
            0,
            copy.size(),
            memory -> {
              int bytes = memory.remaining();
              file.writeFully(memory, at[0]);
              at[0] += bytes;
            });
        if (flush) {
          file.force();
        }
      }
      if (job.isLate()) {
        copy.failLate();
        return ObjectStatus.FAILED;
      }
      if (disk.link(part, path)) {
        if (flush) {
          disk.forceNames(root);
        }
        return ObjectStatus.OK;
      } else if (contains(path)) {
        return ObjectStatus.PRESENT;
      }
      copy.fail(copy.failure(FailureCode.IO, "something that is no file has its name " + path));
      return ObjectStatus.FAILED;
    } finally {
      forget(part);
    }
  }

  private void forget(Path part) {
    try {
      boolean unused = disk.delete(part);
    } catch (IOException e) {
      LOG.warn("{} cannot be deleted", part, e);
    }
  }

  /**
   * Opens an object to be read; null if there is none.
   *
   * @throws IOException if it cannot be
   */
  @Nullable DiskFile open(Path path) throws IOException {
    try {
      return contains(path) ? disk.open(path, Disk.Access.READ) : null;
    } catch (FileSystemException e) {
      if (!contains(path)) {
        // It is gone since, or something else is in its place.
        return null;
      }
      throw e;
    }
  }

  /** Reads a whole object; what goes wrong is a failure of the entry. */
  ObjectStatus get(ObjectCopy copy, Path path, Job job) {
    try (DiskFile file = job.isLate() ? null : open(path)) {
      if (job.isLate()) {
        copy.failLate();
        return ObjectStatus.FAILED;
      } else if (file == null) {
        return ObjectStatus.ABSENT;
      }
      long size = file.length();
      if (size == copy.size()) {
        return read(copy, () -> file, job);
      }
      copy.fail(
          copy.failure(
              FailureCode.SIZE_MISMATCH,
              "it has %d bytes and the targets %d".formatted(size, copy.size())));
    } catch (IOException e) {
      copy.fail(copy.failure(FailureCode.IO, "it cannot be read: " + e).asRetryable());
    }
    return ObjectStatus.FAILED;
  }

  /** An object that is open. */
  interface Source {
    DiskFile file() throws IOException;
  }

  /** Reads what is asked for of an open object; what goes wrong is a failure of the entry. */
  static ObjectStatus read(ObjectCopy copy, Source source, Job job) {
    List<ObjectCopy.Part> parts = new ArrayList<>();
    copy.cut(Long.MAX_VALUE, parts);
    try {
      DiskFile file = source.file();
      for (ObjectCopy.Part part : parts) {
        if (job.isLate()) {
          copy.failLate();
          return ObjectStatus.FAILED;
        }
        long[] at = {part.objectOffset()};
        copy.visit(
            part.from(),
            part.to(),
            memory -> {
              int bytes = memory.remaining();
              copy.begin();
              file.readFully(memory, at[0]);
              at[0] += bytes;
            });
      }
      return ObjectStatus.OK;
    } catch (EOFException e) {
      copy.failDamaged("its file ends early");
    } catch (IOException e) {
      copy.fail(copy.failure(FailureCode.IO, "it cannot be read: " + e).asRetryable());
    } catch (RuntimeException | Error e) {
      copy.fail(e);
    }
    return ObjectStatus.FAILED;
  }

  /** Removes an object; false if there was none. */
  boolean remove(Path path) throws IOException {
    return contains(path) && disk.delete(path);
  }

  /** Returns the keys of all objects. */
  List<ObjectKey> keys() throws IOException {
    List<ObjectKey> keys = new ArrayList<>();
    for (String name : disk.names(root)) {
      ObjectKey key = SglangNames.key(name);
      if (key != null && contains(root.resolve(name))) {
        keys.add(key);
      }
    }
    return keys;
  }

  /** Returns how many bytes the file system is left. */
  long minFree() {
    return minFree;
  }

  /** Returns how many bytes the file system has left. */
  long usableBytes() {
    return disk.usableBytes(root);
  }

  /** Fails if the folder is no longer there, or does not answer. */
  void probe() throws IOException {
    int unused = disk.names(begun).size();
  }

  @Override
  public void close() throws IOException {
    try (lock) {
      boolean unused = disk.delete(begun.resolve(writer + LOCK));
    } finally {
      System.clearProperty(CLAIM + writer);
    }
  }
}
