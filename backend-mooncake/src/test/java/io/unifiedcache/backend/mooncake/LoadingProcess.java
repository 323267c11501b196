package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreContext;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A process that loads one object again and again, until it is ended. */
final class LoadingProcess {
  /** What it says once it has loaded the object. */
  static final String LOADING = "loading";

  /** What its shutdown hook says. */
  static final String HOOK = "the hook has run";

  private LoadingProcess() {}

  /** Returns how to start it. */
  static ProcessBuilder start(Map<String, String> settings) throws URISyntaxException {
    List<String> arguments = new ArrayList<>();
    settings.forEach((name, value) -> arguments.add(name + "=" + value));
    return JavaProcess.of(
        List.of("--enable-native-access=ALL-UNNAMED"), LoadingProcess.class, arguments);
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
