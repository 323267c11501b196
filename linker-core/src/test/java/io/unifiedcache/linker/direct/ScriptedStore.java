package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory that does as it is told: at any step it fails, blocks, throws or loses objects.
 *
 * <p>It keeps what it was asked, so that a test can count calls and look at pieces.
 */
final class ScriptedStore implements CacheStore {
  /** The steps at which the script is asked. */
  enum Step {
    EXISTS,
    PUT,
    GET,
    OPEN,
    READ,
    REMOVE
  }

  /** Decides about each object of each call. */
  interface Script {
    /** Comes before a call, and may block or throw. */
    default void before(Step step, int call) {}

    /** Returns why the object fails in this call, or null if it does not. */
    default @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
      return null;
    }
  }

  /** One call, as it came. */
  record Call(Step step, List<ObjectKey> keys, List<?> ops) {}

  final Map<ObjectKey, byte[]> objects = new ConcurrentHashMap<>();

  /** Objects whose bytes are bad until they are removed: each read of one proves it. */
  final Set<ObjectKey> damaged = ConcurrentHashMap.newKeySet();

  final List<Call> calls = new CopyOnWriteArrayList<>();
  final AtomicInteger openSessions = new AtomicInteger();
  final AtomicInteger registrations = new AtomicInteger();
  volatile Script script = new Script() {};
  volatile int failRegistrationAfter = Integer.MAX_VALUE;
  volatile boolean throwOnUnregister;
  volatile Step extraStatusesAt = Step.READ;
  volatile int extraStatuses;
  volatile @Nullable Throwable closingSessionThrows;
  volatile boolean closed;
  volatile Runnable registering = () -> {};
  volatile Supplier<StoreHealth> health = () -> new StoreHealth(StoreHealth.State.UP, "scripted");

  private final Set<Capability> capabilities;
  private final StoreLimits limits;
  private final Map<Step, AtomicInteger> counts = new ConcurrentHashMap<>();

  ScriptedStore() {
    this(StoreLimits.NONE, Capability.REMOVE, Capability.RANGED_READ);
  }

  ScriptedStore(StoreLimits limits, Capability... capabilities) {
    this.limits = limits;
    this.capabilities = EnumSet.noneOf(Capability.class);
    this.capabilities.addAll(List.of(capabilities));
  }

  /** Returns the calls of one kind. */
  List<Call> calls(Step step) {
    return calls.stream().filter(call -> call.step() == step).toList();
  }

  private int begin(Step step, List<ObjectKey> keys, List<?> ops) {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the store is closed");
    }
    if (keys.size() > limits.batch()) {
      throw new CacheException(FailureCode.REFUSED, keys.size() + " entries");
    }
    calls.add(new Call(step, List.copyOf(keys), List.copyOf(ops)));
    int call = counts.computeIfAbsent(step, s -> new AtomicInteger()).getAndIncrement();
    script.before(step, call);
    return call;
  }

  private @Nullable StoreFailure readFailure(Step step, int call, ObjectKey key) {
    return damaged.contains(key) ? Scripts.BAD : script.failure(step, call, key);
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
    int call = begin(Step.EXISTS, keys, List.of());
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      StoreFailure failure = script.failure(Step.EXISTS, call, keys.get(i));
      if (failure != null) {
        result.failed(i, failure);
      } else {
        result.set(i, objects.containsKey(keys.get(i)) ? ObjectStatus.OK : ObjectStatus.ABSENT);
      }
    }
    return sized(Step.EXISTS, result.build());
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    int call = begin(Step.PUT, ops.stream().map(PutOp::key).toList(), ops);
    BatchResult.Builder result = BatchResult.builder(ops.size());
    for (int i = 0; i < ops.size(); i++) {
      PutOp op = ops.get(i);
      StoreFailure failure = script.failure(Step.PUT, call, op.key());
      if (failure != null) {
        result.failed(i, failure);
      } else if (objects.putIfAbsent(op.key(), gather(op.pieces())) == null) {
        result.set(i, ObjectStatus.OK);
      } else {
        result.set(i, ObjectStatus.PRESENT);
      }
    }
    return sized(Step.PUT, result.build());
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    int call = begin(Step.GET, ops.stream().map(GetOp::key).toList(), ops);
    BatchResult.Builder result = BatchResult.builder(ops.size());
    for (int i = 0; i < ops.size(); i++) {
      GetOp op = ops.get(i);
      StoreFailure failure = readFailure(Step.GET, call, op.key());
      byte[] bytes = objects.get(op.key());
      if (failure != null) {
        result.failed(i, failure);
      } else if (bytes == null) {
        result.set(i, ObjectStatus.ABSENT);
      } else if (bytes.length != op.byteSize()) {
        result.failed(i, StoreFailure.of(FailureCode.SIZE_MISMATCH, op.key() + ": size"));
      } else {
        long offset = 0;
        for (Memory piece : op.pieces()) {
          scatter(bytes, offset, piece);
          offset += piece.byteSize();
        }
        result.set(i, ObjectStatus.OK);
      }
    }
    return sized(Step.GET, result.build());
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    if (!capabilities.contains(Capability.RANGED_READ)) {
      return CacheStore.super.openSession(keys, by);
    }
    int call = begin(Step.OPEN, keys, List.of());
    BatchResult.Builder result = BatchResult.builder(keys.size());
    List<byte @Nullable []> held = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      StoreFailure failure = script.failure(Step.OPEN, call, keys.get(i));
      byte[] bytes = failure == null ? objects.get(keys.get(i)) : null;
      held.add(bytes);
      if (failure != null) {
        result.failed(i, failure);
      } else {
        result.set(i, bytes == null ? ObjectStatus.ABSENT : ObjectStatus.OK);
      }
    }
    openSessions.incrementAndGet();
    return new Session(keys, held, sized(Step.OPEN, result.build()));
  }

  private final class Session implements ReadSession {
    private final List<ObjectKey> keys;
    private final List<byte @Nullable []> held;
    private final BatchResult opened;
    private boolean ended;

    private Session(List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
      this.keys = List.copyOf(keys);
      this.held = held;
      this.opened = opened;
    }

    @Override
    public BatchResult opened() {
      return opened;
    }

    @Override
    public long size(int entry) {
      byte[] bytes = held.get(entry);
      return bytes == null ? -1 : bytes.length;
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      int call = begin(Step.READ, ops.stream().map(op -> keys.get(op.entry())).toList(), ops);
      BatchResult.Builder result = BatchResult.builder(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        ReadOp op = ops.get(i);
        StoreFailure failure = readFailure(Step.READ, call, keys.get(op.entry()));
        byte[] bytes = held.get(op.entry());
        if (failure != null) {
          result.failed(i, failure);
        } else if (bytes == null) {
          result.set(i, ObjectStatus.ABSENT);
        } else {
          for (Range range : op.ranges()) {
            scatter(bytes, range.objectOffset(), range.target());
          }
          result.set(i, ObjectStatus.OK);
        }
      }
      return sized(Step.READ, result.build());
    }

    @Override
    public void close() {
      if (!ended) {
        ended = true;
        openSessions.decrementAndGet();
        throwIfSet(closingSessionThrows);
      }
    }
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    if (!capabilities.contains(Capability.REMOVE)) {
      return CacheStore.super.remove(keys, evenIfLeased, by);
    }
    int call = begin(Step.REMOVE, keys, List.of());
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      StoreFailure failure = script.failure(Step.REMOVE, call, keys.get(i));
      if (failure != null) {
        result.failed(i, failure);
      } else {
        damaged.remove(keys.get(i));
        result.set(i, objects.remove(keys.get(i)) == null ? ObjectStatus.ABSENT : ObjectStatus.OK);
      }
    }
    return sized(Step.REMOVE, result.build());
  }

  @Override
  public Registration register(Memory memory) {
    if (registrations.get() >= failRegistrationAfter) {
      throw new CacheException(FailureCode.REFUSED, "no more registrations");
    }
    registering.run();
    registrations.incrementAndGet();
    return () -> {
      registrations.decrementAndGet();
      if (throwOnUnregister) {
        throw new IllegalStateException("cannot unregister");
      }
    };
  }

  @Override
  public StoreStats stats() {
    return new StoreStats(objects.size(), 0, StoreStats.UNKNOWN, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return health.get();
  }

  @Override
  public void close() {
    closed = true;
  }

  private static void throwIfSet(@Nullable Throwable problem) {
    switch (problem) {
      case null -> {}
      case RuntimeException exception -> throw exception;
      case Error error -> throw error;
      default -> throw new AssertionError(problem);
    }
  }

  /** Makes an answer too long or too short, if told to at this step. */
  private BatchResult sized(Step step, BatchResult result) {
    if (step != extraStatusesAt || extraStatuses == 0) {
      return result;
    }
    return BatchResult.all(result.size() + extraStatuses, ObjectStatus.OK);
  }

  private static byte[] gather(List<Memory> pieces) {
    int size = 0;
    for (Memory piece : pieces) {
      size += (int) piece.byteSize();
    }
    byte[] bytes = new byte[size];
    int offset = 0;
    for (Memory piece : pieces) {
      MemorySegment source = ((HostMemory) piece).segment();
      MemorySegment.copy(source, ValueLayout.JAVA_BYTE, 0, bytes, offset, (int) source.byteSize());
      offset += (int) source.byteSize();
    }
    return bytes;
  }

  private static void scatter(byte[] bytes, long offset, Memory target) {
    MemorySegment segment = ((HostMemory) target).segment();
    MemorySegment.copy(
        bytes, (int) offset, segment, ValueLayout.JAVA_BYTE, 0, (int) segment.byteSize());
  }
}
