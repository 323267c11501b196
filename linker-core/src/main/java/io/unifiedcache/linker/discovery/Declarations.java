package io.unifiedcache.linker.discovery;

import io.unifiedcache.api.store.CacheStoreProvider;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ResolvedModule;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What modules and jars say about the providers they have, whether or not those can be loaded.
 *
 * <p>{@link java.util.ServiceLoader} alone does not tell where a provider that it failed to load
 * was declared, nor always which one it was.
 */
final class Declarations {
  private static final String SERVICE = CacheStoreProvider.class.getName();

  private static final Pattern CLASS_NAME =
      Pattern.compile("[\\w.$]+", Pattern.UNICODE_CHARACTER_CLASS);

  private static final String UNKNOWN = "an unknown place";

  /** A loading of a provider's class, which may fail. */
  interface Loading {
    void attempt() throws ClassNotFoundException;
  }

  /** Where a provider was declared, and how its class is loaded. */
  record Declaration(String origin, Loading loading) {}

  private final Map<String, Declaration> byProvider = new LinkedHashMap<>();

  private int count;

  /** Where each service file is, by its URL. */
  private final Map<String, String> originByFile = new LinkedHashMap<>();

  /** Adds the modules of a layer and of the layers below it. */
  void add(ModuleLayer layer) {
    add(layer, new HashSet<>());
  }

  private void add(ModuleLayer layer, Set<ModuleLayer> seen) {
    if (!seen.add(layer)) {
      return;
    }
    addModulesOf(layer);
    for (ModuleLayer parent : layer.parents()) {
      add(parent, seen);
    }
  }

  /** Adds the modules of a layer alone. */
  void addModulesOf(ModuleLayer layer) {
    for (Module module : layer.modules()) {
      for (ModuleDescriptor.Provides provides : module.getDescriptor().provides()) {
        if (provides.service().equals(SERVICE)) {
          for (String provider : provides.providers()) {
            count++;
            byProvider.putIfAbsent(
                provider, new Declaration(origin(module), () -> Class.forName(module, provider)));
          }
        }
      }
    }
  }

  /** Adds the service files that a class loader sees. */
  void add(ClassLoader loader) {
    try {
      for (URL file : Collections.list(loader.getResources("META-INF/services/" + SERVICE))) {
        add(file, loader);
      }
    } catch (IOException e) {
      // ServiceLoader reads the same files and reports the same error.
      return;
    }
  }

  private void add(URL file, ClassLoader loader) throws IOException {
    URLConnection connection = file.openConnection();
    connection.setUseCaches(false);
    count++;
    originByFile.put(file.toString(), origin(file));
    try (InputStream in = connection.getInputStream()) {
      String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      for (String line : text.lines().toList()) {
        int comment = line.indexOf('#');
        String provider = (comment < 0 ? line : line.substring(0, comment)).strip();
        if (CLASS_NAME.matcher(provider).matches()) {
          count++;
          byProvider.putIfAbsent(
              provider,
              new Declaration(
                  origin(file), () -> Class.forName(provider, /* initialize= */ false, loader)));
        }
      }
    }
  }

  /** Returns how often a provider was declared, by whom and wherever, and service files. */
  int count() {
    return count;
  }

  /** Returns what was declared, by the name of the provider's class. */
  Map<String, Declaration> byProvider() {
    return byProvider;
  }

  /** Returns the declared provider that the text names. */
  Optional<String> namedIn(@Nullable String text) {
    if (text == null) {
      return Optional.empty();
    }
    return byProvider.keySet().stream()
        .filter(
            name ->
                Pattern.compile("(?<![\\w.$])" + Pattern.quote(name) + "(?![\\w$])")
                    .matcher(text)
                    .find())
        .findFirst();
  }

  /** Returns where the service file is that the text names. */
  String originNamedIn(@Nullable String text) {
    return originByFile.entrySet().stream()
        .filter(file -> text != null && text.contains(file.getKey()))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse(UNKNOWN);
  }

  /** Returns where a provider was declared. */
  Optional<String> originOf(String provider) {
    return Optional.ofNullable(byProvider.get(provider)).map(Declaration::origin);
  }

  /** Returns where a class was loaded from. */
  static String origin(Class<?> type) {
    if (type.getModule().isNamed()) {
      return origin(type.getModule());
    }
    var source = type.getProtectionDomain().getCodeSource();
    return source == null || source.getLocation() == null
        ? UNKNOWN
        : shown(source.getLocation().toString());
  }

  private static String origin(Module module) {
    String place =
        Optional.ofNullable(module.getLayer())
            .flatMap(layer -> layer.configuration().findModule(module.getName()))
            .map(ResolvedModule::reference)
            .flatMap(reference -> reference.location())
            .map(location -> " (" + shown(location.toString()) + ")")
            .orElse("");
    return "module " + module.getName() + place;
  }

  private static String origin(URL serviceFile) {
    String url = serviceFile.toString();
    String container = url.substring(0, url.length() - ("META-INF/services/" + SERVICE).length());
    if (container.startsWith("jar:") && container.endsWith("!/")) {
      container = container.substring("jar:".length(), container.length() - "!/".length());
    }
    return shown(container);
  }

  /** Returns a file's URL as its path, and any other as it is. */
  private static String shown(String url) {
    if (url.startsWith("file:")) {
      try {
        return Path.of(URI.create(url)).toString();
      } catch (IllegalArgumentException e) {
        return url;
      }
    }
    return url;
  }
}
