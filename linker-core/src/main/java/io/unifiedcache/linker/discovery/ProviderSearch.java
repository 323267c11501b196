package io.unifiedcache.linker.discovery;

import io.unifiedcache.api.store.CacheStoreProvider;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.Spliterator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A search for providers that goes on past those that cannot be loaded.
 *
 * <p>Used by one thread.
 */
public final class ProviderSearch {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]*");

  /** Stands for the name of a provider that is not known. */
  static final String UNNAMED = "an unnamed provider";

  /** Receives what is found, in the order in which it is found. */
  public interface Listener {
    /**
     * Called with a provider that works.
     *
     * @param name its well-formed name
     * @param origin the module or jar it comes from
     */
    void found(String name, CacheStoreProvider provider, String origin);

    /**
     * Called with a provider that does not.
     *
     * @param provider the name of its class
     * @param origin the module or jar that declares it
     */
    void broken(String provider, String origin, Throwable reason);
  }

  private final Declarations declarations = new Declarations();
  private final List<ServiceLoader<CacheStoreProvider>> loaders = new ArrayList<>();
  private final Listener listener;

  /** Classes that were found, so that one seen in two ways is one. */
  private final Set<Class<?>> types = new HashSet<>();

  /** Providers that the listener has been told of. */
  private final Set<String> settled = new HashSet<>();

  /** Errors that do not say which provider they are about, by their text. */
  private final Map<String, Throwable> unattributed = new LinkedHashMap<>();

  private ProviderSearch(Listener listener) {
    this.listener = listener;
  }

  /** Searches the modules of a layer and of the layers below it. */
  public static void search(ModuleLayer layer, Listener listener) {
    ProviderSearch search = new ProviderSearch(listener);
    search.add(layer);
    search.run();
  }

  /** Searches the modules and jars that a class loader sees. */
  public static void search(ClassLoader loader, Listener listener) {
    ProviderSearch search = new ProviderSearch(listener);
    search.add(loader);
    search.run();
  }

  /** Searches the layer and the class loader of this module. */
  public static void searchOwn(Listener listener) {
    ProviderSearch search = new ProviderSearch(listener);
    ModuleLayer layer = ProviderSearch.class.getModule().getLayer();
    search.add(layer == null ? ModuleLayer.boot() : layer);
    search.add(ProviderSearch.class.getClassLoader());
    search.run();
  }

  /**
   * Searches a plug-in.
   *
   * @param loader its class loader, above which there are no providers
   * @param layer the layer of its modules, if it has modules
   * @return how many providers the listener was told of
   */
  static int searchPlugin(ClassLoader loader, @Nullable ModuleLayer layer, Listener listener) {
    ProviderSearch search = new ProviderSearch(listener);
    if (layer != null) {
      search.declarations.addModulesOf(layer);
    }
    search.add(loader);
    search.run();
    return search.settled.size() + search.unattributed.size();
  }

  private void add(ModuleLayer layer) {
    declarations.add(layer);
    loaders.add(ServiceLoader.load(layer, CacheStoreProvider.class));
  }

  private void add(ClassLoader loader) {
    declarations.add(loader);
    loaders.add(ServiceLoader.load(CacheStoreProvider.class, loader));
  }

  private void run() {
    loaders.forEach(this::walk);
    declarations.byProvider().forEach(this::explain);
    unattributed
        .values()
        .forEach(
            reason ->
                listener.broken(UNNAMED, declarations.originNamedIn(reason.getMessage()), reason));
  }

  /** Takes providers one by one; one that cannot be loaded does not end the walk. */
  private void walk(ServiceLoader<CacheStoreProvider> loader) {
    Spliterator<ServiceLoader.Provider<CacheStoreProvider>> providers =
        loader.stream().spliterator();
    int failures = 0;
    // Each declaration fails once at most; a loader that fails more often does not get past one.
    while (failures <= declarations.count()) {
      try {
        if (!providers.tryAdvance(this::take)) {
          return;
        }
      } catch (ServiceConfigurationError | LinkageError | RuntimeException e) {
        failures++;
        lookupFailed(e);
      }
    }
  }

  private void take(ServiceLoader.Provider<CacheStoreProvider> provider) {
    CacheStoreProvider instance;
    try {
      instance = provider.get();
    } catch (ServiceConfigurationError e) {
      // A provider method is declared by a class that need not be of the type it returns.
      Class<?> type = provider.type();
      String declared = declarations.namedIn(e.getMessage()).orElse(type.getName());
      broken(
          declared, declarations.originOf(declared).orElseGet(() -> Declarations.origin(type)), e);
      return;
    }
    if (types.add(instance.getClass())) {
      name(instance);
    }
  }

  private void name(CacheStoreProvider instance) {
    String type = instance.getClass().getName();
    String origin = Declarations.origin(instance.getClass());
    String name;
    try {
      name = instance.name();
      requireNoNull("options", instance.options());
      requireNoNull("capabilities", instance.capabilities());
    } catch (RuntimeException | Error e) {
      // Errors, too: whatever a stranger's code throws must not hide the others.
      broken(type, origin, e);
      return;
    }
    if (name == null || !NAME.matcher(name).matches()) {
      String refusal =
          "its name must be lower-case letters, digits and dashes, beginning with a letter, but is"
              + " ";
      broken(
          type,
          origin,
          new IllegalArgumentException(refusal + (name == null ? "null" : '"' + name + '"')));
      return;
    }
    settled.add(type);
    listener.found(name, instance, origin);
  }

  private static void requireNoNull(String what, @Nullable Collection<?> answer) {
    if (answer == null || answer.stream().anyMatch(Objects::isNull)) {
      throw new IllegalArgumentException("its " + what + " are null, or one of them is");
    }
  }

  private void lookupFailed(Throwable reason) {
    // Other errors name what the provider misses, not the provider.
    Optional<String> provider =
        reason instanceof ServiceConfigurationError
            ? declarations.namedIn(reason.getMessage())
            : Optional.empty();
    provider.ifPresentOrElse(
        name -> broken(name, declarations.originOf(name).orElseThrow(), reason),
        () -> unattributed.put(reason.toString(), reason));
  }

  /**
   * Finds the reason for a provider that was declared and of which nothing was heard, and for an
   * error that does not say which it is about, though another of the same provider did.
   */
  private void explain(String provider, Declarations.Declaration declaration) {
    try {
      declaration.loading().attempt();
    } catch (ClassNotFoundException | LinkageError | RuntimeException e) {
      unattributed.remove(e.toString());
      broken(provider, declaration.origin(), e);
    }
  }

  private void broken(String provider, String origin, Throwable reason) {
    if (settled.add(provider)) {
      listener.broken(provider, origin, reason);
    }
  }
}
