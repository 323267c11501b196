package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The folders that this process has open: one engine for each, however many stores use it.
 *
 * <p>Two in one process could not lock each other out, and one that closed its files would take the
 * locks of the other with it. Thread-safe.
 */
final class Engines {
  private static final Map<Path, Shared> OPEN = new HashMap<>();

  private static final class Shared {
    final FolderLock folder;
    final FileEngine engine;
    int users = 1;

    Shared(FolderLock folder, FileEngine engine) {
      this.folder = folder;
      this.engine = engine;
    }
  }

  private Engines() {}

  /** Opens a folder, or joins those who have it open; called by a thread of the store. */
  static FileEngine open(
      Disk disk, Path folder, boolean exclusive, String instance, Job job, Tuning tuning)
      throws LateException {
    try {
      LocalDisk.makeFolder(folder);
      return open(disk, folder.toRealPath(), exclusive, instance, tuning, job);
    } catch (IOException e) {
      throw unusable(folder, e);
    }
  }

  /**
   * Does the same, but changes nothing in the folder that is there: an operator wants to see it as
   * it is.
   */
  static FileEngine look(Disk disk, Path folder, boolean exclusive, String instance, Job job)
      throws LateException {
    try {
      Path root = folder.toRealPath();
      if (Superblock.read(disk, root) == null) {
        throw new IOException("it is no unified-cache store: it has no file " + Superblock.NAME);
      }
      return open(disk, root, exclusive, instance, null, job);
    } catch (NoSuchFileException e) {
      throw unusable(folder, new IOException("it is not there", e));
    } catch (IOException e) {
      throw unusable(folder, e);
    }
  }

  /** Returns the exception that says that a folder cannot be used. */
  static CacheException unusable(Path folder, IOException e) {
    return new CacheException(
        FailureCode.IO, "the folder %s cannot be used: %s".formatted(folder, text(e)), e);
  }

  private static String text(IOException problem) {
    String message = problem.getMessage();
    return problem.getClass() == IOException.class && message != null
        ? message
        : problem.toString();
  }

  private static synchronized FileEngine open(
      Disk disk, Path root, boolean exclusive, String instance, @Nullable Tuning tuning, Job job)
      throws IOException, LateException {
    Shared shared = OPEN.get(root);
    if (shared != null) {
      shared.folder.requireShareable(exclusive);
      begin(shared.engine, tuning, job);
      shared.users++;
      return shared.engine;
    }
    FolderLock lock = FolderLock.acquire(disk, root, exclusive, instance);
    try {
      FileEngine engine =
          tuning == null
              ? new FileEngine(disk, lock, job, /* lanes= */ 1, /* create= */ false)
              : new FileEngine(disk, lock, job, tuning.lanes(), /* create= */ true);
      try {
        begin(engine, tuning, job);
      } catch (IOException | LateException | RuntimeException | Error e) {
        engine.closeFiles();
        throw e;
      }
      OPEN.put(root, new Shared(lock, engine));
      return engine;
    } catch (IOException | LateException | RuntimeException | Error e) {
      lock.close();
      throw e;
    }
  }

  private static void begin(FileEngine engine, @Nullable Tuning tuning, Job job)
      throws IOException, LateException {
    if (tuning != null) {
      engine.begin(job, tuning);
    }
  }

  /**
   * Returns the engine of a folder that is open.
   *
   * @throws IllegalStateException if it is not
   */
  static synchronized FileEngine find(Path folder) {
    try {
      Shared shared = OPEN.get(folder.toRealPath());
      if (shared != null) {
        return shared.engine;
      }
    } catch (IOException e) {
      throw new IllegalStateException(folder + " is not there", e);
    }
    throw new IllegalStateException(folder + " is not open");
  }

  /** Leaves a folder, and closes it if nobody else uses it; called by a thread of the store. */
  static synchronized void close(FileEngine engine) {
    Shared shared = OPEN.get(engine.root());
    if (shared != null && shared.engine == engine && --shared.users == 0) {
      OPEN.remove(engine.root());
      engine.close();
      shared.folder.close();
    }
  }
}
