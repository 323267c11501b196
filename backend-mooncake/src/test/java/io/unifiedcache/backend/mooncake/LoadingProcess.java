package io.unifiedcache.backend.mooncake;

import com.google.gson.JsonParser;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreContext;
import java.io.File;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.LoggerFactory;

/** A process that loads one object again and again, until it is ended. */
final class LoadingProcess {
  /** What it says once it has loaded the object. */
  static final String LOADING = "loading";

  /** What its shutdown hook says. */
  static final String HOOK = "the hook has run";

  private LoadingProcess() {}

  /** Returns how to start it. */
  static ProcessBuilder start(Map<String, String> settings) throws URISyntaxException {
    Set<String> places = new LinkedHashSet<>();
    for (Class<?> each :
        List.of(
            LoadingProcess.class,
            MooncakeStore.class,
            HostMemory.class,
            LoggerFactory.class,
            JsonParser.class)) {
      places.add(placeOf(each));
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", String.join(File.pathSeparator, places)));
    command.add(LoadingProcess.class.getName());
    settings.forEach((name, value) -> command.add(name + "=" + value));
    return new ProcessBuilder(command);
  }

  /** Returns the jar or folder that a class is in. */
  private static String placeOf(Class<?> loaded) throws URISyntaxException {
    String name = "/" + loaded.getName().replace('.', '/') + ".class";
    String url = Objects.requireNonNull(loaded.getResource(name), name).toString();
    String place = url.substring(0, url.length() - name.length());
    return Path.of(
            new URI(
                place.startsWith("jar:")
                    ? place.substring("jar:".length(), place.length() - "!".length())
                    : place))
        .toString();
  }

  @SuppressWarnings("SystemOut") // This is how the process is heard.
  static void main(String[] arguments) {
    Map<String, String> settings = new TreeMap<>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      settings.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(HOOK)));
    CacheStore store =
        MooncakeStore.open(
            ScriptedStore.settings(settings, Map.of()), StoreContext.of("mooncake-loading"));
    boolean loading = false;
    while (true) {
      // Not there at first; and again, should it be evicted.
      store.put(List.of(ScriptedStore.put("loaded", 1, 1 << 20)), ScriptedStore.soon());
      if (store.get(List.of(ScriptedStore.get("loaded", 1 << 20)), ScriptedStore.soon()).isOk(0)
          && !loading) {
        loading = true;
        System.out.println(LOADING);
      }
    }
  }
}
