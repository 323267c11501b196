/**
 * The embedded store: objects in native memory of this process, within a budget.
 *
 * <h2>Parts</h2>
 *
 * <p>{@link io.unifiedcache.backend.memory.MemoryStore} answers calls. {@code ObjectTable} knows
 * which objects there are, how much room they take and which goes first when room is needed. {@code
 * Slabs} hands out native memory, {@code Transfer} is the copying that one call has to do, and
 * {@code Copier} lends it threads.
 *
 * <h2>Locking</h2>
 *
 * <p>One lock guards the table, the slabs and the counters. It is held while keys are looked up,
 * room is found and objects are made visible, never while bytes are copied or native memory is
 * reserved. A call takes it twice, whatever the size of the batch; {@code exists} does not take it.
 *
 * <h2>An object's life</h2>
 *
 * <p>Reserved: its room is accounted, its key is taken, nobody sees it. Visible: it can be found;
 * while somebody reads it, it is pinned and cannot be evicted. Removed: it can no longer be found,
 * and its room returns when the last reader lets go.
 */
@NullMarked
package io.unifiedcache.backend.memory;

import org.jspecify.annotations.NullMarked;
