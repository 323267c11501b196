import org.jspecify.annotations.NullMarked;

/**
 * What every backend shares: keys, restorable sets, pool layouts, discovery, settings, and the
 * linker itself.
 */
@NullMarked
module io.unifiedcache.linker {
  requires transitive io.unifiedcache.api;
  requires static transitive org.jspecify;
  requires org.slf4j;

  exports io.unifiedcache.linker;
  exports io.unifiedcache.linker.key;
  exports io.unifiedcache.linker.pool;
  exports io.unifiedcache.linker.rank;

  uses io.unifiedcache.api.store.CacheStoreProvider;
}
