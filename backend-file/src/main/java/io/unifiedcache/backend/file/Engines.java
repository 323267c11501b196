package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The stores that this process has open: one engine for each, however many users it has, and by
 * whatever path they came.
 *
 * <p>Two in one process could not lock each other out, and one that closed its files would take the
 * locks of the other with it. So a store is known by the identity of the file that makes it one,
 * and found before that file is opened. Thread-safe; whoever opens or closes a store waits for
 * those who do so with the same one, and for no others.
 */
final class Engines {
  /** What has been opened, or is being opened or closed, by the identity of its superblock. */
  private static final Map<Object, Shared> OPEN = new ConcurrentHashMap<>();

  private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** A store that some have open; what is not final belongs to its lock. */
  private static final class Shared {
    final Object identity;
    final ReentrantLock lock = new ReentrantLock();
    @Nullable FolderLock folder;
    @Nullable FileEngine engine;
    int users;
    boolean closed;

    Shared(Object identity) {
      this.identity = identity;
    }

    void leave() {
      closed = true;
      OPEN.remove(identity, this);
    }
  }

  /**
   * How a store is to be used.
   *
   * @param tuning null to look at it and change nothing
   */
  private record Use(Disk disk, boolean exclusive, String instance, @Nullable Tuning tuning) {}

  private Engines() {}

  /** Opens a directory, or joins those who have it open; called by a thread of the store. */
  static FileEngine open(
      Disk disk, Path directory, boolean exclusive, String instance, Job job, Tuning tuning)
      throws LateException {
    try {
      makeDirectory(directory);
      Path root = directory.toRealPath();
      Path superblock = root.resolve(Superblock.NAME);
      if (disk.identity(superblock) == null) {
        requireEmpty(disk, root);
        Superblock.create(disk, root);
      }
      return open(root, new Use(disk, exclusive, instance, tuning), job);
    } catch (IOException e) {
      throw unusable(directory, e);
    }
  }

  /**
   * Does the same, but changes nothing in the directory that is there: an operator wants to see it
   * as it is.
   */
  static FileEngine look(Disk disk, Path directory, boolean exclusive, String instance, Job job)
      throws LateException {
    try {
      return open(directory.toRealPath(), new Use(disk, exclusive, instance, null), job);
    } catch (NoSuchFileException e) {
      throw unusable(directory, new IOException("it is not there", e));
    } catch (IOException e) {
      throw unusable(directory, e);
    }
  }

  /**
   * Makes a directory for its owner alone, if it is not there.
   *
   * @throws CacheException with code {@code REFUSED} if no directory can ever have this path
   */
  static void makeDirectory(Path directory) throws IOException {
    for (Path path = directory.toAbsolutePath(); path != null; path = path.getParent()) {
      if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
        if (Files.exists(path) && !Files.isDirectory(path)) {
          throw refused(
              directory,
              path.equals(directory.toAbsolutePath())
                  ? "it is no directory"
                  : path + " is no directory");
        }
        break;
      }
    }
    try {
      LocalDisk.makeFolder(directory);
    } catch (IOException e) {
      String message = String.valueOf(e.getMessage());
      if (message.contains("File name too long") || message.contains("symbolic links")) {
        throw refused(directory, message);
      }
      throw e;
    }
  }

  private static void requireEmpty(Disk disk, Path root) throws IOException {
    List<String> names = disk.names(root);
    // Another process may have made it a store since.
    if (!names.contains(Superblock.NAME) && !names.stream().allMatch(FileNames::isBegun)) {
      throw refused(
          root,
          "it is neither empty nor a unified-cache store: it has "
              + names.getFirst()
              + (names.stream().anyMatch(FileNames::isOfStore)
                  ? "; if it was one, verify --repair writes its file " + Superblock.NAME + " anew"
                  : ""));
    }
  }

  /** Returns the exception that says that a directory cannot be used. */
  static CacheException unusable(Path directory, IOException e) {
    return e instanceof Superblock.UnknownVersionException
        ? refused(directory, text(e))
        : new CacheException(Failures.codeOf(e), message(directory, text(e)), e);
  }

  /** Returns the exception that says that a directory can never be used. */
  static CacheException refused(Path directory, String why) {
    return new CacheException(FailureCode.REFUSED, message(directory, why));
  }

  private static String message(Path directory, String why) {
    return String.format(Locale.ROOT, "the directory %s cannot be used: %s", directory, why);
  }

  private static String text(IOException problem) {
    String message = problem.getMessage();
    return problem.getClass().getPackage().equals(Engines.class.getPackage())
            || (problem.getClass() == IOException.class && message != null)
        ? String.valueOf(message)
        : problem.toString();
  }

  private static FileEngine open(Path root, Use use, Job job) throws IOException, LateException {
    while (true) {
      Object identity = use.disk().identity(root.resolve(Superblock.NAME));
      if (identity == null) {
        throw new Superblock.MissingException();
      }
      Shared shared = OPEN.computeIfAbsent(identity, Shared::new);
      lock(shared, job);
      try {
        if (!shared.closed) {
          return open(shared, root, use, job);
        }
      } finally {
        if (shared.users == 0 && !shared.closed) {
          shared.leave();
        }
        shared.lock.unlock();
      }
    }
  }

  /** Keeps all others out of a store, whose superblock may be damaged or gone. */
  static FolderLock lockToRepair(Disk disk, Path root, String instance) throws IOException {
    Path superblock = root.resolve(Superblock.NAME);
    if (disk.identity(superblock) == null) {
      Superblock.createDamaged(disk, root);
    }
    Object identity = disk.identity(superblock);
    if (identity == null) {
      throw new Superblock.MissingException();
    }
    return FolderLock.acquire(
        disk, root, identity, /* exclusive= */ true, instance, FolderLock.Purpose.REPAIR);
  }

  private static void lock(Shared shared, Job job) throws LateException {
    while (true) {
      try {
        if (shared.lock.tryLock(NAP_NANOS, TimeUnit.NANOSECONDS)) {
          return;
        }
      } catch (InterruptedException e) {
        // Nobody interrupts the threads of the store to any purpose.
      }
      job.requireInTime();
    }
  }

  private static FileEngine open(Shared shared, Path root, Use use, Job job)
      throws IOException, LateException {
    Tuning tuning = use.tuning();
    FileEngine engine = shared.engine;
    FolderLock folder = shared.folder;
    if (engine != null && folder != null) {
      folder.requireShareable(use.exclusive());
      begin(engine, tuning, job);
      shared.users++;
      return engine;
    }
    folder =
        FolderLock.acquire(
            use.disk(),
            root,
            shared.identity,
            use.exclusive(),
            use.instance(),
            tuning == null ? FolderLock.Purpose.LOOK : FolderLock.Purpose.USE);
    try {
      engine =
          tuning == null
              ? new FileEngine(use.disk(), folder, job, /* lanes= */ 1, /* create= */ false)
              : new FileEngine(use.disk(), folder, job, tuning.lanes(), /* create= */ true);
      try {
        begin(engine, tuning, job);
      } catch (IOException | LateException | RuntimeException | Error e) {
        engine.closeFiles();
        throw e;
      }
    } catch (IOException | LateException | RuntimeException | Error e) {
      folder.close();
      throw e;
    }
    shared.folder = folder;
    shared.engine = engine;
    shared.users = 1;
    return engine;
  }

  private static void begin(FileEngine engine, @Nullable Tuning tuning, Job job)
      throws IOException, LateException {
    if (tuning != null) {
      engine.begin(job, tuning);
    }
  }

  /**
   * Returns the engine of a directory that is open.
   *
   * @throws IllegalStateException if it is not
   */
  static FileEngine find(Path directory) {
    for (Shared shared : OPEN.values()) {
      FileEngine engine = shared.engine;
      try {
        if (engine != null && Files.isSameFile(engine.root(), directory)) {
          return engine;
        }
      } catch (IOException e) {
        throw new IllegalStateException(directory + " is not there", e);
      }
    }
    throw new IllegalStateException(directory + " is not open");
  }

  /** Leaves a store, and closes it if nobody else uses it; called by a thread of the store. */
  static void close(FileEngine engine) {
    Shared shared = OPEN.get(engine.identity());
    if (shared == null) {
      return;
    }
    shared.lock.lock();
    try {
      FolderLock folder = shared.folder;
      if (shared.engine == engine && folder != null && --shared.users == 0) {
        try {
          engine.close();
        } finally {
          folder.close();
          shared.leave();
        }
      }
    } finally {
      shared.lock.unlock();
    }
  }
}
