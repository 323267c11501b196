package io.unifiedcache.cli;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreMaintenance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import io.unifiedcache.linker.UnifiedCache;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;

/** The options that choose a backend and its settings. */
final class StoreOptions {
  @CommandLine.Spec(CommandLine.Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandLine.Model.CommandSpec spec;

  @CommandLine.Option(
      names = "--backend",
      paramLabel = "NAME",
      defaultValue = "memory",
      description = "The backend (default: ${DEFAULT-VALUE}).")
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private String backend;

  @CommandLine.Option(
      names = "-o",
      paramLabel = "KEY=VALUE",
      description =
          "A setting of the backend or the linker, as 'unified-cache backends' lists them."
              + " It wins over the environment, which wins over the file of --settings.")
  private List<String> assignments = new ArrayList<>();

  @CommandLine.Option(
      names = "--settings",
      paramLabel = "FILE",
      description = "A properties file with settings.")
  private @Nullable Path file;

  /**
   * An open store, and the settings for linkers over it.
   *
   * @param backend the name of the backend
   * @param store the store
   * @param linkerSettings the settings of linkers that were set, by key
   * @param shown all settings that were set, by key, secret ones masked
   */
  record Opened(
      String backend,
      CacheStore store,
      Map<String, String> linkerSettings,
      Map<String, String> shown) {}

  /**
   * Opens the store.
   *
   * @param more assignments that win over those of the user
   * @throws CacheException if the settings are wrong or the store cannot be opened
   */
  Opened open(List<String> more) {
    CacheStoreProvider provider = named(CommandBackends.discover());
    SettingsSources sources = sources().commandLine(more);
    List<Option<?>> linkerOptions = UnifiedCache.linkerOptions();
    List<Option<?>> all = new ArrayList<>(provider.options());
    all.addAll(linkerOptions);
    Settings settings = sources.resolve(all);
    return new Opened(
        backend, open(provider, settings), shown(settings, linkerOptions), shown(settings, all));
  }

  /**
   * Returns the store for the conformance suite to open.
   *
   * @throws CacheException if there is no such backend or the settings are wrong
   */
  StoreUnderTest underTest() {
    Backends backends = CommandBackends.discover();
    Map<String, String> settings = sources().texts(named(backends).options());
    return StoreUnderTest.named(backend, settings).among(backends);
  }

  /**
   * Returns what an operator may ask of the store.
   *
   * @throws CacheException if the settings are wrong, or there is nothing to ask
   */
  StoreMaintenance maintenance() {
    CacheStoreProvider provider = named(CommandBackends.discover());
    List<Option<?>> all = new ArrayList<>(provider.options());
    all.addAll(UnifiedCache.linkerOptions());
    Settings settings = sources().resolve(all).only(provider.options());
    Optional<StoreMaintenance> maintenance =
        guarded(() -> provider.maintenance(settings, context()));
    return maintenance.orElseThrow(
        () ->
            new CacheException(
                FailureCode.REFUSED,
                "backend "
                    + backend
                    + " has nothing to look after: its objects are gone with the process that has"
                    + " stored them, or it leaves them to a service"));
  }

  private CacheStoreProvider named(Backends backends) {
    return CommandBackends.named(backends, backend, spec.commandLine().getErr());
  }

  private StoreContext context() {
    return StoreContext.of("unified-cache-" + backend);
  }

  private SettingsSources sources() {
    SettingsSources sources = SettingsSources.none();
    if (file != null) {
      sources = sources.file(file);
    }
    return sources.environment(System.getenv()).commandLine(assignments);
  }

  private CacheStore open(CacheStoreProvider provider, Settings settings) {
    return guarded(() -> provider.open(settings.only(provider.options()), context()));
  }

  private <T> T guarded(Supplier<T> opening) {
    try {
      return opening.get();
    } catch (CacheException e) {
      throw e;
    } catch (RuntimeException | LinkageError e) {
      // A missing native library is a LinkageError.
      throw new CacheException(
          FailureCode.INTERNAL, "backend " + backend + " could not be opened: " + e, e);
    }
  }

  private static Map<String, String> shown(Settings settings, List<Option<?>> options) {
    Map<String, String> shown = new LinkedHashMap<>();
    for (Option<?> option : options) {
      if (settings.isSet(option)) {
        shown.put(option.name(), show(settings, option));
      }
    }
    return shown;
  }

  private static <T> String show(Settings settings, Option<T> option) {
    return option.show(settings.get(option));
  }
}
