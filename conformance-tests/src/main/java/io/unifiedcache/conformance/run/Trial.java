package io.unifiedcache.conformance.run;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.conformance.result.Outcome;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One rule being tried: the store it is tried on, keys and memory of its own, and the words for
 * what the rule expects.
 *
 * <p>Used by the thread that tries the rule, and by threads that it starts with {@link #together}:
 * these may use everything but {@link #cleanup}, {@link #open} and {@link #openWithBudget}.
 */
public final class Trial {
  /** Long enough for anything that is not stuck. */
  public static final Duration PATIENCE = Duration.ofSeconds(20);

  /** The bytes that names of keys take at most, where they are not long on purpose. */
  private static final int ROOM = 40;

  private final RuleCatalogue.Entry entry;
  private final Run run;
  private final Random random;

  /** Freed once nothing reaches the memory any more: a store that breaks rules may still use it. */
  private final Arena arena = Arena.ofAuto();

  private final Deque<AutoCloseable> cleanups = new ArrayDeque<>();
  private final List<String> notes = new ArrayList<>();
  private @Nullable CacheStore own;

  Trial(RuleCatalogue.Entry entry, Run run) {
    this.entry = entry;
    this.run = run;
    this.random = new Random(run.seed() * 31 + entry.id().hashCode());
  }

  // What is tried.

  /** Returns the id of the rule. */
  public String rule() {
    return entry.id();
  }

  /** Returns how much is to be done. */
  public Effort effort() {
    return run.effort();
  }

  /** Returns the source of chance, which repeats with the seed; for the thread of the rule only. */
  public Random random() {
    return random;
  }

  /** Returns the description of the store under test, for its hooks. */
  public StoreUnderTest subject() {
    return run.subject();
  }

  /** Returns what opens linkers. */
  public LinkerFactory linkers() {
    return run.linkers();
  }

  /** Tells whether the store declares a capability. */
  public boolean has(Capability capability) {
    return run.capabilities().contains(capability);
  }

  /** Returns what the store declares. */
  public Set<Capability> capabilities() {
    return run.capabilities();
  }

  /** Returns the limits of the store. */
  public StoreLimits limits() {
    return run.limits();
  }

  /**
   * Returns the store: the one that all rules share, or, for a rule that is tried alone, one that
   * is opened with the first call and closed after the rule.
   */
  public CacheStore store() {
    if (!entry.rule().alone()) {
      return run.sharedStore();
    }
    CacheStore opened = own;
    if (opened == null) {
      opened = open();
      own = opened;
    }
    return opened;
  }

  /** Opens the store once more. For a rule that is tried alone; it is closed after the rule. */
  public CacheStore open() {
    return observed(run.subject().open());
  }

  /**
   * Opens the store with about the given budget, for a rule that fills it and is tried alone; it is
   * closed after the rule.
   *
   * @throws Untried if there is no way to, or objects that are not ours would be evicted
   */
  public CacheStore openWithBudget(long bytes) {
    Optional<Supplier<CacheStore>> opening = run.subject().budgeted(bytes);
    if (opening.isEmpty()) {
      throw noHook("a way to open the store with a budget of " + bytes + " bytes");
    }
    if (run.foreignObjects() != 0) {
      throw noHook("an empty store: filling this one would evict objects of others");
    }
    CacheStore opened = observed(opening.get().get());
    if (has(Capability.DURABLE) || has(Capability.SHARED)) {
      Optional<String> left = Runner.removeOurs(opened, run);
      expect(left.isEmpty(), "what earlier rules have put to be removed", () -> left.orElse(""));
    }
    return opened;
  }

  /** Tells whether the store held nothing when the run began, so that all in it is ours. */
  public boolean ownsStore() {
    return run.foreignObjects() == 0;
  }

  private CacheStore observed(CacheStore opened) {
    CacheStore observed = new ObservedStore(opened, run.tally());
    cleanup(observed);
    return observed;
  }

  /** Returns a view of another store that takes down what happens, as {@link #store} is one. */
  public CacheStore observe(CacheStore other) {
    return new ObservedStore(other, run.tally());
  }

  // Keys and memory.

  /** Returns what every key of this rule begins with: a fraction of what a key may have. */
  public KeyPrefix prefix() {
    String readable = run.prefix() + entry.id() + "/";
    String brief = run.prefix() + Integer.toUnsignedString(entry.id().hashCode(), 36) + "/";
    return KeyPrefix.of(readable.length() + ROOM <= limits().keyBytes() ? readable : brief);
  }

  /** Returns a key of this rule. */
  public ObjectKey key(String name) {
    return new ObjectKey(prefix().value() + name);
  }

  /** Returns so many keys of this rule: the name and a number, counted from 0. */
  public List<ObjectKey> keys(String name, int count) {
    List<ObjectKey> keys = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      keys.add(key(name + i));
    }
    return keys;
  }

  /** Takes down keys that a call which the suite does not see may have put. */
  public void willPut(List<ObjectKey> keys) {
    run.tally().put(keys);
  }

  /** Returns new memory of the given size, aligned as the store asks for, zeroed. */
  public HostMemory memory(long bytes) {
    return HostMemory.of(arena.allocate(Math.max(bytes, 1), Math.max(64, limits().alignment())))
        .slice(0, bytes);
  }

  /** Returns new memory that holds the first bytes of some content. */
  public HostMemory memory(long bytes, Content content) {
    HostMemory memory = memory(bytes);
    content.fill(memory.segment(), 0);
    return memory;
  }

  /** Returns a deadline that is far off for anything that is not stuck. */
  public Deadline soon() {
    return Deadline.after(PATIENCE);
  }

  /** Puts one object. Fails the rule unless it is stored. */
  public void put(CacheStore store, ObjectKey key, Content content, long bytes) {
    BatchResult result =
        store.put(List.of(new PutOp(key, List.of(memory(bytes, content)))), soon());
    expectStatus("put of " + bytes + " bytes", result, 0, ObjectStatus.OK);
  }

  /** Gets one object. Fails the rule unless it is there and has these bytes. */
  public void expectObject(CacheStore store, ObjectKey key, Content content, long bytes) {
    HostMemory target = memory(bytes);
    BatchResult result = store.get(List.of(new GetOp(key, List.of(target))), soon());
    expectStatus("get of " + bytes + " bytes", result, 0, ObjectStatus.OK);
    expectBytes("the object " + name(key), content, target, 0);
  }

  /** Returns the key as messages show it: short, and with nothing that breaks a line. */
  public static String name(ObjectKey key) {
    StringBuilder text = new StringBuilder("\"");
    String value = key.value();
    int length = Math.min(value.length(), 120);
    for (int i = 0; i < length; i++) {
      char c = value.charAt(i);
      if (c < ' ' || c > '~') {
        text.append("\\u%04x".formatted((int) c));
      } else {
        text.append(c);
      }
    }
    return text.append(length < value.length() ? "\"... (" + value.length() + ")" : "\"")
        .toString();
  }

  // What the rule expects.

  /**
   * Does something that an eviction would upset. A bounded store may evict at any time, so there it
   * fails the rule only if it goes wrong three times over.
   *
   * @param attempt is told which attempt it is, for keys of its own
   */
  public void despiteEviction(IntConsumer attempt) {
    int attempts = has(Capability.BOUNDED) ? 3 : 1;
    for (int i = 0; ; i++) {
      try {
        attempt.accept(i);
        return;
      } catch (Violation e) {
        if (i == attempts - 1) {
          throw e;
        }
      }
    }
  }

  /** Fails the rule unless {@code held}. */
  public void expect(boolean held, String expected, Supplier<String> observed) {
    if (!held) {
      throw new Violation(expected, observed.get());
    }
  }

  /** Fails the rule unless the two are equal. */
  public void expectEqual(String what, Object expected, @Nullable Object observed) {
    if (!expected.equals(observed)) {
      throw new Violation(what + " to be " + expected, String.valueOf(observed));
    }
  }

  /** Fails the rule unless entry {@code i} has one of the given statuses. */
  public void expectStatus(String what, BatchResult result, int i, ObjectStatus... legal) {
    if (!Arrays.asList(legal).contains(result.status(i))) {
      throw new Violation(
          what + " to answer " + (legal.length == 1 ? legal[0] : Arrays.toString(legal)),
          describe(result, i));
    }
  }

  /** Fails the rule unless entry {@code i} failed with one of the given codes. */
  public void expectFailure(String what, BatchResult result, int i, FailureCode... legal) {
    if (result.status(i) != ObjectStatus.FAILED
        || !Arrays.asList(legal).contains(result.failure(i).code())) {
      throw new Violation(
          what + " to be FAILED with " + (legal.length == 1 ? legal[0] : Arrays.toString(legal)),
          describe(result, i));
    }
  }

  /** Fails the rule unless the memory holds the bytes of the content from {@code offset} on. */
  public void expectBytes(String what, Content content, Memory memory, long offset) {
    Optional<String> difference = content.difference(((HostMemory) memory).segment(), offset);
    if (difference.isPresent()) {
      throw new Violation(what + " to have the bytes that were put", difference.get());
    }
  }

  /** Fails the rule unless every byte of the memory is {@code value}. */
  public void expectFilled(String what, byte value, Memory memory) {
    MemorySegment segment = ((HostMemory) memory).segment();
    for (long i = 0; i < segment.byteSize(); i++) {
      byte seen = segment.get(ValueLayout.JAVA_BYTE, i);
      if (seen != value) {
        throw new Violation(
            what + " to be left as it was",
            "byte %d is 0x%02x, not 0x%02x".formatted(i, seen, value));
      }
    }
  }

  /** Fails the rule unless the call is refused as a whole with the given code; returns how. */
  public CacheException expectRefused(String what, FailureCode code, Runnable call) {
    try {
      call.run();
    } catch (CacheException e) {
      if (e.code() != code) {
        throw new Violation(
            what + " to throw a CacheException with code " + code,
            e.code() + ": " + e.getMessage(),
            e);
      }
      return e;
    }
    throw new Violation(what + " to throw a CacheException with code " + code, "it returned");
  }

  /** Returns entry {@code i} in words. */
  public static String describe(BatchResult result, int i) {
    return result.status(i) == ObjectStatus.FAILED
        ? "FAILED with " + result.failure(i).code() + ": " + result.failure(i).message()
        : result.status(i).toString();
  }

  // Threads.

  /** What one of several threads does. */
  @FunctionalInterface
  public interface Part {
    /** Does the part of thread {@code number}. */
    void run(int number) throws Exception;
  }

  /**
   * Runs parts in threads of their own and waits for all, at most {@link #PATIENCE}. The first
   * violation among them fails the rule.
   */
  public void together(int threads, Part part) {
    List<Future<?>> parts = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int number = i;
      parts.add(
          start(
              "part " + number,
              () -> {
                part.run(number);
                return Boolean.TRUE;
              }));
    }
    for (Future<?> each : parts) {
      await("a part of the rule", each);
    }
  }

  /** Starts a call in a thread of its own, to be awaited with {@link #await}. */
  public <T> Future<T> start(String what, Callable<T> call) {
    FutureTask<T> task = new FutureTask<>(call);
    Thread.ofPlatform().daemon().name("conformance-" + entry.id() + "-" + what).start(task);
    return task;
  }

  /** Waits for a call that was started. Fails the rule if it does not come back. */
  public <T> T await(String what, Future<T> call) {
    try {
      return call.get(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new Violation(what + " to return within " + PATIENCE.toSeconds() + " s", "it did not");
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case RuntimeException exception -> throw exception;
        case Error error -> throw error;
        case null, default -> throw new IllegalStateException(what, e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for " + what, e);
    }
  }

  // How it ends.

  /** Has something closed when the rule ends, last first. */
  public void cleanup(AutoCloseable closing) {
    cleanups.push(closing);
  }

  /** Says something about how the rule was tried that a reader of the report should know. */
  public void note(String text) {
    notes.add(text);
  }

  /** Returns what to throw where the rule needs a hook that was not given. */
  public RuntimeException noHook(String missing) {
    return new Untried(Outcome.NO_HOOK, "needs " + missing);
  }

  /** Returns what to throw where the rule says nothing about this store. */
  public RuntimeException notApplicable(String reason) {
    return new Untried(Outcome.NOT_APPLICABLE, reason);
  }

  String notes() {
    return String.join("; ", notes);
  }

  /** Waits for as long as for any other call: a rule may have found out that close hangs. */
  private void close(AutoCloseable closing) {
    await(
        "close after the rule",
        start(
            "close",
            () -> {
              closing.close();
              return Boolean.TRUE;
            }));
  }

  /** Closes what the rule has opened, last first, and throws what went wrong first. */
  void end() throws Exception {
    Throwable first = null;
    while (!cleanups.isEmpty()) {
      try {
        close(cleanups.pop());
      } catch (Exception | Violation e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    switch (first) {
      case null -> {}
      case Exception exception -> throw exception;
      case Error error -> throw error;
      default -> throw new IllegalStateException(first);
    }
  }
}
