package io.unifiedcache.cli.packaging;

import io.unifiedcache.api.store.CacheStoreProvider;
import java.util.ServiceLoader;

/** Prints, sorted, the name of every provider found and the name of its module. */
public final class ListProviders {
  private ListProviders() {}

  /**
   * Prints to standard output.
   *
   * @param args not used
   */
  public static void main(String[] args) {
    ServiceLoader.load(CacheStoreProvider.class).stream()
        .map(ServiceLoader.Provider::get)
        .map(provider -> provider.name() + " from " + provider.getClass().getModule().getName())
        .sorted()
        .forEach(System.out::println);
  }
}
