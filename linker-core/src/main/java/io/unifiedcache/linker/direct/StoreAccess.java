package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.direct.Transfer.Entry;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.observe.FailureEvent;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What every transfer needs of the store, and the one way in which an object fails.
 *
 * @param instance the name of the linker
 * @param byLayers whether loads read ranges layer by layer
 * @param registrations of the pools' memory with the store
 */
record StoreAccess(
    String instance,
    CacheStore store,
    boolean byLayers,
    List<Registration> registrations,
    KeyLayout layout,
    LinkerOptions options,
    SuspectObjects suspects,
    Counters counters,
    Outage outage,
    MonotonicClock clock) {
  private static final Logger LOG = LoggerFactory.getLogger(StoreAccess.class);

  /**
   * Returns the access to another store, whose objects are not suspect.
   *
   * @throws IllegalArgumentException if the pools do not fit the limits of the store
   * @throws CacheException if the store lacks what is needed, or does not register the memory
   */
  StoreAccess to(CacheStore other, StoreNeeds needs) {
    needs.requireOffered(other.capabilities());
    needs.requireFit(other.limits());
    return new StoreAccess(
        instance,
        other,
        needs.byLayers(other.capabilities()),
        needs.register(other),
        layout,
        options,
        new SuspectObjects(options.suspectExpiry(), clock),
        counters,
        outage.of(other),
        clock);
  }

  /** Undoes every registration, whatever another does, and returns what they threw. */
  List<Throwable> unregister() {
    return StoreNeeds.unregister(registrations);
  }

  boolean canRemove() {
    return store.capabilities().contains(Capability.REMOVE);
  }

  /** Calls {@code step} with at most as many entries at a time as the store takes. */
  void inBatches(List<Entry> entries, Consumer<List<Entry>> step) {
    int limit = store.limits().batch();
    for (int from = 0; from < entries.size(); ) {
      int to = from + Math.min(limit, entries.size() - from);
      step.accept(entries.subList(from, to));
      from = to;
    }
  }

  /** Returns why entry {@code i}, which is not OK, was not read. */
  static StoreFailure notRead(Entry entry, BatchResult result, int i) {
    return switch (result.status(i)) {
      case FAILED -> result.failure(i);
      case ABSENT ->
          StoreFailure.of(
              FailureCode.ABSENT, "object " + entry.key() + " is no longer in the store");
      case OK, PRESENT ->
          StoreFailure.of(
              FailureCode.INTERNAL,
              "the store answered a read of " + entry.key() + " with " + result.status(i));
    };
  }

  /**
   * Reads an object as a load does, into memory of its own, and returns why it cannot be read; null
   * if it can.
   */
  @Nullable StoreFailure inspect(Entry entry, Deadline by) {
    Arena arena = Arena.ofShared();
    CompletionStage<?> released = CompletableFuture.completedFuture(true);
    try {
      Memory target = HostMemory.of(arena.allocate(entry.bytes(), store.limits().alignment()));
      StoreFailure failure = byLayers ? readRange(entry, target, by) : readWhole(entry, target, by);
      if (failure != null && failure.memory() instanceof MemoryState.InUse inUse) {
        released = inUse.released();
      }
      return failure == null ? null : failure.withMemory(MemoryState.UNTOUCHED);
    } finally {
      released.whenComplete((value, problem) -> arena.close());
    }
  }

  private @Nullable StoreFailure readWhole(Entry entry, Memory target, Deadline by) {
    GetOp op = new GetOp(entry.key(), List.of(target));
    BatchResult read = requireSize(1, store.get(List.of(op), by));
    return read.isOk(0) ? null : notRead(entry, read, 0);
  }

  private @Nullable StoreFailure readRange(Entry entry, Memory target, Deadline by) {
    ReadSession session = store.openSession(List.of(entry.key()), by);
    try {
      BatchResult opened = requireSize(1, session.opened());
      if (!opened.isOk(0)) {
        return notRead(entry, opened, 0);
      }
      StoreFailure wrongSize = wrongSize(entry, session.size(0));
      if (wrongSize != null) {
        return wrongSize;
      }
      ReadOp op = new ReadOp(0, List.of(new Range(0, target)));
      BatchResult read = requireSize(1, session.read(List.of(op), by));
      return read.isOk(0) ? null : notRead(entry, read, 0);
    } finally {
      close(session);
    }
  }

  /** Closes a session; what was read is read, also if that fails. */
  static void close(ReadSession session) {
    try {
      session.close();
    } catch (RuntimeException | Error problem) {
      LOG.warn("closing a read session failed", problem);
    }
  }

  /** Returns why an object is not that of its page, as its size tells; null if it may be. */
  static @Nullable StoreFailure wrongSize(Entry entry, long size) {
    if (size == entry.bytes()) {
      return null;
    }
    return size < 0
        ? StoreFailure.of(
            FailureCode.INTERNAL,
            "the store has opened object " + entry.key() + " and does not tell its size")
        : StoreFailure.of(
            FailureCode.SIZE_MISMATCH,
            "object %s has %d bytes, and its page %d".formatted(entry.key(), size, entry.bytes()));
  }

  /** Notes that a load failed because of an object, which is suspect from now on. */
  void failLoad(Entry entry, StoreFailure cause) {
    entry.transfer().fail(entry, cause);
    failed("load", entry.transfer().id(), entry.key().value(), cause);
    if (SuspectObjects.isRaisedBy(cause)) {
      suspects.add(entry.key(), cause.code().provesBadObject());
    }
  }

  /**
   * Tells that a load has failed as a whole, so that none of its objects is offered at once again.
   */
  void tellFailedLoad(Transfer transfer, StoreFailure cause) {
    if (!transfer.isUnasked() && SuspectObjects.isRaisedByWhole(cause)) {
      transfer.eachKey(transfer.allPages(), key -> suspects.add(key, /* bad= */ false));
    }
    failed("load", transfer.id(), "", cause);
  }

  /** Notes that an object of an offload failed. */
  void failOffload(Entry entry, StoreFailure cause) {
    entry.transfer().fail(entry, cause);
    failed("offload", entry.transfer().id(), entry.key().value(), cause);
  }

  /** Notes that an offload failed as a whole. */
  void failOffload(Transfer transfer, StoreFailure cause) {
    transfer.failAll(cause);
    failed("offload", transfer.id(), "", cause);
  }

  /** Notes that a lookup could not find out about an object. */
  void failLookup(StoreFailure cause) {
    failed("lookup", "", "", cause);
  }

  private void failed(String operation, String request, String object, StoreFailure cause) {
    counters.failed(cause.code());
    FailureEvent.record(instance, operation, request, object, cause);
  }

  /**
   * Returns an answer of the store if it has one status for each entry.
   *
   * @throws IllegalStateException if it has not, which says nothing of any entry
   */
  static BatchResult requireSize(int entries, BatchResult result) {
    if (result.size() != entries) {
      throw new IllegalStateException(
          "the store answered " + entries + " entries with " + result.size() + " statuses");
    }
    return result;
  }

  /** Returns the failure of everything that a call was for which threw. */
  static StoreFailure thrown(Throwable problem) {
    FailureCode code =
        problem instanceof CacheException exception ? exception.code() : FailureCode.INTERNAL;
    return StoreFailure.of(code, "the store threw " + text(problem)).withMemory(MemoryState.DIRTY);
  }

  /** Returns what a problem of others says, which may throw even when it is asked that. */
  static String text(Throwable problem) {
    try {
      return problem.toString();
    } catch (RuntimeException | Error silent) {
      return problem.getClass().getName();
    }
  }
}
