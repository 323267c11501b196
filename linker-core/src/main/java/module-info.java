import org.jspecify.annotations.NullMarked;

/**
 * What every backend shares: keys, restorable sets, pool layouts, discovery, settings, and the
 * linker itself.
 */
// Micrometer has no module descriptor, and whoever uses LinkerMeters brings it.
@SuppressWarnings("requires-automatic")
@NullMarked
module io.unifiedcache.linker {
  requires transitive io.unifiedcache.api;
  requires static transitive org.jspecify;
  requires jdk.jfr;
  requires static micrometer.core;
  requires org.slf4j;

  exports io.unifiedcache.linker;
  exports io.unifiedcache.linker.key;
  exports io.unifiedcache.linker.pool;
  exports io.unifiedcache.linker.rank;

  uses io.unifiedcache.api.store.CacheStoreProvider;
}
