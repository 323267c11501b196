package io.unifiedcache.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.config.NearestName;
import io.unifiedcache.linker.discovery.PluginDirectory;
import io.unifiedcache.linker.discovery.ProviderSearch;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The backends that a search has found, and those it could not load (rule {@code
 * discovery.by-name}).
 *
 * <p>Immutable and thread-safe. A search takes time: keep its result.
 */
public final class Backends {
  /**
   * A backend that was found.
   *
   * @param name its name
   * @param provider its provider
   * @param origin the module or jar it comes from, for people
   */
  public record Found(String name, CacheStoreProvider provider, String origin) {
    /** Creates a finding. */
    public Found {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(provider, "provider");
      Objects.requireNonNull(origin, "origin");
    }

    private String described() {
      return provider.getClass().getName() + " in " + origin;
    }
  }

  /**
   * A backend that was declared and could not be loaded.
   *
   * @param provider the name of the provider's class
   * @param origin the module or jar that declares it, for people
   * @param reason what happened when it was loaded
   */
  public record Broken(String provider, String origin, Throwable reason) {
    /** Creates a finding. */
    public Broken {
      Objects.requireNonNull(provider, "provider");
      Objects.requireNonNull(origin, "origin");
      Objects.requireNonNull(reason, "reason");
    }

    /** Returns what happened in one line: the innermost cause. */
    public String cause() {
      Throwable innermost = reason;
      try {
        Throwable cause = innermost.getCause();
        for (int depth = 0; cause != null && depth < DEEPEST_CAUSE; depth++) {
          innermost = cause;
          cause = innermost.getCause();
        }
        return innermost.toString().lines().collect(Collectors.joining(" "));
      } catch (RuntimeException | Error e) {
        // Exceptions are a stranger's code, too.
        return innermost.getClass().getName();
      }
    }

    private String described() {
      return provider + " in " + origin + ": " + cause();
    }
  }

  /** Causes may name each other in a circle. */
  private static final int DEEPEST_CAUSE = 100;

  private final List<Found> found;
  private final List<Broken> broken;
  private final List<Path> plugins;

  private Backends(List<Found> found, List<Broken> broken, List<Path> plugins) {
    this.found = List.copyOf(found);
    this.broken = List.copyOf(broken);
    this.plugins = List.copyOf(plugins);
  }

  /**
   * Searches the module layer of this module, which is the boot layer unless a container loaded it,
   * and the class path.
   */
  public static Backends discover() {
    return collect(ProviderSearch::searchOwn);
  }

  /** Searches the modules of a layer and of the layers below it. */
  public static Backends discover(ModuleLayer layer) {
    return collect(listener -> ProviderSearch.search(layer, listener));
  }

  /** Searches the modules and jars that a class loader and those above it see. */
  public static Backends discover(ClassLoader loader) {
    return collect(listener -> ProviderSearch.search(loader, listener));
  }

  /** Returns backends that were found by other means, such as a container's own. */
  public static Backends of(List<Found> found) {
    return new Backends(found, List.of(), List.of());
  }

  /**
   * Returns these backends and those of the plug-ins in a directory: each jar in it, and each
   * directory in it with the jars of one plug-in and its libraries. Every plug-in has a class
   * loader of its own, so that two may bring different versions of a library; they share the JDK,
   * {@code io.unifiedcache.api} and {@code org.slf4j} of this process. A plug-in that cannot be
   * loaded is {@link #broken}, and so is one that has no backend.
   *
   * <p>What is loaded stays until the process ends. The api must be a module where a plug-in is
   * one.
   */
  public Backends withPlugins(Path directory) {
    Backends more = collect(listener -> PluginDirectory.search(directory, listener));
    return new Backends(
        joined(found, more.found),
        joined(broken, more.broken),
        joined(plugins, List.of(directory)));
  }

  private static <T> List<T> joined(List<T> first, List<T> second) {
    List<T> all = new ArrayList<>(first);
    all.addAll(second);
    return all;
  }

  /** Returns the directories of {@link #withPlugins}, for another process that finds the same. */
  public List<Path> plugins() {
    return plugins;
  }

  private static Backends collect(Consumer<ProviderSearch.Listener> search) {
    List<Found> found = new ArrayList<>();
    List<Broken> broken = new ArrayList<>();
    search.accept(
        new ProviderSearch.Listener() {
          @Override
          public void found(String name, CacheStoreProvider provider, String origin) {
            found.add(new Found(name, provider, origin));
          }

          @Override
          public void broken(String provider, String origin, Throwable reason) {
            broken.add(new Broken(provider, origin, reason));
          }
        });
    return new Backends(found, broken, List.of());
  }

  /** Returns the backends that were found, in the order in which they were; names may repeat. */
  public List<Found> found() {
    return found;
  }

  /** Returns the backends that could not be loaded, in the order in which they were met. */
  public List<Broken> broken() {
    return broken;
  }

  /**
   * Opens a store of the backend of the given name, without a linker over it.
   *
   * @param settings the settings of the backend and no others
   * @param instance names the store in logs and threads
   * @throws CacheException as {@link #named} and as the backend itself does; with code {@code
   *     INTERNAL} if that throws anything else, or opens nothing
   * @throws SettingsException if the backend does not take the settings, with all that is wrong
   *     with them (rule {@code settings.strict})
   */
  public CacheStore open(String name, SettingsSources settings, String instance) {
    CacheStoreProvider provider = named(name);
    return open(name, provider, settings.resolve(provider.options()), StoreContext.of(instance));
  }

  /** Opens a store; whatever goes wrong is a {@code CacheException} that names the backend. */
  static CacheStore open(
      String backend, CacheStoreProvider provider, Settings own, StoreContext context) {
    CacheStore opened;
    try {
      opened = provider.open(own, context);
    } catch (CacheException e) {
      throw e;
    } catch (RuntimeException | LinkageError e) {
      // A missing native library is a LinkageError.
      throw new CacheException(
          FailureCode.INTERNAL, "backend " + backend + " could not be opened: " + e, e);
    }
    if (opened == null) {
      throw new CacheException(
          FailureCode.INTERNAL, "backend " + backend + " opened no store, but returned null");
    }
    return opened;
  }

  /**
   * Returns the backend of the given name.
   *
   * @throws CacheException with code {@code REFUSED} if several have the name, listing them, or if
   *     none has, listing those there are, those that could not be loaded, and the artifact to add
   */
  public CacheStoreProvider named(String name) {
    List<Found> matches = found.stream().filter(each -> each.name().equals(name)).toList();
    if (matches.size() == 1) {
      return matches.getFirst().provider();
    }
    throw new CacheException(
        FailureCode.REFUSED, matches.isEmpty() ? unknown(name) : ambiguous(name, matches));
  }

  private static String ambiguous(String name, List<Found> matches) {
    return "%d backends are called \"%s\": %s; leave one of them on the path"
        .formatted(
            matches.size(),
            name,
            matches.stream().map(Found::described).collect(Collectors.joining("; ")));
  }

  private String unknown(String name) {
    List<String> names = found.stream().map(Found::name).distinct().toList();
    StringBuilder text = new StringBuilder("there is no backend \"").append(name).append('"');
    NearestName.among(names, name)
        .ifPresent(nearest -> text.append("; did you mean \"").append(nearest).append("\"?"));
    text.append(
        names.isEmpty() ? "; no backend was found" : "; found are " + String.join(", ", names));
    for (Broken each : broken) {
      text.append("; could not be loaded: ").append(each.described());
    }
    return text.append("; to add it, put its artifact, such as ")
        .append("io.unifiedcache:unified-cache-backend-")
        .append(name)
        .append(", on the module path or class path")
        .toString();
  }

  @Override
  public String toString() {
    return "Backends[found="
        + found.stream().map(each -> each.name() + " (" + each.described() + ")").toList()
        + ", broken="
        + broken.stream().map(Broken::described).toList()
        + "]";
  }
}
