import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.backend.file.FileStoreProvider;

/** The store in a folder: durable, crash-safe, shared between processes. */
module io.unifiedcache.backend.file {
  requires io.unifiedcache.api;
  requires static org.jspecify;
  requires org.slf4j;

  provides CacheStoreProvider with
      FileStoreProvider;
}
