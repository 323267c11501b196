package io.unifiedcache.conformance.run;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
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
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The store under test, as rules see it: what no answer of any store may be like is a violation of
 * the rule that is being tried, and what succeeds is taken down.
 */
final class ObservedStore implements CacheStore {
  private static final Set<ObjectStatus> FOUND_OR_NOT =
      EnumSet.of(ObjectStatus.OK, ObjectStatus.ABSENT, ObjectStatus.FAILED);
  private static final Set<ObjectStatus> STORED_OR_NOT =
      EnumSet.of(ObjectStatus.OK, ObjectStatus.PRESENT, ObjectStatus.FAILED);

  private final CacheStore store;
  private final Tally tally;

  ObservedStore(CacheStore store, Tally tally) {
    this.store = store;
    this.tally = tally;
  }

  @Override
  public Set<Capability> capabilities() {
    return answer("capabilities", store::capabilities);
  }

  @Override
  public StoreLimits limits() {
    return answer("limits", store::limits);
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    return batch(Operation.EXISTS, keys.size(), FOUND_OR_NOT, () -> store.exists(keys, by));
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    tally.put(ops.stream().map(PutOp::key).toList());
    return batch(Operation.PUT, ops.size(), STORED_OR_NOT, () -> store.put(ops, by));
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    return batch(Operation.GET, ops.size(), FOUND_OR_NOT, () -> store.get(ops, by));
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    ReadSession session = answer("openSession", () -> store.openSession(keys, by));
    BatchResult opened = batch(Operation.OPEN, keys.size(), FOUND_OR_NOT, session::opened);
    return new ObservedSession(session, opened);
  }

  private final class ObservedSession implements ReadSession {
    private final ReadSession session;
    private final BatchResult opened;
    private final AtomicBoolean closed = new AtomicBoolean();

    private ObservedSession(ReadSession session, BatchResult opened) {
      this.session = session;
      this.opened = opened;
    }

    @Override
    public BatchResult opened() {
      return closed.get() ? answer("opened", session::opened) : opened;
    }

    @Override
    public long size(int entry) {
      return answer("size", () -> session.size(entry));
    }

    @Override
    public BatchResult read(List<ReadOp> ops, Deadline by) {
      return batch(Operation.READ, ops.size(), FOUND_OR_NOT, () -> session.read(ops, by));
    }

    @Override
    public void close() {
      closed.set(true);
      run("close of a session", session::close);
    }
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    return batch(
        Operation.REMOVE, keys.size(), FOUND_OR_NOT, () -> store.remove(keys, evenIfLeased, by));
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    ClearResult result = answer("clear", () -> store.clear(prefix, by));
    if (result.removed() > 0) {
      tally.success(Operation.CLEAR);
    }
    return result;
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    run(
        "list",
        () ->
            store.list(
                prefix,
                key -> {
                  tally.success(Operation.LIST);
                  return more.test(key);
                },
                by));
  }

  @Override
  public Registration register(Memory memory) {
    Registration registration = answer("register", () -> store.register(memory));
    return () -> run("close of a registration", registration::close);
  }

  @Override
  public StoreStats stats() {
    return answer("stats", store::stats);
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return answer("probe", () -> store.probe(by));
  }

  @Override
  public void close() {
    run("close", store::close);
  }

  private BatchResult batch(
      Operation operation, int size, Set<ObjectStatus> legal, Supplier<BatchResult> call) {
    String name = operation.name().toLowerCase(Locale.ROOT);
    BatchResult result = answer(name, call);
    if (result.size() != size) {
      throw new Violation(
          name + " of " + size + " entries to answer " + size + " statuses",
          result.size() + " statuses");
    }
    for (int i = 0; i < size; i++) {
      if (!legal.contains(result.status(i))) {
        throw new Violation(
            name + " to answer one of " + legal + " for entry " + i, result.status(i).toString());
      }
    }
    if (result.count(ObjectStatus.OK) > 0) {
      tally.success(operation);
    }
    return result;
  }

  private static void run(String call, Runnable action) {
    answer(
        call,
        () -> {
          action.run();
          return Boolean.TRUE;
        });
  }

  private static <T> T answer(String call, Supplier<? extends @Nullable T> action) {
    T answer;
    try {
      answer = action.get();
    } catch (CacheException | Violation | Untried e) {
      throw e;
    } catch (RuntimeException | Error e) {
      throw new Violation(call + " to return an answer or to throw a CacheException", thrown(e), e);
    }
    if (answer == null) {
      throw new Violation(call + " to return an answer or to throw a CacheException", "null");
    }
    return answer;
  }

  private static String thrown(Throwable problem) {
    StackTraceElement[] frames = problem.getStackTrace();
    return problem + (frames.length == 0 ? "" : " at " + frames[0]);
  }
}
