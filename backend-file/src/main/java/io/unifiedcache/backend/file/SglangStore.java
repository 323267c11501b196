package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store that shares the folder of SGLang's file store. Thread-safe.
 *
 * <p>Beyond the contract of {@link CacheStore}:
 *
 * <ul>
 *   <li><b>Others.</b> SGLang puts, replaces and deletes files at any time. What it replaces it
 *       replaces by a page of the same key, as a whole; readers finish with what they have opened.
 *   <li><b>Two puts of one key.</b> Both write; the first to link its file wins.
 *   <li><b>Bytes.</b> A file has no checksum and no header. What is wrong in it is not seen, except
 *       for its length: one that is short or long is {@code SIZE_MISMATCH} to a get, and stays, and
 *       is {@code PRESENT} to a put, until it is removed, as the linker does with what has failed
 *       so before it stores it anew.
 *   <li><b>Room.</b> Nothing is evicted, and the disk is left the bytes that it is to have. What is
 *       in the folder is not counted.
 * </ul>
 */
final class SglangStore implements CacheStore {
  private static final Logger LOG = LoggerFactory.getLogger(SglangStore.class);

  /** Stands for the key of an entry that a session has not. */
  private static final ObjectKey NO_KEY = new ObjectKey("?");

  static final Set<Capability> CAPABILITIES =
      Set.of(
          Capability.REMOVE,
          Capability.CLEAR,
          Capability.LIST,
          Capability.RANGED_READ,
          Capability.DURABLE,
          Capability.SHARED,
          Capability.REPORTS_PRESENT);

  /** A session has a descriptor for each object. */
  private static final StoreLimits LIMITS =
      new StoreLimits(
          /* batch= */ 1 << 12,
          /* keyBytes= */ SglangNames.MOST_BYTES - 1,
          /* objectBytes= */ Long.MAX_VALUE,
          /* pieces= */ 1 << 16,
          /* alignment= */ 1,
          /* grace= */ Duration.ofSeconds(1),
          /* busy= */ Duration.ZERO);

  private final SglangFolder folder;
  private final IoThreads threads;
  private final Calls calls = new Calls(LIMITS.batch());
  private final Set<SglangSession> sessions = ConcurrentHashMap.newKeySet();

  private SglangStore(SglangFolder folder, IoThreads threads) {
    this.folder = folder;
    this.threads = threads;
  }

  /**
   * Opens a store.
   *
   * @throws CacheException if it cannot be opened, with a sentence that says why
   */
  static SglangStore open(
      Disk disk, Path root, long minFree, boolean flush, int ioThreads, StoreContext context) {
    IoThreads threads = new IoThreads(ioThreads, context.threads());
    AtomicReference<@Nullable Object> answer = new AtomicReference<>();
    Job job =
        threads.runUnlessInterrupted(
            running -> {
              try {
                SglangFolder folder = SglangFolder.open(disk, root, minFree, flush);
                if (!answer.compareAndSet(null, folder)) {
                  close(folder);
                }
              } catch (CacheException e) {
                answer.compareAndSet(null, e);
              } catch (IOException e) {
                answer.compareAndSet(null, Engines.unusable(root, e));
              }
            });
    Throwable problem = job.problem();
    answer.compareAndSet(
        null,
        problem == null
            ? new CacheException(
                FailureCode.CANCELLED, "the opening of " + root + " was interrupted")
            : new CacheException(
                FailureCode.INTERNAL,
                "the folder " + root + " cannot be opened: " + problem,
                problem));
    if (answer.get() instanceof SglangFolder folder) {
      return new SglangStore(folder, threads);
    }
    threads.abandon();
    throw answer.get() instanceof CacheException e
        ? e
        : new CacheException(FailureCode.INTERNAL, "no answer");
  }

  private static void close(SglangFolder folder) {
    try {
      folder.close();
    } catch (IOException e) {
      LOG.warn("the lock in {} cannot be closed", folder.root(), e);
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
    calls.enter(keys.size());
    try {
      return calls.other(
          forEach(
              keys,
              by,
              (i, path) -> folder.contains(path) ? ObjectStatus.OK : ObjectStatus.ABSENT));
    } finally {
      calls.leave();
    }
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    calls.enter(ops.size());
    try {
      List<ObjectKey> keys = ops.stream().map(PutOp::key).toList();
      Batch batch = new Batch(keys);
      @Nullable Path[] paths = paths(keys, batch);
      Map<ObjectKey, List<ObjectCopy>> byKey = new LinkedHashMap<>();
      for (int i = 0; i < ops.size(); i++) {
        ObjectCopy copy = ObjectCopy.of(i, ops.get(i));
        if (!batch.isSettled(i)) {
          batch.copy(i, copy);
          byKey.computeIfAbsent(copy.key, key -> new ArrayList<>()).add(copy);
        }
      }
      // Equal keys are stored by one thread, so that the first wins.
      List<List<ObjectCopy>> groups = List.copyOf(byKey.values());
      batch.run(
          threads,
          groups.size(),
          by,
          (group, job) -> {
            for (ObjectCopy copy : groups.get(group)) {
              Path path = paths[copy.entry];
              if (path != null && !batch.isSettled(copy.entry)) {
                batch.set(copy.entry, folder.put(copy, path, job));
              }
            }
          });
      BatchResult result = batch.result();
      return calls.put(result, batch.bytes(result));
    } finally {
      calls.leave();
    }
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    calls.enter(ops.size());
    try {
      List<ObjectKey> keys = ops.stream().map(GetOp::key).toList();
      Batch batch = new Batch(keys);
      @Nullable Path[] paths = paths(keys, batch);
      List<ObjectCopy> copies = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        copies.add(ObjectCopy.of(i, ops.get(i)));
        if (!batch.isSettled(i)) {
          batch.copy(i, copies.get(i));
        }
      }
      batch.run(
          threads,
          ops.size(),
          by,
          (i, job) -> {
            Path path = paths[i];
            if (path != null && !batch.isSettled(i)) {
              batch.set(i, folder.get(copies.get(i), path, job));
            }
          });
      BatchResult result = batch.result();
      return calls.read(result, batch.bytes(result));
    } finally {
      calls.leave();
    }
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    calls.enter(keys.size());
    try {
      SglangSession session = new SglangSession(this, keys);
      session.setOpened(
          calls.other(
              forEach(
                  keys,
                  by,
                  (i, path) -> {
                    DiskFile file = folder.open(path);
                    if (file == null) {
                      return ObjectStatus.ABSENT;
                    }
                    session.take(i, file);
                    return ObjectStatus.OK;
                  })));
      sessions.add(session);
      return session;
    } finally {
      calls.leave();
    }
  }

  /** Reads ranges of the objects that a session has open. */
  BatchResult read(List<ReadOp> ops, SglangSession session, BatchResult opened, Deadline by) {
    calls.enter(ops.size());
    try {
      List<ObjectKey> keys =
          ops.stream()
              .map(op -> op.entry() < opened.size() ? session.key(op.entry()) : NO_KEY)
              .toList();
      Batch batch = new Batch(keys);
      @Nullable ObjectCopy[] copies = new @Nullable ObjectCopy[ops.size()];
      for (int i = 0; i < ops.size(); i++) {
        int entry = ops.get(i).entry();
        if (entry >= opened.size()) {
          batch.fail(
              i,
              StoreFailure.of(
                  FailureCode.REFUSED,
                  "entry %d of a session with %d keys".formatted(entry, opened.size())));
        } else if (opened.status(entry) == ObjectStatus.FAILED) {
          batch.fail(i, opened.failure(entry));
        } else if (opened.status(entry) == ObjectStatus.ABSENT) {
          batch.set(i, ObjectStatus.ABSENT);
        } else {
          ObjectCopy copy = ObjectCopy.of(i, ops.get(i), keys.get(i), session.sizeOf(entry));
          copies[i] = copy;
          batch.copy(i, copy);
        }
      }
      batch.run(
          threads,
          ops.size(),
          by,
          (i, job) -> {
            ObjectCopy copy = copies[i];
            if (copy != null && !batch.isSettled(i)) {
              batch.set(i, SglangFolder.read(copy, () -> session.file(ops.get(i).entry()), job));
            }
          });
      BatchResult result = batch.result();
      return calls.read(result, batch.bytes(result));
    } finally {
      calls.leave();
    }
  }

  /** Forgets a session that is closed. */
  void forget(SglangSession session) {
    sessions.remove(session);
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    calls.enter(keys.size());
    try {
      return calls.remove(
          forEach(
              keys, by, (i, path) -> folder.remove(path) ? ObjectStatus.OK : ObjectStatus.ABSENT));
    } finally {
      calls.leave();
    }
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    calls.enter(0);
    try {
      long[] removed = new long[1];
      long[] kept = new long[1];
      ask(
          by,
          "objects under " + prefix + " cannot be removed",
          job -> {
            for (ObjectKey key : folder.keys()) {
              Path path = prefix.matches(key) ? folder.path(key) : null;
              if (path != null) {
                job.requireInTime();
                try {
                  removed[0] += folder.remove(path) ? 1 : 0;
                } catch (IOException e) {
                  LOG.warn("{} cannot be removed", path, e);
                  kept[0]++;
                }
              }
            }
            return Boolean.TRUE;
          });
      calls.cleared(removed[0]);
      return new ClearResult(removed[0], kept[0]);
    } finally {
      calls.leave();
    }
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    calls.enter(0);
    List<ObjectKey> keys;
    try {
      keys = ask(by, "keys under " + prefix + " cannot be listed", job -> folder.keys());
    } finally {
      calls.leave();
    }
    // The caller's code runs outside the call, so that it may call the store, or even close it.
    for (ObjectKey key : keys) {
      if (prefix.matches(key)) {
        calls.requireOpen();
        if (by.hasPassed()) {
          throw new CacheException(
              FailureCode.TIMEOUT,
              "the deadline passed while keys under " + prefix + " were listed");
        }
        if (!more.test(key)) {
          return;
        }
      }
    }
  }

  @Override
  public Registration register(Memory memory) {
    calls.enter(0);
    calls.leave();
    return Registration.NONE;
  }

  @Override
  public StoreStats stats() {
    return calls.stats(
        StoreStats.UNKNOWN, StoreStats.UNKNOWN, StoreStats.UNKNOWN, /* evicted= */ 0);
  }

  @Override
  public StoreHealth probe(Deadline by) {
    calls.enter(0);
    try {
      long free =
          ask(
              by,
              "the folder does not serve",
              job -> {
                folder.probe();
                return folder.usableBytes();
              });
      return free > folder.minFree()
          ? new StoreHealth(StoreHealth.State.UP, "%,d bytes are free on the disk".formatted(free))
          : new StoreHealth(
              StoreHealth.State.DOWN,
              "no object can be stored, since the disk of %s has %,d bytes free, of which min-free keeps %,d"
                  .formatted(folder.root(), free, folder.minFree()));
    } catch (CacheException e) {
      return new StoreHealth(StoreHealth.State.DOWN, folder.root() + ": " + e.getMessage());
    } finally {
      calls.leave();
    }
  }

  @Override
  public void close() {
    if (!calls.close(threads::hurry)) {
      return;
    }
    List.copyOf(sessions).forEach(SglangSession::closeFiles);
    if (!threads.later(() -> close(folder))) {
      close(folder);
    }
    threads.close();
  }

  // Work for entries and for the folder.

  /** Finds out about one file. */
  private interface Step {
    ObjectStatus run(int entry, Path path) throws IOException;
  }

  private BatchResult forEach(List<ObjectKey> keys, Deadline by, Step step) {
    Batch batch = new Batch(keys);
    @Nullable Path[] paths = paths(keys, batch);
    batch.run(
        threads,
        keys.size(),
        by,
        (i, job) -> {
          Path path = paths[i];
          if (path == null || job.isLate()) {
            return;
          }
          try {
            batch.set(i, step.run(i, path));
          } catch (IOException e) {
            batch.fail(
                i,
                StoreFailure.of(FailureCode.IO, Limits.about(keys.get(i), e.toString()))
                    .asRetryable());
          }
        });
    return batch.result();
  }

  /** Returns where the objects are; the entries of keys that make no names are settled. */
  private @Nullable Path[] paths(List<ObjectKey> keys, Batch batch) {
    @Nullable Path[] paths = new @Nullable Path[keys.size()];
    for (int i = 0; i < paths.length; i++) {
      paths[i] = folder.path(keys.get(i));
      if (paths[i] == null) {
        String why =
            SglangNames.of(keys.get(i)) == null
                ? "the key makes no file name of at most %d bytes (keyBytes is %d)"
                    .formatted(SglangNames.MOST_BYTES, LIMITS.keyBytes())
                : "no file can have its characters in its name" + SglangNames.hintOnEncoding();
        batch.fail(i, StoreFailure.of(FailureCode.REFUSED, Limits.about(keys.get(i), why)));
      }
    }
    return paths;
  }

  private <T> T ask(Deadline by, String what, Errand.Step<T> question) {
    try {
      return Errand.run(threads, by, question);
    } catch (CacheException e) {
      throw new CacheException(e.code(), what + ": " + e.getMessage(), e);
    }
  }
}
