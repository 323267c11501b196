package org.example.folder;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A store that keeps each object in a file of its own.
 *
 * <p>A file is written under another name and linked to its own when it is whole. So there are
 * whole objects or none (rule store.atomic-visibility), the first writer of a key wins, in whatever
 * process it is (rules store.first-wins, store.shared), and a crash leaves nothing but a file that
 * nobody looks for (rule store.durable).
 */
final class FolderStore implements CacheStore {
  static final Set<Capability> CAPABILITIES =
      Set.of(Capability.REMOVE, Capability.DURABLE, Capability.SHARED, Capability.REPORTS_PRESENT);

  private static final StoreLimits LIMITS =
      new StoreLimits(
          /* batch= */ 4_096,
          /* keyBytes= */ 65_536,
          /* objectBytes= */ Long.MAX_VALUE / 2,
          /* pieces= */ 65_536,
          /* alignment= */ 1,
          /* grace= */ Duration.ofSeconds(5),
          /* busy= */ Duration.ZERO);

  private static final String TEMPORARY = ".writing";

  private final Path root;
  private final Counters counters = new Counters();

  /** Calls hold it shared, so that close waits for those in flight. */
  private final ReadWriteLock open = new ReentrantReadWriteLock();

  private boolean closed;

  FolderStore(Path root) throws IOException {
    this.root = root;
    removeLeftovers();
  }

  /** Removes what processes that are gone have begun to write. */
  private void removeLeftovers() throws IOException {
    try (DirectoryStream<Path> leftovers = Files.newDirectoryStream(root, "*" + TEMPORARY)) {
      for (Path each : leftovers) {
        long writer = Long.parseLong(each.getFileName().toString().split("-")[0]);
        if (ProcessHandle.of(writer).isEmpty()) {
          Files.deleteIfExists(each);
        }
      }
    }
  }

  @Override
  public Set<Capability> capabilities() {
    return CAPABILITIES;
  }

  @Override
  public StoreLimits limits() {
    return LIMITS;
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    return each(
        keys.size(),
        by,
        i -> {
          requireKey(keys.get(i));
          return Files.exists(file(keys.get(i))) ? ObjectStatus.OK : ObjectStatus.ABSENT;
        });
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    return each(ops.size(), by, i -> put(ops.get(i)));
  }

  private ObjectStatus put(PutOp op) throws IOException {
    requireKey(op.key());
    requirePieces(op.key(), op.pieces(), /* asTarget= */ false);
    Path file = file(op.key());
    if (Files.exists(file)) {
      counters.present();
      return ObjectStatus.PRESENT;
    }
    Path temporary = Files.createTempFile(root, ProcessHandle.current().pid() + "-", TEMPORARY);
    try {
      ObjectFile.write(temporary, op.key(), op.pieces());
      Files.createLink(file, temporary);
    } catch (FileAlreadyExistsException e) {
      counters.present();
      return ObjectStatus.PRESENT;
    } finally {
      Files.delete(temporary);
    }
    counters.stored(op.byteSize());
    return ObjectStatus.OK;
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return each(ops.size(), by, i -> get(ops.get(i)));
  }

  private ObjectStatus get(GetOp op) throws IOException {
    requireKey(op.key());
    requirePieces(op.key(), op.pieces(), /* asTarget= */ true);
    try {
      ObjectFile.read(file(op.key()), op.key(), op.pieces(), op.byteSize());
    } catch (NoSuchFileException e) {
      counters.absent();
      return ObjectStatus.ABSENT;
    }
    counters.found(op.byteSize());
    return ObjectStatus.OK;
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    return each(
        keys.size(),
        by,
        i -> {
          requireKey(keys.get(i));
          if (!Files.deleteIfExists(file(keys.get(i)))) {
            return ObjectStatus.ABSENT;
          }
          counters.removed();
          return ObjectStatus.OK;
        });
  }

  @Override
  public StoreStats stats() {
    return counters.snapshot();
  }

  @Override
  public StoreHealth probe(Deadline by) {
    requireOpen();
    return Files.isWritable(root)
        ? new StoreHealth(StoreHealth.State.UP, "objects are in " + root)
        : new StoreHealth(StoreHealth.State.DOWN, "the folder " + root + " cannot be written");
  }

  @Override
  public void close() {
    open.writeLock().lock();
    closed = true;
    open.writeLock().unlock();
  }

  // What all calls have in common.

  /** Does one entry of a batch. */
  private interface Entry {
    ObjectStatus run(int i) throws IOException;
  }

  private BatchResult each(int size, Deadline by, Entry entry) {
    open.readLock().lock();
    try {
      requireOpen();
      if (size > LIMITS.batch()) {
        throw new CacheException(
            FailureCode.REFUSED, size + " entries, but the limit of a batch is " + LIMITS.batch());
      }
      BatchResult.Builder result = BatchResult.builder(size);
      for (int i = 0; i < size; i++) {
        try {
          if (by.hasPassed()) {
            throw new EntryException(StoreFailure.of(FailureCode.TIMEOUT, "the deadline passed"));
          }
          result.set(i, entry.run(i));
        } catch (EntryException e) {
          counters.failed();
          result.failed(i, e.failure());
        } catch (IOException | RuntimeException e) {
          counters.failed();
          result.failed(
              i, new StoreFailure(FailureCode.IO, e.toString(), false, MemoryState.DIRTY));
        }
      }
      return result.build();
    } finally {
      open.readLock().unlock();
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the store of " + root + " is closed");
    }
  }

  private static void requireKey(ObjectKey key) throws EntryException {
    int bytes = ObjectFile.bytes(key).length;
    if (bytes > LIMITS.keyBytes()) {
      throw EntryException.of(
          FailureCode.REFUSED,
          "a key of " + bytes + " bytes, but the limit of keyBytes is " + LIMITS.keyBytes());
    }
  }

  private static void requirePieces(ObjectKey key, List<Memory> pieces, boolean asTarget)
      throws EntryException {
    if (pieces.size() > LIMITS.pieces()) {
      throw EntryException.of(
          FailureCode.REFUSED,
          "object %s has %d pieces, but the limit of pieces is %d"
              .formatted(key, pieces.size(), LIMITS.pieces()));
    }
    for (Memory piece : pieces) {
      if (!(piece instanceof HostMemory host)) {
        throw EntryException.of(FailureCode.REFUSED, "object " + key + ": device memory");
      }
      if (!host.isAlive() || (asTarget && host.segment().isReadOnly())) {
        throw EntryException.of(
            FailureCode.REFUSED, "object " + key + ": memory that is read-only or freed");
      }
    }
  }

  /**
   * Names of files are hashes: no key can leave the folder or meet another (rule store.exact-key).
   */
  private Path file(ObjectKey key) {
    return root.resolve(ObjectFile.name(key));
  }
}
