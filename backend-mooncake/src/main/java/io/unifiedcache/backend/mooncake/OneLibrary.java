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

  /** Brings client code into the process. */
  interface Loading<T> {
    /**
     * Does so, and no more: whether the code can be used is to be found out afterwards, when it is
     * there.
     *
     * @throws LoadException if nothing of it is in the process
     */
    T load() throws LoadException;
  }

  /**
   * Brings client code into the process, unless it has other client code already. What has been
   * brought in is the one library of the process from then on, even if nobody can use it.
   *
   * @param identity names it, in a message as well
   */
  static <T> T load(String identity, Loading<T> loading) throws LoadException {
    Object there = System.getProperties().putIfAbsent(PROPERTY, identity);
    if (there != null && !there.equals(identity)) {
      throw new LoadException(
          "this process has "
              + there
              + " already, and can have only one of Mooncake's clients: "
              + identity
              + " needs a process that has not loaded the other");
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
