package io.unifiedcache.conformance.linker;

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
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.run.Violation;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What lies between a linker and the store under test: it takes down every call, and makes go wrong
 * what a script says, object by object or call by call. What is not disturbed reaches the store.
 *
 * <p>Thread-safe. To close it does not close the store.
 */
final class FaultInjectingStore implements CacheStore {
  /** The kinds of calls that are taken down and can be disturbed. */
  enum Step {
    EXISTS,
    PUT,
    GET,
    OPEN,
    READ,
    REMOVE;

    /** Tells whether such a call writes to the memory of a load. */
    boolean fillsMemory() {
      return this == GET || this == READ;
    }
  }

  /**
   * A call, as it came.
   *
   * @param step what it asks for
   * @param number which one of its kind it is since the script was set, from 0
   * @param keys the objects, in the order of the entries
   * @param memory the pieces of each entry, in order; none where the call has no memory
   */
  record Call(Step step, int number, List<ObjectKey> keys, List<List<Memory>> memory) {}

  /** Decides what goes wrong. Called by the threads of the linker. */
  interface Script {
    /** The script after which nothing goes wrong. */
    Script NONE = new Script() {};

    /** Comes before a call; may block, or throw what the linker is to see. */
    default void before(Call call) {}

    /**
     * Returns why entry {@code i} fails, or null if it does not. With code {@code ABSENT} the
     * object is not there. The store under test is not asked for an entry that fails.
     */
    default @Nullable StoreFailure failure(Call call, int i) {
      return null;
    }

    /** Returns what to answer in place of a result. */
    default BatchResult answer(Call call, BatchResult result) {
      return result;
    }

    /** Returns a script that fails the given objects in calls of some kinds, each time. */
    static Script failing(StoreFailure why, Set<ObjectKey> objects, Step... steps) {
      Set<Step> at = Set.of(steps);
      return new Script() {
        @Override
        public @Nullable StoreFailure failure(Call call, int i) {
          return at.contains(call.step()) && objects.contains(call.keys().get(i)) ? why : null;
        }
      };
    }

    /** Returns a script that throws in every call of some kinds. */
    static Script throwing(RuntimeException problem, Step... steps) {
      Set<Step> at = Set.of(steps);
      return new Script() {
        @Override
        public void before(Call call) {
          if (at.contains(call.step())) {
            throw problem;
          }
        }
      };
    }
  }

  private final CacheStore store;
  private final Set<Capability> capabilities;
  private final StoreLimits limits;
  private final List<Call> calls = new CopyOnWriteArrayList<>();
  private final Map<Step, AtomicInteger> counts = new ConcurrentHashMap<>();
  private final List<Gate> gates = new CopyOnWriteArrayList<>();
  private final AtomicInteger openSessions = new AtomicInteger();
  private final AtomicInteger registrations = new AtomicInteger();
  private final AtomicInteger closes = new AtomicInteger();
  private final AtomicInteger running = new AtomicInteger();

  private final Set<ObjectKey> stored;

  private final Set<ObjectKey> vanished = ConcurrentHashMap.newKeySet();
  private final Set<ObjectKey> lost = ConcurrentHashMap.newKeySet();
  private final AtomicReference<@Nullable Violation> violation = new AtomicReference<>();
  private volatile Script script = Script.NONE;

  /**
   * Creates a view of a store.
   *
   * @param stored takes down what was put, as the store has said, and not removed; views of one
   *     store may share it
   * @param hidden what it does not offer though the store does
   * @param tightened returns its limits, given those of the store
   */
  FaultInjectingStore(
      CacheStore store,
      Set<ObjectKey> stored,
      Set<Capability> hidden,
      UnaryOperator<StoreLimits> tightened) {
    this.store = store;
    this.stored = stored;
    Set<Capability> left = EnumSet.noneOf(Capability.class);
    left.addAll(store.capabilities());
    left.removeAll(hidden);
    this.capabilities = Set.copyOf(left);
    this.limits = tightened.apply(store.limits());
  }

  // What goes wrong.

  /** Sets what goes wrong from now on, and counts calls from 0 again. */
  void follow(Script next) {
    counts.clear();
    script = next;
  }

  /** Holds up calls from now on, and counts calls from 0 again. */
  Gate gate(Predicate<Call> held) {
    return gate(held, Script.NONE);
  }

  /** Holds up calls from now on, which go wrong as a script says once they are let go. */
  Gate gate(Predicate<Call> held, Script then) {
    Gate gate = new Gate(held, then, () -> !lost.isEmpty());
    gates.add(gate);
    follow(gate);
    return gate;
  }

  /** Has objects vanish, as if they had been evicted. They can be put again. */
  void vanish(List<ObjectKey> keys) {
    vanished.addAll(keys);
  }

  /** Lets everything go on, and disturbs nothing any more. */
  void release() {
    script = Script.NONE;
    gates.forEach(Gate::open);
  }

  // What was seen.

  /** Returns the calls that have come, in order. */
  List<Call> calls() {
    return List.copyOf(calls);
  }

  /** Returns the calls of one kind, in order. */
  List<Call> calls(Step step) {
    return calls.stream().filter(call -> call.step() == step).toList();
  }

  /** Forgets the calls that have come. */
  void forgetCalls() {
    calls.clear();
  }

  /** Returns the number of sessions that are open. */
  int openSessions() {
    return openSessions.get();
  }

  /** Returns the number of registrations that have not been undone. */
  int registrations() {
    return registrations.get();
  }

  /** Returns the number of calls that are running and have memory. */
  int running() {
    return running.get();
  }

  /** Returns the objects that the store under test lost, or had no room for, all by itself. */
  Set<ObjectKey> lost() {
    return Set.copyOf(lost);
  }

  /** Returns the first answer of the store under test that no store may give, or null. */
  @Nullable Violation violation() {
    return violation.get();
  }

  // The store.

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
    return disturbed(
        begin(Step.EXISTS, keys, nothing(keys)), left -> store.exists(some(keys, left), by));
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    List<ObjectKey> keys = ops.stream().map(PutOp::key).toList();
    return disturbed(
        begin(Step.PUT, keys, ops.stream().map(PutOp::pieces).toList()),
        left -> {
          for (int i : left) {
            if (vanished.remove(keys.get(i)) && store.capabilities().contains(Capability.REMOVE)) {
              var unused = store.remove(List.of(keys.get(i)), /* evenIfLeased= */ true, by);
            }
          }
          return store.put(some(ops, left), by);
        });
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return disturbed(
        begin(
            Step.GET,
            ops.stream().map(GetOp::key).toList(),
            ops.stream().map(GetOp::pieces).toList()),
        left -> store.get(some(ops, left), by));
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    if (!capabilities.contains(Capability.REMOVE)) {
      return CacheStore.super.remove(keys, evenIfLeased, by);
    }
    return disturbed(
        begin(Step.REMOVE, keys, nothing(keys)),
        left -> store.remove(some(keys, left), evenIfLeased, by));
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    if (!capabilities.contains(Capability.RANGED_READ)) {
      return CacheStore.super.openSession(keys, by);
    }
    List<ObjectKey> copy = List.copyOf(keys);
    AtomicReference<@Nullable ReadSession> opened = new AtomicReference<>();
    BatchResult result;
    try {
      result =
          disturbed(
              begin(Step.OPEN, copy, nothing(copy)),
              left -> {
                ReadSession session = store.openSession(copy, by);
                opened.set(session);
                BatchResult all = session.opened();
                BatchResult.Builder some = BatchResult.builder(left.size());
                for (int i = 0; i < left.size(); i++) {
                  copy(all, left.get(i), some, i);
                }
                return some.build();
              });
    } catch (RuntimeException | Error problem) {
      ReadSession session = opened.get();
      if (session != null) {
        session.close();
      }
      throw problem;
    }
    ReadSession session = opened.get();
    openSessions.incrementAndGet();
    return new Session(copy, session, result);
  }

  private final class Session implements ReadSession {
    private final List<ObjectKey> keys;

    /** Null if no object of it was to be asked for. */
    private final @Nullable ReadSession session;

    private final BatchResult opened;
    private boolean ended;

    private Session(List<ObjectKey> keys, @Nullable ReadSession session, BatchResult opened) {
      this.keys = keys;
      this.session = session;
      this.opened = opened;
    }

    @Override
    public BatchResult opened() {
      requireOpen();
      return opened;
    }

    @Override
    public long size(int entry) {
      requireOpen();
      return session == null || !opened.isOk(entry) ? -1 : session.size(entry);
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      requireOpen();
      Call call =
          begin(
              Step.READ,
              ops.stream().map(op -> keys.get(op.entry())).toList(),
              ops.stream().map(op -> op.ranges().stream().map(Range::target).toList()).toList());
      return disturbed(
          call,
          left -> {
            BatchResult.Builder result = BatchResult.builder(left.size());
            List<ReadOp> asked = new ArrayList<>();
            List<Integer> places = new ArrayList<>();
            for (int i = 0; i < left.size(); i++) {
              ReadOp op = ops.get(left.get(i));
              if (opened.size() != keys.size() || opened.isOk(op.entry())) {
                asked.add(op);
                places.add(i);
              } else {
                copy(opened, op.entry(), result, i);
              }
            }
            if (session != null && !asked.isEmpty()) {
              BatchResult real = session.read(asked, by);
              for (int i = 0; i < places.size(); i++) {
                copy(real, i, result, places.get(i));
              }
            }
            return result.build();
          });
    }

    private void requireOpen() {
      if (ended) {
        throw new CacheException(FailureCode.CLOSED, "the session is closed");
      }
    }

    @Override
    public void close() {
      if (!ended) {
        ended = true;
        openSessions.decrementAndGet();
        if (session != null) {
          session.close();
        }
      }
    }
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    return store.clear(prefix, by);
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    store.list(prefix, more, by);
  }

  @Override
  public Registration register(Memory memory) {
    Registration registration = store.register(memory);
    registrations.incrementAndGet();
    AtomicInteger undone = new AtomicInteger();
    return () -> {
      if (undone.getAndIncrement() == 0) {
        registrations.decrementAndGet();
      }
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
    closes.incrementAndGet();
  }

  // How a call is disturbed.

  private Call begin(Step step, List<ObjectKey> keys, List<List<Memory>> memory) {
    if (closes.get() > 0) {
      throw new CacheException(FailureCode.CLOSED, "the store is closed");
    }
    if (keys.size() > limits.batch()) {
      throw new CacheException(
          FailureCode.REFUSED,
          "%d entries, but the limit of a batch is %d".formatted(keys.size(), limits.batch()));
    }
    int number = counts.computeIfAbsent(step, each -> new AtomicInteger()).getAndIncrement();
    Call call = new Call(step, number, List.copyOf(keys), List.copyOf(memory));
    calls.add(call);
    return call;
  }

  /** Asks the store for the entries at some places. */
  private interface Asking {
    BatchResult ask(List<Integer> places);
  }

  private BatchResult disturbed(Call call, Asking asking) {
    boolean hasMemory = call.memory().stream().anyMatch(each -> !each.isEmpty());
    if (hasMemory) {
      running.incrementAndGet();
    }
    try {
      Script now = script;
      now.before(call);
      BatchResult.Builder result = BatchResult.builder(call.keys().size());
      List<Integer> left = new ArrayList<>();
      for (int i = 0; i < call.keys().size(); i++) {
        StoreFailure failure = now.failure(call, i);
        if (isGone(call, i) || (failure != null && failure.code() == FailureCode.ABSENT)) {
          result.set(i, ObjectStatus.ABSENT);
        } else if (failure != null) {
          result.failed(i, failure);
        } else {
          left.add(i);
        }
      }
      if (!left.isEmpty()) {
        BatchResult real = real(() -> asking.ask(left));
        for (int i = 0; i < left.size(); i++) {
          note(call.step(), call.keys().get(left.get(i)), real, i);
          copy(real, i, result, left.get(i));
        }
      }
      return now.answer(call, result.build());
    } finally {
      if (hasMemory) {
        running.decrementAndGet();
      }
    }
  }

  private boolean isGone(Call call, int i) {
    // What a session has opened stays readable, and what is put is there again.
    return call.step() != Step.PUT
        && call.step() != Step.READ
        && vanished.contains(call.keys().get(i));
  }

  private BatchResult real(Supplier<BatchResult> call) {
    try {
      return call.get();
    } catch (Violation wrong) {
      // The linker will catch it.
      violation.compareAndSet(null, wrong);
      throw wrong;
    }
  }

  private void note(Step step, ObjectKey key, BatchResult result, int i) {
    ObjectStatus status = result.status(i);
    switch (step) {
      case PUT -> {
        if (status != ObjectStatus.FAILED) {
          stored.add(key);
        } else if (result.failure(i).code() == FailureCode.NO_SPACE) {
          lost.add(key);
        }
      }
      case REMOVE -> {
        if (status != ObjectStatus.FAILED) {
          stored.remove(key);
        }
      }
      case EXISTS, GET, OPEN, READ -> {
        if (status == ObjectStatus.ABSENT && stored.contains(key)) {
          lost.add(key);
        }
      }
    }
  }

  private static void copy(BatchResult from, int i, BatchResult.Builder to, int j) {
    if (from.status(i) == ObjectStatus.FAILED) {
      to.failed(j, from.failure(i));
    } else {
      to.set(j, from.status(i));
    }
  }

  private static <T> List<T> some(List<T> all, List<Integer> places) {
    return all.size() == places.size() ? all : places.stream().map(all::get).toList();
  }

  private static List<List<Memory>> nothing(List<ObjectKey> keys) {
    return keys.stream().map(key -> List.<Memory>of()).toList();
  }
}
