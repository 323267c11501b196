package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
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
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The simplest store that keeps every rule: arrays in a map, one call at a time.
 *
 * <p>Linkers are tried on it, and the suite itself on edited versions of it: each step is a method
 * of its own.
 */
public class ReferenceStore implements CacheStore {
  /** All that it can offer. */
  public static final Set<Capability> ALL =
      Set.of(
          Capability.REMOVE,
          Capability.CLEAR,
          Capability.LIST,
          Capability.RANGED_READ,
          Capability.BOUNDED,
          Capability.REPORTS_PRESENT);

  /** Its limits, unless others are given. */
  public static final StoreLimits LIMITS =
      new StoreLimits(2_048, 16_384, 1L << 30, 1_024, 1, Duration.ofSeconds(1), Duration.ZERO);

  private static final long USUAL_CAPACITY = 256L << 20;

  /** Guarded by this, as all else: recently used last. */
  private final Map<ObjectKey, byte[]> objects = new LinkedHashMap<>(16, 0.75f, true);

  private final Set<Capability> capabilities;
  private final StoreLimits limits;
  private final long capacity;
  private long liveBytes;
  private long stored;
  private long present;
  private long found;
  private long absent;
  private long failed;
  private long removed;
  private long evicted;
  private long bytesStored;
  private long bytesRead;
  private boolean closed;

  /** Creates a store that offers everything. */
  public ReferenceStore() {
    this(ALL, LIMITS, USUAL_CAPACITY);
  }

  /** Creates a store with fewer capabilities, tighter limits or another budget. */
  public ReferenceStore(Set<Capability> capabilities, StoreLimits limits, long capacity) {
    this.capabilities = Set.copyOf(capabilities);
    this.limits = limits;
    this.capacity = capacity;
  }

  @Override
  public Set<Capability> capabilities() {
    return capabilities;
  }

  @Override
  public StoreLimits limits() {
    return limits;
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    synchronized (this) {
      begin(keys.size());
      BatchResult.Builder result = BatchResult.builder(keys.size());
      for (int i = 0; i < keys.size(); i++) {
        Optional<StoreFailure> refusal = refusal(keys.get(i), 1, 0);
        if (refusal.isPresent()) {
          fail(result, i, refusal.get());
        } else {
          // Without a trace in the order of use.
          result.set(
              i, objects.containsKey(name(keys.get(i))) ? ObjectStatus.OK : ObjectStatus.ABSENT);
        }
      }
      return result.build();
    }
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    synchronized (this) {
      begin(ops.size());
      BatchResult.Builder result = BatchResult.builder(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        put(ops.get(i), result, i);
      }
      return result.build();
    }
  }

  /** Answers entry {@code i} of a put. */
  protected void put(PutOp op, BatchResult.Builder result, int i) {
    Optional<StoreFailure> refusal = refusal(op.key(), op.pieces().size(), op.byteSize());
    if (refusal.isPresent()) {
      fail(result, i, refusal.get());
      return;
    }
    ObjectKey name = name(op.key());
    if (objects.containsKey(name)) {
      if (capabilities.contains(Capability.REPORTS_PRESENT)) {
        present++;
        result.set(i, ObjectStatus.PRESENT);
      } else {
        stored++;
        bytesStored += op.byteSize();
        result.set(i, ObjectStatus.OK);
      }
      return;
    }
    if (op.byteSize() > capacity) {
      fail(
          result,
          i,
          StoreFailure.of(
              FailureCode.NO_SPACE,
              "object %s has %d bytes, and the store holds %d"
                  .formatted(op.key(), op.byteSize(), capacity)));
      return;
    }
    if (!isUsable(op.pieces(), /* asTarget= */ false)) {
      fail(result, i, unusable(op.key()));
      return;
    }
    makeRoom(op.byteSize());
    byte[] bytes = gather(op.pieces());
    objects.put(name, bytes);
    liveBytes += bytes.length;
    stored++;
    bytesStored += bytes.length;
    result.set(i, ObjectStatus.OK);
  }

  /** Evicts, least recently used first, until so many bytes are free. */
  protected void makeRoom(long needed) {
    Iterator<byte[]> eldest = objects.values().iterator();
    while (capacity - liveBytes < needed) {
      byte[] bytes = eldest.next();
      liveBytes -= bytes.length;
      eldest.remove();
      evicted++;
      release(bytes);
    }
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    synchronized (this) {
      begin(ops.size());
      BatchResult.Builder result = BatchResult.builder(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        get(ops.get(i), result, i);
      }
      return result.build();
    }
  }

  /** Answers entry {@code i} of a get. */
  protected void get(GetOp op, BatchResult.Builder result, int i) {
    Optional<StoreFailure> refusal = refusal(op.key(), op.pieces().size(), 0);
    if (refusal.isPresent()) {
      fail(result, i, refusal.get());
      return;
    }
    byte[] bytes = find(op.key());
    if (bytes == null) {
      absent++;
      result.set(i, ObjectStatus.ABSENT);
    } else if (op.byteSize() != bytes.length) {
      fail(result, i, mismatch(op.key(), bytes.length, op.byteSize()));
    } else if (!isUsable(op.pieces(), /* asTarget= */ true)) {
      fail(result, i, unusable(op.key()));
    } else {
      long offset = 0;
      for (Memory piece : op.pieces()) {
        scatter(bytes, offset, piece);
        offset += piece.byteSize();
      }
      found++;
      bytesRead += bytes.length;
      result.set(i, ObjectStatus.OK);
    }
  }

  /** Returns the bytes of an object that is to be read. */
  protected byte @Nullable [] find(ObjectKey key) {
    return objects.get(name(key));
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    synchronized (this) {
      if (!capabilities.contains(Capability.RANGED_READ)) {
        return CacheStore.super.openSession(keys, by);
      }
      begin(keys.size());
      BatchResult.Builder result = BatchResult.builder(keys.size());
      List<byte @Nullable []> held = new ArrayList<>();
      for (int i = 0; i < keys.size(); i++) {
        Optional<StoreFailure> refusal = refusal(keys.get(i), 1, 0);
        byte[] bytes = refusal.isPresent() ? null : find(keys.get(i));
        held.add(bytes);
        if (refusal.isPresent()) {
          fail(result, i, refusal.get());
        } else {
          result.set(i, bytes == null ? ObjectStatus.ABSENT : ObjectStatus.OK);
        }
      }
      return session(List.copyOf(keys), held, result.build());
    }
  }

  /** Returns a session of objects that were found, or not. */
  protected ReadSession session(
      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
    return new Session(keys, held, opened);
  }

  /** Holds the arrays of its objects. */
  protected class Session implements ReadSession {
    private final List<ObjectKey> keys;
    private final List<byte @Nullable []> held;
    private final BatchResult opened;
    private boolean ended;

    /** Creates a session. */
    protected Session(List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
      this.keys = keys;
      this.held = held;
      this.opened = opened;
    }

    @Override
    public BatchResult opened() {
      requireOpen();
      return opened;
    }

    @Override
    public long size(int entry) {
      synchronized (ReferenceStore.this) {
        requireOpen();
        byte[] bytes = held.get(entry);
        return bytes == null ? -1 : bytes.length;
      }
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      synchronized (ReferenceStore.this) {
        requireOpen();
        begin(ops.size());
        BatchResult.Builder result = BatchResult.builder(ops.size());
        for (int i = 0; i < ops.size(); i++) {
          if (ops.get(i).entry() < keys.size()) {
            read(ops.get(i), result, i);
          } else {
            refuse(ops.get(i), result, i);
          }
        }
        return result.build();
      }
    }

    /** Answers entry {@code i} of a read, which is none of the session. */
    protected void refuse(ReadOp op, BatchResult.Builder result, int i) {
      fail(
          result,
          i,
          StoreFailure.of(
              FailureCode.REFUSED,
              "entry %d of a session with %d keys".formatted(op.entry(), keys.size())));
    }

    /** Answers entry {@code i} of a read. */
    protected void read(ReadOp op, BatchResult.Builder result, int i) {
      byte[] bytes = held.get(op.entry());
      if (bytes == null) {
        if (opened.status(op.entry()) == ObjectStatus.FAILED) {
          fail(result, i, opened.failure(op.entry()));
        } else {
          absent++;
          result.set(i, ObjectStatus.ABSENT);
        }
        return;
      }
      if (op.ranges().size() > limits.pieces()) {
        fail(
            result,
            i,
            tooMany(keys.get(op.entry()), "ranges", op.ranges().size(), limits.pieces()));
        return;
      }
      for (Range range : op.ranges()) {
        if (range.target().byteSize() > bytes.length - range.objectOffset()) {
          fail(
              result,
              i,
              mismatch(
                  keys.get(op.entry()),
                  bytes.length,
                  range.objectOffset() + range.target().byteSize()));
          return;
        }
      }
      List<Memory> targets = op.ranges().stream().map(Range::target).toList();
      if (!isUsable(targets, /* asTarget= */ true)) {
        fail(result, i, unusable(keys.get(op.entry())));
        return;
      }
      for (Range range : op.ranges()) {
        scatter(bytes, range.objectOffset(), range.target());
      }
      found++;
      bytesRead += op.byteSize();
      result.set(i, ObjectStatus.OK);
    }

    private void requireOpen() {
      if (ended) {
        throw new CacheException(FailureCode.CLOSED, "the session is closed");
      }
    }

    @Override
    public void close() {
      synchronized (ReferenceStore.this) {
        ended = true;
        held.clear();
      }
    }
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    synchronized (this) {
      if (!capabilities.contains(Capability.REMOVE)) {
        return CacheStore.super.remove(keys, evenIfLeased, by);
      }
      begin(keys.size());
      BatchResult.Builder result = BatchResult.builder(keys.size());
      for (int i = 0; i < keys.size(); i++) {
        remove(keys.get(i), evenIfLeased, result, i);
      }
      return result.build();
    }
  }

  /** Answers entry {@code i} of a remove. */
  protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
    Optional<StoreFailure> refusal = refusal(key, 1, 0);
    if (refusal.isPresent()) {
      fail(result, i, refusal.get());
      return;
    }
    byte[] bytes = objects.remove(name(key));
    if (bytes == null) {
      result.set(i, ObjectStatus.ABSENT);
    } else {
      liveBytes -= bytes.length;
      removed++;
      release(bytes);
      result.set(i, ObjectStatus.OK);
    }
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    synchronized (this) {
      if (!capabilities.contains(Capability.CLEAR)) {
        return CacheStore.super.clear(prefix, by);
      }
      begin(1);
      long count = 0;
      Iterator<Map.Entry<ObjectKey, byte[]>> all = objects.entrySet().iterator();
      while (all.hasNext()) {
        Map.Entry<ObjectKey, byte[]> each = all.next();
        if (prefix.matches(each.getKey())) {
          liveBytes -= each.getValue().length;
          all.remove();
          release(each.getValue());
          count++;
        }
      }
      removed += count;
      return new ClearResult(count, 0);
    }
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    if (!capabilities.contains(Capability.LIST)) {
      CacheStore.super.list(prefix, more, by);
      return;
    }
    for (ObjectKey key : listed(prefix)) {
      if (!more.test(key)) {
        return;
      }
    }
  }

  /** Returns the keys that list passes on. */
  protected List<ObjectKey> listed(KeyPrefix prefix) {
    synchronized (this) {
      begin(1);
      return objects.keySet().stream().filter(prefix::matches).toList();
    }
  }

  @Override
  public StoreStats stats() {
    synchronized (this) {
      return new StoreStats(
          objects.size(),
          liveBytes,
          capacity,
          stored,
          present,
          found,
          absent,
          failed,
          removed,
          evicted,
          bytesStored,
          bytesRead);
    }
  }

  @Override
  public StoreHealth probe(Deadline by) {
    synchronized (this) {
      begin(1);
      return new StoreHealth(StoreHealth.State.UP, objects.size() + " objects");
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      objects.clear();
    }
  }

  /** Refuses a call as a whole. */
  protected void begin(int entries) {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the store is closed");
    }
    if (entries > limits.batch()) {
      throw new CacheException(
          FailureCode.REFUSED,
          "%d entries, but the limit of a batch is %d".formatted(entries, limits.batch()));
    }
  }

  /** Refuses an entry that is over a limit. */
  protected Optional<StoreFailure> refusal(ObjectKey key, int pieces, long bytes) {
    int keyBytes = key.value().getBytes(StandardCharsets.UTF_8).length;
    if (keyBytes > limits.keyBytes()) {
      return Optional.of(
          StoreFailure.of(
              FailureCode.REFUSED,
              "a key of %d bytes, but the limit of keyBytes is %d"
                  .formatted(keyBytes, limits.keyBytes())));
    }
    if (pieces > limits.pieces()) {
      return Optional.of(tooMany(key, "pieces", pieces, limits.pieces()));
    }
    if (bytes > limits.objectBytes()) {
      return Optional.of(tooMany(key, "objectBytes", bytes, limits.objectBytes()));
    }
    return Optional.empty();
  }

  /** Tells whether bytes can be copied from memory, or to it. */
  protected boolean isUsable(List<Memory> pieces, boolean asTarget) {
    for (Memory piece : pieces) {
      if (!(piece instanceof HostMemory host)
          || !host.isAlive()
          || (asTarget && host.segment().isReadOnly())) {
        return false;
      }
    }
    return true;
  }

  private static StoreFailure unusable(ObjectKey key) {
    return StoreFailure.of(
        FailureCode.REFUSED, "object %s: a piece of memory cannot be used".formatted(key));
  }

  private static StoreFailure tooMany(ObjectKey key, String what, long count, long limit) {
    return StoreFailure.of(
        FailureCode.REFUSED,
        "object %s has %d %s, but the limit of %s is %d".formatted(key, count, what, what, limit));
  }

  private static StoreFailure mismatch(ObjectKey key, long has, long asked) {
    return StoreFailure.of(
        FailureCode.SIZE_MISMATCH, "object %s has %d bytes, not %d".formatted(key, has, asked));
  }

  /** Returns the name under which an object is kept. */
  protected ObjectKey name(ObjectKey key) {
    return key;
  }

  /** Counts and answers a failure. */
  protected void fail(BatchResult.Builder result, int i, StoreFailure failure) {
    failed++;
    result.failed(i, failure);
  }

  /** Returns the bytes of the pieces, in order. */
  protected byte[] gather(List<Memory> pieces) {
    long size = 0;
    for (Memory piece : pieces) {
      size += piece.byteSize();
    }
    byte[] bytes = new byte[Math.toIntExact(size)];
    int offset = 0;
    for (Memory piece : pieces) {
      MemorySegment source = ((HostMemory) piece).segment();
      MemorySegment.copy(source, ValueLayout.JAVA_BYTE, 0, bytes, offset, (int) source.byteSize());
      offset += (int) source.byteSize();
    }
    return bytes;
  }

  /**
   * Lets go of the bytes of an object that was evicted or removed; sessions may hold them still.
   */
  protected void release(byte[] bytes) {}

  /** Fills a target with the bytes from {@code offset} on. */
  protected void scatter(byte[] bytes, long offset, Memory target) {
    MemorySegment segment = ((HostMemory) target).segment();
    MemorySegment.copy(
        bytes, (int) offset, segment, ValueLayout.JAVA_BYTE, 0, (int) segment.byteSize());
  }
}
