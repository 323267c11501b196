/**
 * What an engine calls: the linker that moves pages between the engine's cache pools and a store.
 *
 * <p>A <em>page</em> is a run of tokens with a {@linkplain io.unifiedcache.api.PageKey key}. Per
 * pool a page has one or more <em>objects</em>, one per {@linkplain
 * io.unifiedcache.api.linker.Component component}; an object is an ordered list of <em>pieces</em>
 * of memory, one per {@linkplain io.unifiedcache.api.linker.LayerBuffer layer buffer}. A
 * <em>slot</em> is a page's place in a pool. A <em>source</em> is the pool whose slots a pool uses:
 * itself, or another.
 */
@NullMarked
package io.unifiedcache.api.linker;

import org.jspecify.annotations.NullMarked;
