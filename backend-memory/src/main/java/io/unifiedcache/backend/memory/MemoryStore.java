package io.unifiedcache.backend.memory;

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
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store in native memory of this process, within a budget. Thread-safe.
 *
 * <p>Beyond the contract of {@link CacheStore}:
 *
 * <ul>
 *   <li><b>Order of eviction.</b> The object unused for longest goes first. Get, session and put
 *       are uses, {@code exists} is not. Of the entries of one batch the first counts as used last:
 *       pages of a prefix are given in order, and one without those before it is worth nothing.
 *   <li><b>Two puts of one key.</b> The second waits, within its deadline, until the first is
 *       settled; so PRESENT always means that the object could be read. If the first fails, the
 *       second stores its own.
 *   <li><b>No room.</b> Whether an object can find room is known before anything is evicted for it.
 *       Objects that are being read or put are never evicted, so a batch does not evict its own.
 *   <li><b>Removal.</b> Nothing is ever leased: remove and clear take objects out of view at once,
 *       readers finish, and the memory is free when the last one lets go.
 *   <li><b>Counters.</b> Objects and live bytes include those removed but still read.
 * </ul>
 */
final class MemoryStore implements CacheStore {
  private static final Logger LOG = LoggerFactory.getLogger(MemoryStore.class);

  static final Set<Capability> CAPABILITIES =
      Set.of(
          Capability.REMOVE,
          Capability.CLEAR,
          Capability.LIST,
          Capability.RANGED_READ,
          Capability.BOUNDED,
          Capability.REPORTS_PRESENT);

  /** An object over the capacity is NO_SPACE, so that there is no limit on its own to name. */
  static final StoreLimits LIMITS =
      new StoreLimits(
          /* batch= */ 1 << 16,
          /* keyBytes= */ 1 << 16,
          /* objectBytes= */ Long.MAX_VALUE,
          /* pieces= */ 1 << 16,
          /* alignment= */ 1,
          /* grace= */ Duration.ofSeconds(1),
          /* busy= */ Duration.ZERO);

  /** How long to sleep at most before looking again at a deadline whose clock is not the JVM's. */
  private static final long LONGEST_NAP = TimeUnit.MILLISECONDS.toNanos(20);

  /** So many objects are looked at, or evicted, between two looks at a deadline. */
  private static final int STEP = 1024;

  private final long capacity;
  private final Slabs slabs;
  private final ObjectTable table;
  private final Copier copier;

  /** Guards the table, the slabs and the counters. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Signalled when reserved keys are settled and when a slab has come. */
  private final Condition settled = lock.newCondition();

  /** Signalled when the last call has left a closing store. */
  private final Condition left = lock.newCondition();

  private final AtomicInteger calls = new AtomicInteger();
  private volatile boolean closed;
  private boolean freed;

  private long stored;
  private long present;
  private long found;
  private long absent;
  private long failed;
  private long removed;
  private long bytesStored;
  private long bytesRead;

  /**
   * Opens a store.
   *
   * @param capacity the budget in bytes
   * @param slabBytes how much memory to reserve at a time, a power of two
   * @param copyThreads how many threads copy one batch at most
   * @param threads makes those beside the caller
   */
  MemoryStore(long capacity, long slabBytes, int copyThreads, ThreadFactory threads) {
    this.capacity = capacity;
    slabs = new Slabs(capacity, slabBytes);
    table = new ObjectTable(capacity, slabs);
    copier = Copier.start(copyThreads, threads);
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
    enter(keys.size());
    try {
      BatchResult.Builder result = BatchResult.builder(keys.size());
      boolean isLate = false;
      int failures = 0;
      for (int i = 0; i < keys.size(); i++) {
        isLate = isLate || (isStep(i) && by.hasPassed());
        ObjectKey key = keys.get(i);
        StoreFailure failure = isLate ? late(key) : refusal(key);
        if (failure == null) {
          result.set(i, table.contains(key) ? ObjectStatus.OK : ObjectStatus.ABSENT);
        } else {
          result.failed(i, failure);
          failures++;
        }
      }
      count(failures, /* absences= */ 0);
      return result.build();
    } finally {
      exit();
    }
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    // With room for all: one that is reserved must not be lost because a list cannot grow.
    List<EntryCopy> reserved = new ArrayList<>(ops.size());
    Patience patience = new Patience(by);
    enter(ops.size());
    try {
      BatchResult.Builder result = BatchResult.builder(ops.size());
      List<EntryCopy> waiting = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        admit(EntryCopy.of(i, ops.get(i)), waiting, result);
      }
      count(ops.size() - waiting.size(), /* absences= */ 0);
      while (!waiting.isEmpty()) {
        waiting = reserve(waiting, reserved, result, patience);
        copier.run(new Transfer(reserved, slabs, by, copier.parallelism()));
        publish(reserved, result);
      }
      return result.build();
    } finally {
      abandonAndExit(reserved);
    }
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    List<EntryCopy> pinned = new ArrayList<>(ops.size());
    enter(ops.size());
    try {
      BatchResult.Builder result = BatchResult.builder(ops.size());
      List<EntryCopy> wanted = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        admit(EntryCopy.of(i, ops.get(i)), wanted, result);
      }
      count(ops.size() - wanted.size(), /* absences= */ 0);
      pin(wanted, pinned, result);
      copier.run(new Transfer(pinned, slabs, by, copier.parallelism()));
      countRead(pinned, result);
      return result.build();
    } finally {
      unpin(pinned);
      exit();
    }
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    @Nullable StoredObject[] objects = new @Nullable StoredObject[keys.size()];
    boolean isOpened = false;
    enter(keys.size());
    try {
      BatchResult result =
          each(
              keys,
              by,
              (i, object) -> {
                table.pin(object);
                objects[i] = object;
              });
      ReadSession session = new MemorySession(this, objects, result);
      isOpened = true;
      return session;
    } finally {
      if (!isOpened) {
        release(objects);
      }
      exit();
    }
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    enter(keys.size());
    try {
      return each(
          keys,
          by,
          (i, object) -> {
            table.remove(object);
            removed++;
          });
    } finally {
      exit();
    }
  }

  /** What is done, with the lock, to the object of an entry. */
  private interface Treatment {
    void apply(int entry, StoredObject object);
  }

  /** Treats the objects that can be found, and answers OK for them and ABSENT for the others. */
  private BatchResult each(List<ObjectKey> keys, Deadline by, Treatment treatment) {
    BatchResult.Builder result = BatchResult.builder(keys.size());
    boolean isLate = false;
    for (int from = 0; from < keys.size(); from += STEP) {
      isLate = isLate || (from > 0 && by.hasPassed());
      int to = Math.min(keys.size(), from + STEP);
      lock.lock();
      try {
        for (int i = from; i < to; i++) {
          ObjectKey key = keys.get(i);
          StoreFailure failure = isLate ? late(key) : refusal(key);
          if (failure != null) {
            result.failed(i, failure);
            failed++;
            continue;
          }
          StoredObject object = table.find(key);
          result.set(i, object == null ? ObjectStatus.ABSENT : ObjectStatus.OK);
          if (object != null) {
            treatment.apply(i, object);
          }
        }
      } finally {
        lock.unlock();
      }
    }
    return result.build();
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    List<StoredObject> some = new ArrayList<>(STEP);
    enter(0);
    try {
      long gone = 0;
      int seen = 0;
      for (StoredObject object : table.visible()) {
        if (prefix.matches(object.key)) {
          some.add(object);
        }
        if (isStep(++seen)) {
          gone += removeThose(some);
          if (by.hasPassed()) {
            throw lateUnder(prefix, "removed; " + gone + " are");
          }
        }
      }
      return new ClearResult(gone + removeThose(some), /* kept= */ 0);
    } finally {
      exit();
    }
  }

  /** Removes those of the objects that can still be found, and returns how many they were. */
  private int removeThose(List<StoredObject> objects) {
    int gone = 0;
    lock.lock();
    try {
      for (StoredObject object : objects) {
        if (object.visible) {
          table.remove(object);
          gone++;
        }
      }
      removed += gone;
    } finally {
      lock.unlock();
    }
    objects.clear();
    return gone;
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    enter(0);
    exit();
    int seen = 0;
    // The caller's code runs outside the call, so that it may call the store, or even close it.
    for (StoredObject object : table.visible()) {
      boolean isListed = prefix.matches(object.key);
      if (isListed || isStep(++seen)) {
        if (closed) {
          throw closedStore();
        }
        if (by.hasPassed()) {
          throw lateUnder(prefix, "listed");
        }
      }
      if (isListed && !more.test(object.key)) {
        return;
      }
    }
    if (closed) {
      throw closedStore();
    }
  }

  private static CacheException lateUnder(KeyPrefix prefix, String done) {
    return new CacheException(
        FailureCode.TIMEOUT, "the deadline passed while keys under " + prefix + " were " + done);
  }

  @Override
  public Registration register(Memory memory) {
    enter(0);
    exit();
    return Registration.NONE;
  }

  @Override
  public StoreStats stats() {
    lock.lock();
    try {
      return new StoreStats(
          table.liveObjects(),
          table.liveBytes(),
          capacity,
          stored,
          present,
          found,
          absent,
          failed,
          removed,
          table.evicted(),
          bytesStored,
          bytesRead);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public StoreHealth probe(Deadline by) {
    enter(0);
    exit();
    StoreStats stats = stats();
    return new StoreHealth(
        StoreHealth.State.UP,
        "%d objects with %d of %d bytes"
            .formatted(stats.objects(), stats.liveBytes(), stats.capacityBytes()));
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      while (calls.get() > 0) {
        left.awaitUninterruptibly();
      }
      if (!freed) {
        freed = true;
        copier.close();
        table.drop();
        slabs.close();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Reads ranges of the objects that a session holds; null stands for an object it has not. */
  BatchResult read(
      List<ReadOp> ops, @Nullable StoredObject[] objects, BatchResult opened, Deadline by) {
    enter(ops.size());
    try {
      BatchResult.Builder result = BatchResult.builder(ops.size());
      List<EntryCopy> copies = new ArrayList<>(ops.size());
      int missing = 0;
      for (int i = 0; i < ops.size(); i++) {
        ReadOp op = ops.get(i);
        StoredObject object = op.entry() < objects.length ? objects[op.entry()] : null;
        if (object != null) {
          admit(EntryCopy.of(i, op, object), copies, result);
        } else if (op.entry() >= objects.length) {
          result.failed(
              i,
              StoreFailure.of(
                  FailureCode.REFUSED,
                  "entry %d of a session with %d keys".formatted(op.entry(), objects.length)));
        } else if (opened.status(op.entry()) == ObjectStatus.ABSENT) {
          result.set(i, ObjectStatus.ABSENT);
          missing++;
        } else {
          result.failed(i, opened.failure(op.entry()));
        }
      }
      count(ops.size() - copies.size() - missing, missing);
      copier.run(new Transfer(copies, slabs, by, copier.parallelism()));
      countRead(copies, result);
      return result.build();
    } finally {
      exit();
    }
  }

  /** Lets go of the objects of a session. */
  void release(@Nullable StoredObject[] objects) {
    lock.lock();
    try {
      for (int i = objects.length - 1; i >= 0 && !freed; i--) {
        StoredObject object = objects[i];
        if (object != null) {
          table.unpin(object);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns the exception that says that this store is closed. */
  static CacheException closedStore() {
    return new CacheException(FailureCode.CLOSED, "the memory store is closed");
  }

  private void enter(int entries) {
    calls.incrementAndGet();
    if (closed) {
      exit();
      throw closedStore();
    }
    if (entries > LIMITS.batch()) {
      exit();
      throw new CacheException(
          FailureCode.REFUSED,
          "%d entries are more than the %d that one call may have"
              .formatted(entries, LIMITS.batch()));
    }
  }

  private void exit() {
    if (calls.decrementAndGet() == 0 && closed) {
      lock.lock();
      try {
        left.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  private static void admit(EntryCopy copy, List<EntryCopy> admitted, BatchResult.Builder result) {
    StoreFailure failure = copy.failure();
    if (failure == null) {
      admitted.add(copy);
    } else {
      result.failed(copy.entry, failure);
    }
  }

  /**
   * Reserves room for those whose keys are free, and answers those that are present or find none.
   * While that leaves only keys that other calls are putting, waits for those.
   *
   * @return those to try again, for their keys are being put, by others or in this batch
   */
  private List<EntryCopy> reserve(
      List<EntryCopy> waiting,
      List<EntryCopy> reserved,
      BatchResult.Builder result,
      Patience patience) {
    boolean interrupted = false;
    lock.lock();
    try {
      List<EntryCopy> again = reserveFree(waiting, reserved, result, patience);
      while (reserved.isEmpty() && !again.isEmpty()) {
        long left = patience.left();
        again = reserveFree(again, reserved, result, patience);
        if (!reserved.isEmpty() || again.isEmpty()) {
          break;
        }
        if (left == 0) {
          again.forEach(copy -> fail(copy, patience.failure(copy), result));
          return List.of();
        }
        try {
          long unused = settled.awaitNanos(Math.min(left, LONGEST_NAP));
        } catch (InterruptedException e) {
          interrupted = true;
        }
        again = reserveFree(again, reserved, result, patience);
      }
      return again;
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private List<EntryCopy> reserveFree(
      List<EntryCopy> waiting,
      List<EntryCopy> reserved,
      BatchResult.Builder result,
      Patience patience) {
    List<EntryCopy> again = new ArrayList<>();
    for (EntryCopy copy : waiting) {
      if (!reserve(copy, reserved, result, patience)) {
        again.add(copy);
      }
    }
    return again;
  }

  /**
   * Answers or reserves one, unless its key is being put. Where it has to wait for memory, or for
   * many evictions, it does so in steps; what a step has made free or reserved stays with the
   * store.
   */
  private boolean reserve(
      EntryCopy copy, List<EntryCopy> reserved, BatchResult.Builder result, Patience patience) {
    boolean mayGrow = true;
    while (true) {
      StoredObject there = table.find(copy.key);
      if (there != null) {
        table.touch(there);
        present++;
        result.set(copy.entry, ObjectStatus.PRESENT);
        return true;
      }
      if (table.isReserved(copy.key)) {
        return false;
      }
      if (!table.canFit(copy.size(), mayGrow ? slabs.limit() : slabs.granules())) {
        fail(copy, copy.noRoom(capacity), result);
        return true;
      }
      boolean grows =
          mayGrow && slabs.canGrow() && !slabs.hasBlockFor(Slabs.granulesOf(copy.size()));
      if (!grows && table.evictFor(copy.size(), STEP)) {
        copy.with(table.reserve(copy.key, copy.size()));
        reserved.add(copy);
        return true;
      }
      if (patience.isOver()) {
        fail(copy, patience.failure(copy), result);
        return true;
      }
      if (grows) {
        mayGrow = grow();
      }
    }
  }

  /**
   * Looks at the deadline of a call without the lock: its clock is the caller's code, which may
   * take its time, or call this store.
   */
  private final class Patience {
    private final Deadline by;
    private boolean hasBegun;
    private @Nullable Throwable thrown;

    Patience(Deadline by) {
      this.by = by;
    }

    /** Returns whether the deadline has passed; never before the first step. */
    boolean isOver() {
      if (!hasBegun) {
        hasBegun = true;
        return false;
      }
      return left() == 0;
    }

    /**
     * Returns the nanoseconds left, none where the clock fails. The lock is held by the caller, and
     * let go meanwhile.
     */
    long left() {
      lock.unlock();
      try {
        return by.remainingNanos();
      } catch (RuntimeException | Error e) {
        thrown = e;
        return 0;
      } finally {
        lock.lock();
      }
    }

    /** Returns why an entry fails for which there is no time. */
    StoreFailure failure(EntryCopy copy) {
      Throwable cause = thrown;
      return cause == null ? copy.late() : copy.unforeseen(cause);
    }
  }

  /**
   * Reserves a slab, or waits for the one that another call is reserving, without the lock.
   *
   * @return whether it is worth trying again
   */
  private boolean grow() {
    if (slabs.isGrowing()) {
      while (slabs.isGrowing()) {
        settled.awaitUninterruptibly();
      }
      return true;
    }
    if (!slabs.canGrow()) {
      return true;
    }
    long bytes = slabs.beginGrowth();
    MemorySegment segment = null;
    lock.unlock();
    try {
      segment = slabs.reserve(bytes);
      if (segment == null) {
        LOG.warn("the system has no {} bytes of memory to spare; the store keeps to less", bytes);
      }
    } finally {
      lock.lock();
      slabs.endGrowth(segment);
      settled.signalAll();
    }
    return segment != null;
  }

  private void publish(List<EntryCopy> reserved, BatchResult.Builder result) {
    if (reserved.isEmpty()) {
      return;
    }
    lock.lock();
    try {
      // From the last to the first, so that the first is the one used last.
      while (!reserved.isEmpty()) {
        EntryCopy copy = reserved.getLast();
        StoreFailure failure = copy.failure();
        if (failure == null) {
          table.publish(copy.object());
        } else {
          table.abandon(copy.object());
        }
        // Settled: whatever goes wrong from here on, it is not given up once more.
        reserved.removeLast();
        if (failure == null) {
          stored++;
          bytesStored += copy.size();
          result.set(copy.entry, ObjectStatus.OK);
        } else {
          fail(copy, failure, result);
        }
      }
      settled.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Ends a put: gives back what an unforeseen exception left reserved. */
  private void abandonAndExit(List<EntryCopy> reserved) {
    try {
      if (!reserved.isEmpty()) {
        lock.lock();
        try {
          reserved.forEach(copy -> table.abandon(copy.object()));
          settled.signalAll();
        } finally {
          lock.unlock();
        }
      }
    } finally {
      exit();
    }
  }

  private void pin(List<EntryCopy> wanted, List<EntryCopy> pinned, BatchResult.Builder result) {
    lock.lock();
    try {
      for (EntryCopy copy : wanted) {
        StoredObject object = table.find(copy.key);
        if (object == null) {
          absent++;
          result.set(copy.entry, ObjectStatus.ABSENT);
        } else if (object.size != copy.size()) {
          fail(copy, copy.wrongSize(object.size), result);
        } else {
          table.pin(object);
          copy.with(object);
          pinned.add(copy);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void countRead(List<EntryCopy> copies, BatchResult.Builder result) {
    lock.lock();
    try {
      for (EntryCopy copy : copies) {
        StoreFailure failure = copy.failure();
        if (failure == null) {
          found++;
          bytesRead += copy.size();
          result.set(copy.entry, ObjectStatus.OK);
        } else {
          fail(copy, failure, result);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private void unpin(List<EntryCopy> pinned) {
    lock.lock();
    try {
      // From the last to the first, so that the first is the one used last.
      for (int i = pinned.size() - 1; i >= 0; i--) {
        table.unpin(pinned.get(i).object());
      }
    } finally {
      lock.unlock();
    }
  }

  private void fail(EntryCopy copy, StoreFailure failure, BatchResult.Builder result) {
    failed++;
    result.failed(copy.entry, failure);
  }

  private void count(int failures, int absences) {
    if (failures == 0 && absences == 0) {
      return;
    }
    lock.lock();
    try {
      failed += failures;
      absent += absences;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether a deadline is looked at before the given one of many. */
  private static boolean isStep(int number) {
    return number > 0 && number % STEP == 0;
  }

  private static StoreFailure late(ObjectKey key) {
    return StoreFailure.of(FailureCode.TIMEOUT, EntryCopy.about(key, "the deadline passed first"));
  }

  /** Returns why a key is refused, or null if it is not. */
  static @Nullable StoreFailure refusal(ObjectKey key) {
    String value = key.value();
    // A char takes at most three bytes, and the two of a surrogate pair take four together.
    if (3L * value.length() <= LIMITS.keyBytes()
        || value.getBytes(StandardCharsets.UTF_8).length <= LIMITS.keyBytes()) {
      return null;
    }
    return StoreFailure.of(
        FailureCode.REFUSED,
        EntryCopy.about(key, "the key has more than %d bytes".formatted(LIMITS.keyBytes())));
  }

  /** Returns why an entry is refused, or null if it is not. */
  static @Nullable StoreFailure refusal(ObjectKey key, int pieces) {
    if (pieces > LIMITS.pieces()) {
      return StoreFailure.of(
          FailureCode.REFUSED,
          EntryCopy.about(
              key, "its %d pieces are more than %d".formatted(pieces, LIMITS.pieces())));
    }
    return refusal(key);
  }
}
