import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.backend.memory.MemoryStoreProvider;

/** The embedded store: off-heap and bounded. */
module io.unifiedcache.backend.memory {
  requires io.unifiedcache.api;
  requires static org.jspecify;
  requires org.slf4j;

  provides CacheStoreProvider with
      MemoryStoreProvider;
}
