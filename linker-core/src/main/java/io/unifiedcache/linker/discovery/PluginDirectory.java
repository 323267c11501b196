package io.unifiedcache.linker.discovery;

import io.unifiedcache.api.store.CacheStoreProvider;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;

/**
 * A directory of plug-ins: each jar in it is one, and so is each directory in it, with all jars
 * that are in that.
 *
 * <p>Each plug-in has a class loader of its own, and what it brings is seen by no other. It sees
 * the JDK, {@code io.unifiedcache.api} and {@code org.slf4j} of this process, never its own copies
 * of these. One whose module descriptor provides a backend is a module layer over that of this
 * module; such a module may require modules of this process, too, which then are used in place of
 * the plug-in's own of the same name. One that has only a service file is loaded as from a class
 * path.
 */
public final class PluginDirectory {
  private static final String SERVICE = CacheStoreProvider.class.getName();

  /** The directory, and the listener for what is in it. */
  private final Path directory;

  private final ProviderSearch.Listener listener;

  private PluginDirectory(Path directory, ProviderSearch.Listener listener) {
    this.directory = directory;
    this.listener = listener;
  }

  /** Searches the plug-ins in the order of their names. One that fails hides no other. */
  public static void search(Path directory, ProviderSearch.Listener listener) {
    new PluginDirectory(directory, listener).search();
  }

  private void search() {
    try {
      for (Path each : listed(directory)) {
        if (Files.isDirectory(each) || isJar(each)) {
          search(each);
        }
      }
    } catch (IOException e) {
      listener.broken(ProviderSearch.UNNAMED, directory.toString(), e);
    }
  }

  private void search(Path plugin) {
    try {
      if (Files.isDirectory(plugin)) {
        List<Path> parts = new ArrayList<>(List.of(plugin));
        listed(plugin).stream().filter(PluginDirectory::isJar).forEach(parts::add);
        load(plugin, parts);
      } else {
        load(plugin, List.of(plugin));
      }
    } catch (IOException | RuntimeException | LinkageError e) {
      // All that keeps modules from being found, resolved and defined is a RuntimeException.
      listener.broken(ProviderSearch.UNNAMED, plugin.toString(), e);
    }
  }

  private static List<Path> listed(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries
          .filter(each -> !each.getFileName().toString().startsWith("."))
          .sorted()
          .toList();
    }
  }

  private static boolean isJar(Path file) {
    return file.getFileName().toString().endsWith(".jar");
  }

  /**
   * Loads a plug-in and searches it.
   *
   * @param parts its jars, and directories of classes
   */
  private void load(Path plugin, List<Path> parts) throws IOException {
    boolean hasModule = false;
    for (Path part : parts) {
      try {
        hasModule |= declaresProvider(part);
      } catch (IOException | RuntimeException e) {
        listener.broken(ProviderSearch.UNNAMED, part.toString(), e);
        return;
      }
    }
    int heard =
        hasModule
            ? searchLayer(layer(ModuleFinder.of(plugin)))
            : ProviderSearch.searchPlugin(loader(parts), null, listener);
    if (heard == 0) {
      listener.broken(
          ProviderSearch.UNNAMED,
          plugin.toString(),
          new IllegalStateException(
              "it provides no backend; the libraries of a plug-in belong beside it, in a directory"
                  + " below "
                  + directory));
    }
  }

  /** Returns whether a module descriptor declares a provider; opens a jar in any case. */
  private static boolean declaresProvider(Path part) throws IOException {
    if (Files.isDirectory(part)) {
      Path descriptor = part.resolve("module-info.class");
      return Files.exists(descriptor) && declaresProvider(Files.newInputStream(descriptor));
    }
    try (JarFile jar =
        new JarFile(part.toFile(), /* verify= */ false, ZipFile.OPEN_READ, Runtime.version())) {
      var descriptor = jar.getJarEntry("module-info.class");
      return descriptor != null && declaresProvider(jar.getInputStream(descriptor));
    }
  }

  private static boolean declaresProvider(InputStream descriptor) throws IOException {
    try (descriptor) {
      return ModuleDescriptor.read(descriptor).provides().stream()
          .anyMatch(provides -> provides.service().equals(SERVICE));
    }
  }

  private static URLClassLoader loader(List<Path> parts) throws MalformedURLException {
    URL[] urls = new URL[parts.size()];
    for (int i = 0; i < urls.length; i++) {
      urls[i] = parts.get(i).toUri().toURL();
    }
    return new URLClassLoader(urls, new SharedTypes());
  }

  private static ModuleLayer layer(ModuleFinder plugin) {
    ModuleLayer own =
        Optional.ofNullable(PluginDirectory.class.getModule().getLayer())
            .orElseGet(ModuleLayer::boot);
    Set<String> roots =
        plugin.findAll().stream()
            .map(each -> each.descriptor().name())
            .collect(Collectors.toUnmodifiableSet());
    Configuration configuration =
        Configuration.resolve(ModuleFinder.of(), List.of(own.configuration()), plugin, roots);
    return ModuleLayer.defineModulesWithOneLoader(configuration, List.of(own), new SharedTypes())
        .layer();
  }

  private int searchLayer(ModuleLayer layer) {
    return layer.modules().stream()
        .findAny()
        .map(any -> ProviderSearch.searchPlugin(any.getClassLoader(), layer, listener))
        .orElse(0);
  }

  /**
   * What plug-ins share with this process beside the JDK: the types of the contract, and the log.
   */
  private static final class SharedTypes extends ClassLoader {
    private static final List<String> SHARED = List.of("io.unifiedcache.api.", "org.slf4j.");

    SharedTypes() {
      super("unified-cache-plug-in", ClassLoader.getPlatformClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      @Nullable ClassLoader own = PluginDirectory.class.getClassLoader();
      if (SHARED.stream().anyMatch(name::startsWith)) {
        return Class.forName(name, /* initialize= */ false, own);
      }
      throw new ClassNotFoundException(name);
    }
  }
}
