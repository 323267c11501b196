package io.unifiedcache.backend.mooncake;

import java.util.List;

/**
 * A client of a Mooncake cluster, set up: Mooncake's calls for batches of keys, with the numbers
 * that Mooncake answers. What they mean is the store's business ({@link Answers}).
 *
 * <p>Any number of threads may call at once. {@link #close} is called once, while no other call
 * runs, and nothing is called after it.
 *
 * <p>What the store promises, so that no client need check it: keys are distinct within a call, not
 * empty, without NUL, and well-formed text; there is at least one; what is in a {@link Transfer} is
 * as described there; memory stays allocated for the length of the call. A call may block for a
 * minute and more: it is made on a thread that nobody waits for beyond a deadline.
 *
 * <p>A result has one number for each key, in order, as Mooncake gave it. A client tries nothing
 * again. What it throws means that nothing is known of any key.
 */
interface MooncakeClient {
  /**
   * Tells whether objects are there: 1 or 0, or negative. Grants leases.
   *
   * <p>{@code batch_is_exist}.
   */
  long[] exists(List<String> keys) throws ClientException;

  /**
   * Finds out the sizes of objects in bytes; negative if there is none or it is not known.
   *
   * <p>{@code get_size}, one by one; {@code batch_get_replica_desc} for those in memory where there
   * is such a call.
   */
  long[] sizes(List<String> keys) throws ClientException;

  /**
   * Stores objects: 0, also where one is there already, or negative.
   *
   * <p>{@code batch_put_from}, {@code batch_put_from_multi_buffers}.
   */
  long[] put(Transfer objects) throws ClientException;

  /**
   * Reads whole objects: the bytes read, which are the size of the object, or negative.
   *
   * <p>{@code batch_get_into}, {@code batch_get_into_multi_buffers}.
   */
  long[] get(Transfer objects) throws ClientException;

  /**
   * Removes objects: 0 or negative.
   *
   * <p>{@code remove}, {@code batch_remove}.
   *
   * @param force remove leased ones too
   */
  long[] remove(List<String> keys, boolean force) throws ClientException;

  /**
   * Removes the objects whose keys have a part that matches an ECMAScript pattern, and are not
   * leased: how many, or negative.
   *
   * <p>{@code remove_by_regex}.
   *
   * @param force remove leased ones too
   */
  long removeByRegex(String pattern, boolean force) throws ClientException;

  /**
   * Makes memory known to the transport: 0 or negative.
   *
   * <p>{@code register_buffer}.
   */
  long register(long address, long bytes) throws ClientException;

  /**
   * Undoes {@link #register}: 0 or negative.
   *
   * <p>{@code unregister_buffer}.
   */
  long unregister(long address) throws ClientException;

  /** Leaves the cluster; a segment that this client owns goes with it. */
  void close();

  /**
   * A client that takes objects in several pieces, passes their groups on, and reads ranges of
   * objects it holds open.
   */
  interface Scattering extends MooncakeClient {
    /**
     * Holds objects open to be read: 0 or negative. A key that is held open already is not passed.
     *
     * <p>{@code batch_get_session_start}.
     */
    long[] startReading(List<String> keys) throws ClientException;

    /**
     * Reads the ranges of objects that {@link #startReading} holds open: the bytes read, or
     * negative.
     *
     * <p>{@code batch_get_into_multi_buffer_ranges}.
     */
    long[] readRanges(Transfer objects) throws ClientException;

    /**
     * Lets go of objects that {@link #startReading} holds open: 0 or negative.
     *
     * <p>{@code batch_get_session_end}.
     */
    long endReading(List<String> keys) throws ClientException;
  }
}
