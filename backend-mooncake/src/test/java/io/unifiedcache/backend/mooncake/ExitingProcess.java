package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreContext;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/** A process that ends while its stores are at work. */
final class ExitingProcess {
  /** What it ends with. */
  static final int STATUS = 7;

  private static final int STORES = 2;
  private static final int THREADS = 3;

  private ExitingProcess() {}

  /** Returns how to start it. */
  static ProcessBuilder start(Map<String, String> settings) throws URISyntaxException {
    List<String> arguments = new ArrayList<>();
    settings.forEach((name, value) -> arguments.add(name + "=" + value));
    return JavaProcess.of(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:+ErrorFileToStderr",
            "-Xmx128m"),
        ExitingProcess.class,
        arguments);
  }

  static void main(String[] arguments) throws InterruptedException {
    Map<String, String> settings = new TreeMap<>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      settings.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    CountDownLatch loaded = new CountDownLatch(STORES * THREADS);
    for (int i = 0; i < STORES; i++) {
      CacheStore store =
          MooncakeStore.open(
              ScriptedStore.settings(settings, Map.of()), StoreContext.of("mooncake-exiting"));
      for (int thread = 0; thread < THREADS; thread++) {
        String key = "exiting-" + i + "-" + thread;
        Thread.ofPlatform().daemon().start(() -> work(store, key, loaded));
      }
    }
    loaded.await();
    System.exit(STATUS);
  }

  private static void work(CacheStore store, String key, CountDownLatch loaded) {
    int size = 1 << 20;
    try {
      for (int round = 0; ; round++) {
        store.put(List.of(ScriptedStore.put(key + "-" + round % 4, 1, size)), ScriptedStore.soon());
        store.get(List.of(ScriptedStore.get(key + "-" + round % 4, size)), ScriptedStore.soon());
        store.remove(
            List.of(ScriptedStore.key(key)), /* evenIfLeased= */ true, ScriptedStore.soon());
        loaded.countDown();
      }
    } catch (CacheException e) {
      // The store has closed itself, since the process ends.
      loaded.countDown();
    }
  }
}
