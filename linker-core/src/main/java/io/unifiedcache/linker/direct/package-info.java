/**
 * The linker that moves pages directly between an engine's pools and a store, without a copy of its
 * own in between.
 *
 * <h2>How a load flows</h2>
 *
 * <p>{@code load} queues a {@link io.unifiedcache.linker.direct.Transfer}. Start makes a batch of
 * those that are ready on all ranks and hands it to the one load thread, {@link
 * io.unifiedcache.linker.direct.BatchLoad}. That thread opens the objects of all requests, reads
 * layer after layer, and reports to the {@link io.unifiedcache.linker.direct.LayerLoadCounter},
 * which alone decides whether a request is still in the batch. When the batch has run, each of its
 * transfers ends, in the {@link io.unifiedcache.linker.direct.Ledger}, from which the engine polls
 * completions in order.
 *
 * <h2>Locks</h2>
 *
 * <p>Each ledger has a lock, each batch of the counter has one, and the linker has one for its
 * state. None is held during a call to a store, to another rank, to a log or to whatever an engine
 * has hung on a stage, and none while another is taken, but for the linker's, under which a
 * ledger's may be.
 */
@NullMarked
package io.unifiedcache.linker.direct;

import org.jspecify.annotations.NullMarked;
