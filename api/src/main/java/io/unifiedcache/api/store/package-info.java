/**
 * The service-provider interface of cache stores: what a backend implements.
 *
 * <p>A backend implements {@link io.unifiedcache.api.store.CacheStoreProvider} and {@link
 * io.unifiedcache.api.store.CacheStore}, and, to read objects layer by layer, {@link
 * io.unifiedcache.api.store.ReadSession}. A store that outlives its process has a {@link
 * io.unifiedcache.api.store.StoreMaintenance}, too.
 */
@NullMarked
package io.unifiedcache.api.store;

import org.jspecify.annotations.NullMarked;
