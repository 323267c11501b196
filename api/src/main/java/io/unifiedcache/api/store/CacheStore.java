package io.unifiedcache.api.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * A store of immutable objects under opaque keys.
 *
 * <p>Thread-safe. Calls block until they are done or their deadline has passed, and take batches.
 * Implementations comply with the following:
 *
 * <ul>
 *   <li>A result has one status per entry, in the order of the request; a bad entry does not change
 *       its neighbours, and an empty batch has an empty result (rule {@code store.per-entry}).
 *       Memory that cannot be used (a target that is read-only, an arena that is closed, the memory
 *       of a device without {@link Capability#DEVICE_MEMORY}) makes its entry FAILED with {@code
 *       REFUSED}.
 *   <li>A condition of one object is a status, never an exception; whatever goes wrong below, the
 *       entry is not OK (rule {@code store.failed-is-not-ok}). A lost peer is FAILED on every
 *       entry.
 *   <li>{@link CacheException} is thrown only when the store is closed ({@code CLOSED}), when the
 *       operation is not declared, or when the batch is over its limit (both {@code REFUSED}); then
 *       nothing has happened (rules {@code store.limits}, {@code store.capability-honest}).
 *   <li>Distinct keys are distinct objects, and a key is stored as given (rule {@code
 *       store.exact-key}).
 *   <li>The first put of a key wins; a readable object is never replaced (rule {@code
 *       store.first-wins}). A reader sees a whole object or none (rule {@code
 *       store.atomic-visibility}).
 *   <li>A failure tells what became of the memory of its entry (rule {@code
 *       store.memory-in-doubt}).
 *   <li>The interrupt of a caller fails at most the entries of its call; the thread stays
 *       interrupted, and the store serves on (rule {@code store.interrupt}).
 *   <li>A call returns by its deadline and the declared grace (rule {@code store.deadline}).
 *   <li>Eviction, if there is any, never disturbs a running read (rule {@code store.evict-in-use}).
 * </ul>
 */
public interface CacheStore extends AutoCloseable {
  /** Returns what this store offers: a subset of what its provider can. */
  Set<Capability> capabilities();

  /** Returns the limits. */
  StoreLimits limits();

  /** Tells for each key whether its object is there and whole: OK or ABSENT. */
  BatchResult exists(List<ObjectKey> keys, Deadline by);

  /**
   * Stores objects: OK, or PRESENT where the key was there (OK without {@link
   * Capability#REPORTS_PRESENT}). Of equal keys in one batch the first wins (rule {@code
   * store.duplicate-in-batch}). An object that finds no room is FAILED with {@code NO_SPACE} and
   * leaves nothing behind (rule {@code store.no-space}).
   */
  BatchResult put(List<PutOp> ops, Deadline by);

  /**
   * Reads whole objects: OK or ABSENT, or FAILED with {@code SIZE_MISMATCH} where the targets are
   * larger or smaller than the object (rule {@code store.size-exact}). Equal keys in one batch fill
   * all their targets (rule {@code store.duplicate-in-batch}).
   */
  BatchResult get(List<GetOp> ops, Deadline by);

  /**
   * Opens objects to be read in ranges. A key that is absent or fails does not keep the others from
   * being opened, and equal keys are entries of their own, each of which can be read. Needs {@link
   * Capability#RANGED_READ}.
   */
  default ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    throw undeclared(Capability.RANGED_READ);
  }

  /**
   * Removes objects: OK or ABSENT, or FAILED with {@code BUSY} while one is leased (rule {@code
   * store.remove}). Needs {@link Capability#REMOVE}.
   *
   * @param evenIfLeased remove leased ones too, as for an object seen corrupt (rule {@code
   *     store.restore-anew})
   */
  default BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    throw undeclared(Capability.REMOVE);
  }

  /**
   * Removes the objects whose keys begin with the prefix, and nothing else (rule {@code
   * store.clear}). Needs {@link Capability#CLEAR}.
   *
   * @throws CacheException also when the objects cannot be found out about or the deadline passes;
   *     some may have been removed by then
   */
  default ClearResult clear(KeyPrefix prefix, Deadline by) {
    throw undeclared(Capability.CLEAR);
  }

  /**
   * Passes every live key under the prefix once to {@code more}, until it answers {@code false}
   * (rule {@code store.list}). Needs {@link Capability#LIST}.
   *
   * @throws CacheException also when the keys cannot be listed or the deadline passes
   */
  default void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    throw undeclared(Capability.LIST);
  }

  /**
   * Makes memory known ahead of its use (rule {@code store.register}). A store that gains nothing
   * from it does nothing. Registered memory may overlap, as where buffers are interleaved.
   *
   * @throws CacheException if it fails, undone in full
   */
  default Registration register(Memory memory) {
    return Registration.NONE;
  }

  /** Returns the counters. Answers after close, too. */
  StoreStats stats();

  /** Finds out whether the store serves, by asking what is below it. */
  StoreHealth probe(Deadline by);

  /**
   * Closes the store: idempotent; waits for calls in flight or stops them, within a bound.
   * Afterwards no target memory changes and every call but {@link #stats} throws {@code CLOSED}, or
   * does nothing in the case of {@link #register} (rule {@code store.close}).
   */
  @Override
  void close();

  private CacheException undeclared(Capability capability) {
    return new CacheException(
        FailureCode.REFUSED,
        "this store does not offer " + capability + "; it offers " + capabilities());
  }
}
