package io.unifiedcache.api.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.PageKey;
import java.time.Duration;
import java.util.List;

/**
 * Moves pages between an engine's cache pools and a store.
 *
 * <p>Called by one engine thread, except {@link LoadBatch#awaitLayer}, {@link #stats}, {@link
 * #health} and {@link #close}, which any thread may call. Only {@link #lookup} and the polls talk
 * to a store or to other ranks on the calling thread; transfers run on threads of the linker.
 *
 * <p>With several ranks, lookup, start, cancel and poll are called equally often and in the same
 * order on every rank, with the same pages, queries and requests. They are opened at the same time:
 * what they are opened with has to fit together, or none is opened (rule {@code linker.ranks}).
 * When one rank closes, the others learn so at once, and are down.
 *
 * <p>A slot belongs to a load from the moment in which the load may touch it (the call, or if the
 * request was not ready then its start) until the load has its terminal answer; meanwhile no other
 * transfer may have it. So it is with an offload, from the call or the end of {@code ready} until
 * its completion, but that several offloads may read one slot. Where both may touch the slot when
 * the call comes, the second is refused with an {@link IllegalArgumentException}; where that is
 * known only later, the second fails with {@code REFUSED} and has touched nothing (rule {@code
 * linker.slots}).
 *
 * <p>A linker may have been opened before its store (rule {@code linker.start-policy}). Until that
 * is open, lookups find nothing, and loads and offloads fail with {@code UNREACHABLE}, to be tried
 * again.
 *
 * <p>Whatever is told of a request (counters, events of the flight recorder, lines of the log) has
 * been told when its completion is returned. Nothing of an engine or a store is called under a lock
 * of the linker: what an engine hangs on a stage may use the linker from any thread.
 *
 * <p>Every method but {@link #stats}, {@link #health} and {@link #close} throws a {@link
 * io.unifiedcache.api.CacheException} with code {@code CLOSED} once the linker is closed.
 */
public interface CacheLinker extends AutoCloseable {
  /**
   * Finds the prefix lengths of a prompt that can be restored.
   *
   * <p>The objects of pool {@code kv} are asked for first, then those of the other pools for the
   * pages that {@code kv} has, together, and nothing beyond (rule {@code restore.bounded-query}). A
   * failure of the store shortens the answer and never lengthens it (rule {@code
   * restore.failed-lookup}); it is counted, and is not an exception. A lookup does not wait for a
   * store that ignores its deadline (rule {@code restore.deadline}), and asks nothing of one that
   * is away until that answers again (rule {@code linker.outage}). An object that failed to load is
   * not offered until it is stored anew or the suspicion has expired (rule {@code
   * load.no-livelock}).
   *
   * @param pages the pages of the prompt that the engine does not hold, from the first on
   * @param pools one query per source of the engine's pools
   * @throws IllegalArgumentException if a source has no query, two queries, or is one on no rank
   */
  PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools);

  /**
   * Queues a load; no byte moves before it is started (rule {@code load.deferred}). A load may name
   * some sources only (rule {@code load.partial-pools}). An object whose size is not that of its
   * page fails it, however bytes are read (rule {@code load.size-exact}).
   *
   * @throws IllegalArgumentException if the id is that of a load without a terminal answer, a
   *     source exists on no rank, or a slot does not exist or belongs to another transfer
   */
  void load(TransferRequest request);

  /**
   * Starts the queued loads whose {@code ready} has ended on every rank, in the order they were
   * queued. Batches may overlap and run in the order they were started.
   *
   * @return the batch; empty if no load is ready
   */
  LoadBatch startLayerWiseLoading();

  /**
   * Returns loads that have ended on every rank, each once (rule {@code load.exactly-once}), in the
   * order they were started, and within a batch in the order they were queued. The list is empty if
   * none has ended when the wait is over, and at once if there is none to wait for. An interrupt
   * ends the wait early and is kept: a loop that has to go on until a load has ended clears it
   * first and restores it at its end.
   *
   * @param atMost how long to wait for one that has ended on this rank, the same on every rank;
   *     zero: not at all
   */
  List<Completion> pollLoads(Duration atMost);

  /**
   * Queues an offload. Once {@code ready} has ended, the objects that the store lacks are put (rule
   * {@code offload.missing-only}); one that failed to load as bad is read again, and if it still
   * is, removed and put anew by one offload at a time (rules {@code offload.remove-proven}, {@code
   * offload.mend-once}). If {@code ready} does not end within {@code linker.ready-timeout}, the
   * offload fails with {@code TIMEOUT} and touches nothing later (rule {@code
   * offload.ready-timeout}). The slots are free for reuse when the completion is polled (rule
   * {@code offload.poison}).
   *
   * @throws IllegalArgumentException if the id is that of an offload without a completion, a source
   *     exists on no rank, or a slot does not exist or belongs to a load
   */
  void offload(TransferRequest request);

  /**
   * Returns offloads that have ended on every rank, each once, in the order they were queued. The
   * list is empty as that of {@link #pollLoads}.
   *
   * @param atMost how long to wait for one that has ended on this rank, the same on every rank;
   *     zero: not at all
   */
  List<Completion> pollOffloads(Duration atMost);

  /** Cancels a load that has not started (rule {@code load.cancel}). */
  CancelOutcome cancel(String loadId);

  /**
   * Ends every load and offload, waits until no transfer touches a buffer, or for the close timeout
   * (rule {@code linker.quiesce}), and returns the completions of all it ended: what had come to
   * its end as it was, the rest {@code CANCELLED}; with several ranks, which do not ask each other
   * here, all of it {@code CANCELLED}. Poll never shows them. Memory that is still in use then is
   * named and stays quarantined. An interrupt does not shorten the wait, and is kept.
   */
  Drained reset();

  /** Returns the counters of this rank. Any thread may ask, after close, too. */
  LinkerStats stats();

  /**
   * Finds out how the linker is: whether its store is open (rule {@code linker.start-policy}) and
   * says that it serves, whether a rank is lost, and whether memory is quarantined. Any thread may
   * ask, after close, too.
   *
   * @param by how long the store may take to say how it is; it is asked on a thread of its own
   */
  LinkerHealth health(Deadline by);

  /**
   * Ends everything as {@link #reset} does, and closes the store if the linker opened it, within
   * the close timeout and a second for the store. What is still in use then is named in the log.
   * Idempotent, and safe from any thread.
   */
  @Override
  void close();
}
