package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
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
import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A store in a folder. Thread-safe.
 *
 * <p>Beyond the contract of {@link CacheStore}:
 *
 * <ul>
 *   <li><b>When others see it.</b> A change is seen by every call, in any process, that starts
 *       after the call that made it has returned.
 *   <li><b>Two puts of one key.</b> Both write; the first to be published wins, and the other one
 *       says PRESENT.
 *   <li><b>Order of eviction.</b> The object unused for longest goes first. Get, session and put
 *       are uses, {@code exists} is not. Of the entries of one batch the first counts as used last.
 *       Objects that this process is reading stay.
 *   <li><b>Removal.</b> Nothing is ever leased. Readers in this process finish whole; those in
 *       others may fail with {@code LEASE_EXPIRED}.
 *   <li><b>Damage.</b> An object that is not what was put is FAILED with {@code CORRUPT} (or ABSENT
 *       where its file is gone) and dropped, so that it can be stored anew.
 *   <li><b>Threads.</b> Files are read and written by the store's own threads.
 * </ul>
 */
final class FileStore implements CacheStore {
  private final FileEngine engine;
  private final IoThreads threads;
  private final Tuning tuning;
  private final Set<Capability> capabilities;
  private final long evictedBefore;

  private final Calls calls = new Calls(Limits.LIMITS.batch());

  /** What was in the store when it was closed. */
  private volatile FileEngine.@Nullable Counts last;

  private FileStore(
      FileEngine engine, IoThreads threads, Tuning tuning, Set<Capability> capabilities) {
    this.engine = engine;
    this.threads = threads;
    this.tuning = tuning;
    this.capabilities = capabilities;
    evictedBefore = engine.counts().evicted();
  }

  /**
   * Opens a store.
   *
   * @throws CacheException if it cannot be opened, with a sentence that says why
   */
  static FileStore open(
      Disk disk,
      Path folder,
      FileStoreProvider.Mode mode,
      Tuning tuning,
      int ioThreads,
      StoreContext context) {
    IoThreads threads = new IoThreads(ioThreads, context.threads());
    AtomicReference<@Nullable Object> answer = new AtomicReference<>();
    Job job =
        threads.runUnlessInterrupted(
            running -> {
              try {
                FileEngine engine =
                    Engines.open(
                        disk,
                        folder,
                        mode == FileStoreProvider.Mode.EXCLUSIVE,
                        context.instance(),
                        running,
                        tuning);
                if (!answer.compareAndSet(null, engine)) {
                  Engines.close(engine);
                }
              } catch (CacheException e) {
                answer.compareAndSet(null, e);
              } catch (LateException e) {
                answer.compareAndSet(null, givenUp(folder));
              }
            });
    Throwable problem = job.problem();
    answer.compareAndSet(
        null,
        problem == null
            ? givenUp(folder)
            : new CacheException(
                FailureCode.INTERNAL,
                "the folder " + folder + " cannot be opened: " + problem,
                problem));
    if (answer.get() instanceof FileEngine engine) {
      return new FileStore(engine, threads, tuning, capabilities(mode));
    }
    threads.abandon();
    throw (CacheException) Objects.requireNonNull(answer.get());
  }

  private static CacheException givenUp(Path folder) {
    return new CacheException(
        FailureCode.CANCELLED, "the opening of " + folder + " was interrupted");
  }

  /** Returns what a store offers. */
  static Set<Capability> capabilities(FileStoreProvider.Mode mode) {
    Set<Capability> all =
        EnumSet.of(
            Capability.REMOVE,
            Capability.CLEAR,
            Capability.LIST,
            Capability.RANGED_READ,
            Capability.DURABLE,
            Capability.BOUNDED,
            Capability.REPORTS_PRESENT);
    if (mode == FileStoreProvider.Mode.SHARED) {
      all.add(Capability.SHARED);
    }
    return Set.copyOf(all);
  }

  @Override
  public Set<Capability> capabilities() {
    return capabilities;
  }

  @Override
  public StoreLimits limits() {
    return Limits.LIMITS;
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    calls.enter(keys.size());
    try {
      StoreFailure failure = freshen(by);
      if (failure != null) {
        return calls.other(BatchResult.allFailed(keys.size(), failure));
      }
      BatchResult.Builder result = BatchResult.builder(keys.size());
      boolean refused = false;
      for (int i = 0; i < keys.size(); i++) {
        ObjectKey key = keys.get(i);
        StoreFailure refusal = Limits.refusal(key);
        if (refusal == null) {
          result.set(i, engine.contains(key) ? ObjectStatus.OK : ObjectStatus.ABSENT);
        } else {
          result.failed(i, refusal);
          refused = true;
        }
      }
      return refused ? calls.other(result.build()) : result.build();
    } finally {
      exit();
    }
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    calls.enter(ops.size());
    try {
      List<ObjectCopy> copies = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        copies.add(ObjectCopy.of(i, ops.get(i)));
      }
      List<ObjectCopy> admitted = new ArrayList<>(copies);
      admitted.removeIf(ObjectCopy::hasFailed);
      BitSet found = new BitSet();
      Job job =
          admitted.isEmpty()
              ? null
              : threads.run(
                  by,
                  running -> new PutCall(engine, threads, tuning, running, found).run(admitted));
      return putResult(copies, job, found);
    } finally {
      exit();
    }
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    calls.enter(ops.size());
    try {
      List<ObjectCopy> copies = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        copies.add(ObjectCopy.of(i, ops.get(i)));
      }
      List<ObjectCopy> admitted = new ArrayList<>(copies);
      admitted.removeIf(ObjectCopy::hasFailed);
      BitSet missing = new BitSet();
      Job job =
          admitted.isEmpty() ? null : threads.run(by, running -> get(admitted, running, missing));
      return readResult(copies, BatchResult.builder(ops.size()), job, missing);
    } finally {
      exit();
    }
  }

  private void get(List<ObjectCopy> copies, Job job, BitSet missing) {
    try {
      engine.catchUp();
    } catch (IOException e) {
      copies.forEach(
          copy ->
              copy.fail(
                  copy.failure(FailureCode.IO, "it cannot be looked up: " + e).asRetryable()));
      return;
    }
    @Nullable StoredObject[] objects = engine.pin(copies.stream().map(copy -> copy.key).toList());
    try {
      List<ObjectCopy> wanted = new ArrayList<>(copies.size());
      for (int i = 0; i < objects.length; i++) {
        ObjectCopy copy = copies.get(i);
        StoredObject object = objects[i];
        if (object == null) {
          missing.set(copy.entry);
        } else if (object.size != copy.size()) {
          copy.fail(
              copy.failure(
                  FailureCode.SIZE_MISMATCH,
                  "it has %d bytes and the targets %d".formatted(object.size, copy.size())));
        } else {
          copy.with(object);
          wanted.add(copy);
        }
      }
      new ReadCall(engine, threads, tuning.checksum(), job).run(wanted);
    } finally {
      engine.unpin(objects);
    }
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    calls.enter(keys.size());
    try {
      BatchResult.Builder result = BatchResult.builder(keys.size());
      List<ObjectKey> legal = new ArrayList<>(keys.size());
      int[] entries = new int[keys.size()];
      for (int i = 0; i < keys.size(); i++) {
        StoreFailure refusal = Limits.refusal(keys.get(i));
        if (refusal != null) {
          result.failed(i, refusal);
        } else {
          entries[legal.size()] = i;
          legal.add(keys.get(i));
        }
      }
      Outcome<@Nullable StoredObject[]> pinned = pin(legal, by);
      @Nullable StoredObject[] found = pinned.value();
      @Nullable StoredObject[] objects = new @Nullable StoredObject[keys.size()];
      for (int i = 0; i < legal.size(); i++) {
        if (found == null) {
          result.failed(entries[i], pinned.why("objects cannot be looked up"));
        } else {
          objects[entries[i]] = found[i];
          result.set(entries[i], found[i] == null ? ObjectStatus.ABSENT : ObjectStatus.OK);
        }
      }
      return new FileSession(this, objects, calls.other(result.build()));
    } finally {
      exit();
    }
  }

  /** Pins objects, at once if nothing has to be waited for. */
  private Outcome<@Nullable StoredObject[]> pin(List<ObjectKey> keys, Deadline by) {
    @Nullable StoredObject @Nullable [] pinned = engine.isCurrent() ? engine.tryPin(keys) : null;
    if (pinned != null) {
      return new Outcome<>(pinned, FailureCode.INTERNAL, "none");
    }
    AtomicBoolean taken = new AtomicBoolean();
    Outcome<@Nullable StoredObject[]> outcome =
        ask(
            by,
            job -> {
              engine.catchUp();
              @Nullable StoredObject[] late = engine.pin(keys);
              if (!taken.compareAndSet(false, true)) {
                engine.unpin(late);
              }
              return late;
            });
    if (outcome.value() == null && !taken.compareAndSet(false, true)) {
      // It was in time after all; nobody will hear of it.
      return pin(keys, by);
    }
    return outcome;
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    calls.enter(keys.size());
    try {
      BatchResult.Builder result = BatchResult.builder(keys.size());
      List<ObjectKey> legal = new ArrayList<>(keys.size());
      int[] entries = new int[keys.size()];
      for (int i = 0; i < keys.size(); i++) {
        StoreFailure refusal = Limits.refusal(keys.get(i));
        if (refusal != null) {
          result.failed(i, refusal);
        } else {
          entries[legal.size()] = i;
          legal.add(keys.get(i));
        }
      }
      Outcome<BitSet> there =
          legal.isEmpty()
              ? new Outcome<>(new BitSet(), FailureCode.INTERNAL, "none")
              : ask(by, job -> engine.remove(legal, job, tuning.flush()));
      BitSet removals = there.value();
      for (int i = 0; i < legal.size(); i++) {
        if (removals == null) {
          result.failed(entries[i], there.why("objects cannot be removed"));
        } else {
          result.set(entries[i], removals.get(i) ? ObjectStatus.OK : ObjectStatus.ABSENT);
        }
      }
      return calls.remove(result.build());
    } finally {
      exit();
    }
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    calls.enter(0);
    try {
      if (prefix.value().length() > Limits.KEY_BYTES) {
        return new ClearResult(0, 0);
      }
      Outcome<Long> count = ask(by, job -> engine.clear(prefix, job, tuning.flush()));
      Long cleared = count.value();
      if (cleared == null) {
        throw count.exception("objects under " + prefix + " cannot be removed");
      }
      calls.cleared(cleared);
      return new ClearResult(cleared, /* kept= */ 0);
    } finally {
      exit();
    }
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    List<ObjectKey> keys;
    calls.enter(0);
    try {
      StoreFailure failure = freshen(by);
      if (failure != null) {
        throw new CacheException(failure.code(), failure.message());
      }
      keys = engine.under(prefix);
    } finally {
      exit();
    }
    // The caller's code runs outside the call, so that it may call the store, or even close it.
    for (ObjectKey key : keys) {
      calls.requireOpen();
      if (by.hasPassed()) {
        throw new CacheException(
            FailureCode.TIMEOUT, "the deadline passed while keys under " + prefix + " were listed");
      }
      if (!more.test(key)) {
        return;
      }
    }
  }

  @Override
  public Registration register(Memory memory) {
    calls.enter(0);
    exit();
    return Registration.NONE;
  }

  @Override
  public StoreStats stats() {
    FileEngine.Counts closing = last;
    FileEngine.Counts counts = closing == null ? engine.counts() : closing;
    return calls.stats(
        counts.objects(), counts.liveBytes(), tuning.capacity(), counts.evicted() - evictedBefore);
  }

  @Override
  public StoreHealth probe(Deadline by) {
    calls.enter(0);
    try {
      Outcome<FileEngine.Probed> served = ask(by, job -> engine.probe(job, tuning));
      return switch (served.value()) {
        case null ->
            new StoreHealth(
                StoreHealth.State.DOWN,
                served.why("the directory " + engine.root() + " does not serve").message());
        case WORKS -> {
          StoreStats stats = stats();
          yield new StoreHealth(
              StoreHealth.State.UP,
              "%d objects with %d of %d bytes"
                  .formatted(stats.objects(), stats.liveBytes(), stats.capacityBytes()));
        }
        case LOST_FILES ->
            new StoreHealth(
                StoreHealth.State.DEGRADED,
                "files of segments were deleted from %s, so that their objects are lost"
                    .formatted(engine.root()));
        case NO_ROOM ->
            new StoreHealth(
                StoreHealth.State.DOWN,
                "no object can be stored, since the disk of %s has not more than the %,d bytes of min-free left"
                    .formatted(engine.root(), tuning.minFree()));
      };
    } finally {
      exit();
    }
  }

  @Override
  public void close() {
    if (!calls.close(threads::hurry)) {
      return;
    }
    last = engine.counts();
    if (!threads.later(() -> Engines.close(engine))) {
      Engines.close(engine);
    }
    threads.close();
  }

  /** Reads ranges of the objects that a session holds; null stands for an object it has not. */
  BatchResult read(
      List<ReadOp> ops, @Nullable StoredObject[] objects, BatchResult opened, Deadline by) {
    calls.enter(ops.size());
    try {
      List<ObjectCopy> copies = new ArrayList<>(ops.size());
      BatchResult.Builder result = BatchResult.builder(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        ReadOp op = ops.get(i);
        StoredObject object = op.entry() < objects.length ? objects[op.entry()] : null;
        if (object != null) {
          copies.add(ObjectCopy.of(i, op, object));
        } else if (op.entry() >= objects.length) {
          result.failed(
              i,
              StoreFailure.of(
                  FailureCode.REFUSED,
                  "entry %d of a session with %d keys".formatted(op.entry(), objects.length)));
        } else if (opened.status(op.entry()) == ObjectStatus.ABSENT) {
          result.set(i, ObjectStatus.ABSENT);
        } else {
          result.failed(i, opened.failure(op.entry()));
        }
      }
      List<ObjectCopy> admitted = new ArrayList<>(copies);
      admitted.removeIf(ObjectCopy::hasFailed);
      Job job = null;
      if (!admitted.isEmpty()) {
        // The session may be closed before a read that is late has ended.
        StoredObject[] pinned =
            admitted.stream().map(ObjectCopy::object).toArray(StoredObject[]::new);
        engine.pinAgain(List.of(pinned));
        job =
            threads.run(
                by,
                running -> new ReadCall(engine, threads, tuning.checksum(), running).run(admitted));
        job.released().thenRun(() -> engine.unpin(pinned));
      }
      return readResult(copies, result, job, new BitSet());
    } finally {
      exit();
    }
  }

  /** Lets go of the objects of a session. */
  void release(@Nullable StoredObject[] objects) {
    engine.unpin(objects);
  }

  // What was answered.

  private BatchResult putResult(List<ObjectCopy> copies, @Nullable Job job, BitSet there) {
    BatchResult.Builder result = BatchResult.builder(copies.size());
    long bytes = 0;
    for (ObjectCopy copy : copies) {
      StoreFailure failure = failure(copy, job);
      if (failure != null) {
        result.failed(copy.entry, failure);
      } else if (there.get(copy.entry)) {
        result.set(copy.entry, ObjectStatus.PRESENT);
      } else {
        result.set(copy.entry, ObjectStatus.OK);
        bytes += copy.size();
      }
    }
    return calls.put(result.build(), bytes);
  }

  private BatchResult readResult(
      List<ObjectCopy> copies, BatchResult.Builder result, @Nullable Job job, BitSet missing) {
    long bytes = 0;
    for (ObjectCopy copy : copies) {
      StoreFailure failure = failure(copy, job);
      if (failure == null && missing.get(copy.entry)) {
        result.set(copy.entry, ObjectStatus.ABSENT);
      } else if (failure != null && job != null && job.isDone() && copy.isMissing()) {
        result.set(copy.entry, ObjectStatus.ABSENT);
      } else if (failure != null) {
        result.failed(copy.entry, failure);
      } else {
        result.set(copy.entry, ObjectStatus.OK);
        bytes += copy.size();
      }
    }
    return calls.read(result.build(), bytes);
  }

  /** Returns why an entry failed; null if it has not. */
  private static @Nullable StoreFailure failure(ObjectCopy copy, @Nullable Job job) {
    if (job == null || !copy.isLegal()) {
      return copy.failure();
    }
    if (!job.isDone()) {
      return copy.late().withMemory(new MemoryState.InUse(job.released()));
    }
    Throwable problem = job.problem();
    if (problem != null) {
      copy.fail(problem);
    }
    return copy.failure();
  }

  // Work without memory of the caller.

  /** What is asked of the folder. */
  private interface Question<T> {
    T ask(Job job) throws IOException, LateException;
  }

  /** What the folder answers, or why it does not. */
  private record Outcome<T>(@Nullable T value, FailureCode code, String message) {
    StoreFailure why(String what) {
      return StoreFailure.of(code, what + ": " + message).asRetryable();
    }

    CacheException exception(String what) {
      return new CacheException(code, what + ": " + message);
    }
  }

  private <T> Outcome<T> ask(Deadline by, Question<T> question) {
    AtomicReference<@Nullable T> value = new AtomicReference<>();
    AtomicReference<@Nullable Exception> problem = new AtomicReference<>();
    Job job =
        threads.run(
            by,
            running -> {
              try {
                value.set(question.ask(running));
              } catch (IOException | LateException e) {
                problem.set(e);
              }
            });
    Exception known = problem.get();
    Throwable unforeseen = job.problem();
    if (job.isDone() && value.get() != null) {
      return new Outcome<>(value.get(), FailureCode.INTERNAL, "none");
    } else if (known instanceof IOException e) {
      return new Outcome<>(null, Failures.codeOf(e), e.toString());
    } else if (known != null) {
      return new Outcome<>(null, FailureCode.TIMEOUT, String.valueOf(known.getMessage()));
    } else if (unforeseen != null) {
      return new Outcome<>(null, FailureCode.INTERNAL, unforeseen.toString());
    }
    return new Outcome<>(null, FailureCode.TIMEOUT, "the deadline passed first");
  }

  /** Learns what other processes have changed; returns why that failed, or null. */
  private @Nullable StoreFailure freshen(Deadline by) {
    if (engine.isCurrent()) {
      return null;
    }
    Outcome<Boolean> done =
        ask(
            by,
            job -> {
              engine.catchUp();
              return Boolean.TRUE;
            });
    return done.value() == null ? done.why("the folder cannot be asked") : null;
  }

  /** Returns the exception that says that this store is closed. */
  static CacheException closedStore() {
    return new CacheException(FailureCode.CLOSED, "the file store is closed");
  }

  /** Ends a call; what is due besides is begun, and keeps the store open until it has ended. */
  private void exit() {
    if (calls.areOpen() && engine.upkeep().isDue()) {
      calls.extend();
      boolean begun =
          threads.later(
              () -> {
                try {
                  engine.upkeep().run(tuning);
                } finally {
                  calls.leave();
                }
              });
      if (!begun) {
        calls.leave();
      }
    }
    calls.leave();
  }
}
