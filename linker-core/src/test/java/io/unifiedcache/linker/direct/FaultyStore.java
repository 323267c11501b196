package io.unifiedcache.linker.direct;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

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
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A store over another one that goes wrong at random: it throws, fails objects, answers too few or
 * too many, leaves rubbish in a target, keeps using memory after the call, and holds calls up.
 *
 * <p>What it does in a call depends on the seed and on the number of the call at its step alone. It
 * tells a witness of whatever it answers that is no success.
 */
final class FaultyStore implements CacheStore {
  /** Sees every call, on its thread. */
  interface Witness {
    /** A call begins that reads or writes memory. */
    void begins(Step step, List<Memory> memory);

    /** A call of the engine's own thread asked for objects. */
    void lookedUp(List<ObjectKey> keys, BatchResult result);

    /** One object was not read, written, opened, asked for or removed. */
    void failed(Step step, ObjectKey key, List<Memory> memory);

    /** The call said nothing of any object. */
    void broke(Step step, List<ObjectKey> keys, List<Memory> memory);

    /** The linker did what it must never do. */
    void wronged(String what);
  }

  /** How often, in a thousand calls or objects, each thing goes wrong. */
  record Odds(int calls, int objects, int inUse, int heldUp) {
    static final Odds NONE = new Odds(0, 0, 0, 0);
  }

  /** Memory that is still used though its call has ended. */
  private record Hold(
      CompletableFuture<String> released, List<MemorySegment> memory, @Nullable List<byte[]> put) {}

  final AtomicInteger openSessions = new AtomicInteger();
  final AtomicInteger registrations = new AtomicInteger();

  private final CacheStore store;
  private final long seed;
  private final Odds odds;
  private final int batch;
  private final Witness witness;
  private final Map<Step, AtomicInteger> calls = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<Hold> holds = new ConcurrentLinkedQueue<>();
  private final ThreadLocal<List<ObjectKey>> present = ThreadLocal.withInitial(List::of);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition opened = lock.newCondition();
  private boolean mayHoldUp = true;

  FaultyStore(CacheStore store, long seed, Odds odds, int batch, Witness witness) {
    this.store = store;
    this.seed = seed;
    this.odds = odds;
    this.batch = batch;
    this.witness = witness;
  }

  /** Lets calls that are held up go on, and holds up no others. */
  void openGates() {
    setGates(false);
  }

  /** Allows calls to be held up again. */
  void closeGates() {
    setGates(true);
  }

  private void setGates(boolean value) {
    lock.lock();
    try {
      mayHoldUp = value;
      opened.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Ends one use of memory, if there is one: a read that arrives late leaves rubbish, and a put
   * that ends late must find its source as it was.
   */
  boolean releaseOne() {
    Hold hold = holds.poll();
    if (hold == null) {
      return false;
    }
    for (int i = 0; i < hold.memory().size(); i++) {
      MemorySegment memory = hold.memory().get(i);
      if (hold.put() == null) {
        memory.fill((byte) 0x66);
      } else if (memory.mismatch(MemorySegment.ofArray(hold.put().get(i))) >= 0) {
        witness.wronged("offload.poison: memory changed while a put still read it");
      }
    }
    hold.released().complete("let go");
    return true;
  }

  /** Ends all use of memory. */
  void releaseAll() {
    boolean more = true;
    while (more) {
      more = releaseOne();
    }
  }

  /** Returns the memory that is still in use though its call has ended. */
  List<Memory> inUse() {
    List<Memory> all = new ArrayList<>();
    holds.forEach(hold -> hold.memory().forEach(each -> all.add(HostMemory.of(each))));
    return all;
  }

  @Override
  public Set<Capability> capabilities() {
    return store.capabilities();
  }

  @Override
  public StoreLimits limits() {
    StoreLimits limits = store.limits();
    return new StoreLimits(
        Math.min(batch, limits.batch()),
        limits.keyBytes(),
        limits.objectBytes(),
        limits.pieces(),
        limits.alignment(),
        limits.grace(),
        limits.busy());
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    BatchResult result = disturb(Step.EXISTS, keys, nothing(keys), () -> store.exists(keys, by));
    if (isLookup()) {
      witness.lookedUp(keys, result);
      return result;
    }
    List<ObjectKey> there = new ArrayList<>();
    for (int i = 0; i < Math.min(keys.size(), result.size()); i++) {
      if (result.isOk(i)) {
        there.add(keys.get(i));
      }
    }
    present.set(there);
    return result;
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    List<ObjectKey> keys = ops.stream().map(PutOp::key).toList();
    for (ObjectKey key : keys) {
      if (present.get().contains(key)) {
        witness.wronged("offload.missing-only: put of " + key + ", which is there");
      }
    }
    return disturb(
        Step.PUT, keys, ops.stream().map(PutOp::pieces).toList(), () -> store.put(ops, by));
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return disturb(
        Step.GET,
        ops.stream().map(GetOp::key).toList(),
        ops.stream().map(GetOp::pieces).toList(),
        () -> store.get(ops, by));
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    BatchResult result =
        disturb(Step.REMOVE, keys, nothing(keys), () -> store.remove(keys, evenIfLeased, by));
    forget(keys);
    return result;
  }

  /**
   * Takes it that the objects may be put by the calling thread: it has learnt that they are gone.
   */
  private void forget(List<ObjectKey> keys) {
    List<ObjectKey> left = new ArrayList<>(present.get());
    left.removeAll(keys);
    present.set(left);
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    List<ReadSession> sessions = new ArrayList<>();
    try {
      BatchResult answer =
          disturb(
              Step.OPEN,
              keys,
              nothing(keys),
              () -> {
                sessions.add(store.openSession(keys, by));
                return sessions.getFirst().opened();
              });
      openSessions.incrementAndGet();
      return new Session(keys, sessions.getFirst(), answer);
    } catch (IllegalStateException thrown) {
      sessions.forEach(ReadSession::close);
      throw thrown;
    }
  }

  private final class Session implements ReadSession {
    private final List<ObjectKey> keys;
    private final ReadSession session;
    private final BatchResult answer;
    private boolean ended;

    private Session(List<ObjectKey> keys, ReadSession session, BatchResult answer) {
      this.keys = List.copyOf(keys);
      this.session = session;
      this.answer = answer;
    }

    @Override
    public BatchResult opened() {
      return answer;
    }

    @Override
    public long size(int entry) {
      return session.size(entry);
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      if (ended) {
        witness.wronged("read of a session that was closed");
      }
      return disturb(
          Step.READ,
          ops.stream().map(op -> keys.get(op.entry())).toList(),
          ops.stream().map(op -> op.ranges().stream().map(Range::target).toList()).toList(),
          () -> session.read(ops, by));
    }

    @Override
    public void close() {
      if (ended) {
        witness.wronged("a session was closed twice");
        return;
      }
      ended = true;
      session.close();
      openSessions.decrementAndGet();
      if (new SplittableRandom(seed ^ keys.hashCode()).nextInt(1000) < odds.calls()) {
        throw new IllegalStateException("closing threw");
      }
    }
  }

  private static List<List<Memory>> nothing(List<ObjectKey> keys) {
    return keys.stream().map(key -> List.<Memory>of()).toList();
  }

  private BatchResult disturb(
      Step step,
      List<ObjectKey> keys,
      List<? extends List<Memory>> memory,
      Supplier<BatchResult> call) {
    int number = calls.computeIfAbsent(step, each -> new AtomicInteger()).getAndIncrement();
    SplittableRandom random =
        new SplittableRandom(seed + 1_000_003L * step.name().hashCode() + number);
    if (keys.size() > batch) {
      witness.wronged(
          "%s of %d objects where %d are the limit".formatted(step, keys.size(), batch));
    }
    if (random.nextInt(1000) < odds.heldUp() && !isLookup()) {
      holdUp();
    }
    List<Memory> all = memory.stream().flatMap(List::stream).toList();
    if (random.nextInt(1000) < odds.calls()) {
      witness.broke(step, keys, all);
      throw new IllegalStateException(step + " threw before call " + number);
    }
    witness.begins(step, all);
    BatchResult real = call.get();
    if (random.nextInt(1000) < odds.calls()) {
      witness.broke(step, keys, all);
      throw new IllegalStateException(step + " threw after call " + number);
    }
    if (random.nextInt(1000) < odds.calls()) {
      witness.broke(step, keys, all);
      return BatchResult.all(
          random.nextBoolean() ? keys.size() + 1 : keys.size() - 1, ObjectStatus.OK);
    }
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      if (real.status(i) == ObjectStatus.ABSENT) {
        forget(List.of(keys.get(i)));
      }
      boolean expected =
          switch (real.status(i)) {
            case OK -> true;
            case PRESENT -> step == Step.PUT;
            case ABSENT -> step == Step.EXISTS || step == Step.REMOVE;
            case FAILED -> false;
          };
      if (random.nextInt(1000) < odds.objects()) {
        expected = false;
        result.failed(i, failure(random, step, memory.get(i)));
      } else if (real.status(i) == ObjectStatus.FAILED) {
        result.failed(i, real.failure(i));
      } else {
        result.set(i, real.status(i));
      }
      if (!expected) {
        witness.failed(step, keys.get(i), memory.get(i));
      }
    }
    return result.build();
  }

  private StoreFailure failure(SplittableRandom random, Step step, List<Memory> memory) {
    List<FailureCode> codes =
        List.of(FailureCode.IO, FailureCode.CORRUPT, FailureCode.UNREACHABLE, FailureCode.TIMEOUT);
    StoreFailure failure =
        StoreFailure.of(codes.get(random.nextInt(codes.size())), "a fault of " + step);
    if (random.nextBoolean()) {
      failure = failure.asRetryable();
    }
    boolean reads = step == Step.READ || step == Step.GET;
    List<MemorySegment> segments =
        memory.stream().map(each -> ((HostMemory) each).segment()).toList();
    if (reads && random.nextBoolean()) {
      segments.forEach(segment -> segment.fill((byte) 0x77));
      failure = failure.withMemory(MemoryState.DIRTY);
    }
    if (!memory.isEmpty() && random.nextInt(1000) < odds.inUse()) {
      CompletableFuture<String> released = new CompletableFuture<>();
      failure = failure.withMemory(new MemoryState.InUse(released));
      List<byte[]> put = segments.stream().map(each -> each.toArray(JAVA_BYTE)).toList();
      holds.add(new Hold(released, segments, reads ? null : put));
    }
    return failure;
  }

  /** Returns whether the engine waits for the calling thread. */
  private static boolean isLookup() {
    return Thread.currentThread().getName().contains("-lookup-");
  }

  private void holdUp() {
    lock.lock();
    try {
      while (mayHoldUp) {
        opened.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Registration register(Memory memory) {
    Registration registration = store.register(memory);
    registrations.incrementAndGet();
    return () -> {
      registrations.decrementAndGet();
      registration.close();
    };
  }

  @Override
  public StoreStats stats() {
    return store.stats();
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return store.probe(by);
  }

  @Override
  public void close() {
    store.close();
  }
}
