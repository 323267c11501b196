package org.example.folder;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** The backend {@code folder}. */
public final class FolderStoreProvider implements CacheStoreProvider {
  private static final Option<String> ROOT =
      Option.text("root", "The folder that holds the objects; made if it is not there.")
          .asRequired();

  /** Creates the provider, for {@link java.util.ServiceLoader}. */
  public FolderStoreProvider() {}

  @Override
  public String name() {
    return "folder";
  }

  @Override
  public List<Option<?>> options() {
    return List.of(ROOT);
  }

  @Override
  public Set<Capability> capabilities() {
    return FolderStore.CAPABILITIES;
  }

  @Override
  public CacheStore open(Settings settings, StoreContext context) {
    Path root = Path.of(settings.get(ROOT));
    try {
      Files.createDirectories(root);
      return new FolderStore(root);
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.IO, "the folder " + root + " of option root cannot be used: " + e, e);
    }
  }
}
