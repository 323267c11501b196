package io.unifiedcache.api.store;

import io.unifiedcache.api.Deadline;
import java.util.List;

/**
 * A set of objects held open to be read range by range (rule {@code store.session}).
 *
 * <p>Used by one thread at a time. Implementations comply with the following:
 *
 * <ul>
 *   <li>Each key is resolved once, when the session is opened. An object that is removed later is
 *       still read whole, or its entry is {@code FAILED}.
 *   <li>A read fills exactly the ranges it is given. A range that runs past the end of its object
 *       makes that entry {@code FAILED} with {@code SIZE_MISMATCH}.
 *   <li>A read of an entry that did not open repeats the status it opened with; one of an entry
 *       that the session has not is {@code FAILED} with {@code REFUSED}.
 *   <li>After a read whose failure says that memory is still in use, the session may be read on and
 *       closed; neither ends that use, whose stage does.
 *   <li>{@link #close} releases what the session holds, returns within the store's grace and is
 *       idempotent. Any use after it throws a {@link io.unifiedcache.api.CacheException} with code
 *       {@code CLOSED}.
 * </ul>
 */
public interface ReadSession extends AutoCloseable {
  /** Returns, for each key in order, whether it was opened: OK, ABSENT or FAILED. */
  BatchResult opened();

  /**
   * Returns the size of a whole object, as it was when it was opened. A reader of ranges learns
   * from it that an object is larger than what it reads of it.
   *
   * @param entry which key of the session, counted from 0
   * @return the size in bytes; -1 if the entry did not open
   * @throws IndexOutOfBoundsException if the session has no such entry
   */
  long size(int entry);

  /**
   * Reads ranges, one entry per object.
   *
   * @param ops at most {@link StoreLimits#batch()} entries; each names an entry of the session at
   *     most once
   * @return OK, ABSENT or FAILED for each
   */
  BatchResult read(List<ReadOp> ops, Deadline by);

  @Override
  void close();
}
