package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.store.StoreContext;
import java.util.Map;
import java.util.TreeMap;

/** A process that opens stores, one after the other, and says why each cannot be opened. */
final class OpeningProcess {
  private OpeningProcess() {}

  /**
   * Opens a store for each argument.
   *
   * @param arguments settings, separated by commas
   */
  @SuppressWarnings("SystemOut") // This is how the process is heard.
  static void main(String[] arguments) {
    for (String argument : arguments) {
      Map<String, String> settings = new TreeMap<>();
      for (String each : argument.split(",", -1)) {
        int equals = each.indexOf('=');
        settings.put(each.substring(0, equals), each.substring(equals + 1));
      }
      try (MooncakeStore store =
          MooncakeStore.open(
              ScriptedStore.settings(settings, Map.of()), StoreContext.of("mooncake-opening"))) {
        System.out.println("open: " + store.capabilities());
      } catch (CacheException e) {
        System.out.println(e.code() + ": " + e.getMessage());
      }
    }
  }
}
