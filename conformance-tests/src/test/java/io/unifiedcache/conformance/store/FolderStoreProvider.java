package io.unifiedcache.conformance.store;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import io.unifiedcache.linker.Backends;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The backend {@code folder}, which other processes find on the class path. */
public final class FolderStoreProvider implements CacheStoreProvider {
  /** How many may open a folder. */
  enum Mode {
    EXCLUSIVE,
    SHARED
  }

  private static final Option<String> ROOT =
      Option.text("root", "The folder that objects are kept in.").asRequired();

  private static final Option<Mode> MODE =
      Option.choice("mode", "How many may open the folder.", Mode.class)
          .withDefault(Mode.EXCLUSIVE);

  private static final Option<FolderStore.Defect> DEFECT =
      Option.choice("defect", "What is broken.", FolderStore.Defect.class)
          .withDefault(FolderStore.Defect.NONE);

  /** Creates the provider, for {@link java.util.ServiceLoader}. */
  public FolderStoreProvider() {}

  /** Returns a store of this backend to try. */
  static StoreUnderTest subject(Path root, Mode mode, FolderStore.Defect defect) {
    CacheStoreProvider provider = new FolderStoreProvider();
    return StoreUnderTest.named(
            provider.name(),
            Map.of(
                ROOT.name(),
                root.toString(),
                MODE.name(),
                MODE.show(mode),
                DEFECT.name(),
                DEFECT.show(defect)))
        .among(
            Backends.of(
                List.of(new Backends.Found(provider.name(), provider, "the tests of this suite"))));
  }

  @Override
  public String name() {
    return "folder";
  }

  @Override
  public List<Option<?>> options() {
    return List.of(ROOT, MODE, DEFECT);
  }

  @Override
  public Set<Capability> capabilities() {
    return Set.of(
        Capability.REMOVE,
        Capability.CLEAR,
        Capability.LIST,
        Capability.DURABLE,
        Capability.SHARED,
        Capability.REPORTS_PRESENT);
  }

  @Override
  public CacheStore open(Settings settings, StoreContext context) {
    return new FolderStore(
        Path.of(settings.get(ROOT)),
        settings.get(MODE) == Mode.SHARED,
        settings.get(DEFECT),
        context.instance());
  }
}
