package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;

/**
 * The one piece of Mooncake's client code that this process can have: each defines the same flags,
 * and the second to do so ends the process.
 *
 * <p>A system property says which it is, so that all class loaders know.
 */
final class OneLibrary {
  static final String PROPERTY = "io.unifiedcache.backend.mooncake.loaded";

  private OneLibrary() {}

  /** Loads client code. */
  interface Loading<T> {
    T load() throws LoadException;
  }

  /**
   * Loads client code, unless the process has other client code already.
   *
   * @param identity names it, in a message as well
   */
  static <T> T load(String identity, Loading<T> loading) throws LoadException {
    Object there = System.getProperties().putIfAbsent(PROPERTY, identity);
    if (there != null && !there.equals(identity)) {
      throw new LoadException(
          "this process has "
              + there
              + " already, and can have only one of Mooncake's clients, so that it cannot load "
              + identity);
    }
    try {
      return loading.load();
    } catch (LoadException e) {
      if (there == null) {
        System.getProperties().remove(PROPERTY, identity);
      }
      throw e;
    }
  }
}
