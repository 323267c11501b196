/**
 * The names of things: page keys from tokens, object keys from pages.
 *
 * <p>A {@link io.unifiedcache.linker.key.PageHasher} names the pages of a prompt. A {@link
 * io.unifiedcache.linker.key.KeyLayout}, made from the {@linkplain
 * io.unifiedcache.linker.key.CacheIdentity identity} of a deployment, names the objects of a page.
 */
@NullMarked
package io.unifiedcache.linker.key;

import org.jspecify.annotations.NullMarked;
