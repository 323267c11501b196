import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.backend.mooncake.MooncakeStoreProvider;

/** The store in a Mooncake cluster, through Mooncake's own client. */
module io.unifiedcache.backend.mooncake {
  requires io.unifiedcache.api;
  requires static org.jspecify;
  requires org.slf4j;
  requires com.google.gson;

  provides CacheStoreProvider with
      MooncakeStoreProvider;
}
