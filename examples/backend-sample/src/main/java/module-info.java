import io.unifiedcache.api.store.CacheStoreProvider;
import org.example.folder.FolderStoreProvider;

/** A backend of unified-cache: a file for each object. */
module org.example.folder {
  requires io.unifiedcache.api;

  provides CacheStoreProvider with
      FolderStoreProvider;
}
