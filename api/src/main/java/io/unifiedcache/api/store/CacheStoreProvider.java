package io.unifiedcache.api.store;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A backend, found by {@link java.util.ServiceLoader} and chosen by its name (rule {@code
 * discovery.by-name}).
 *
 * <p>Cheap to construct: no native library is loaded and no file or socket is opened before {@link
 * #open}. Implementations are thread-safe.
 */
public interface CacheStoreProvider {
  /**
   * Returns the name by which the backend is chosen: lower-case letters, digits and dashes,
   * beginning with a letter.
   */
  String name();

  /**
   * Returns the options that {@link #open} understands, in the order to show them; the same
   * instances every time, since settings are asked for a value by the option itself.
   */
  List<Option<?>> options();

  /** Returns the most that a store of this backend can offer; settings may leave it less. */
  Set<Capability> capabilities();

  /**
   * Opens a store.
   *
   * <p>Called on a thread that may be interrupted to give up, and again after it has failed (rule
   * {@code linker.start-policy}); a call that fails leaves nothing open.
   *
   * @param settings a value for each of {@link #options}, checked already
   * @throws io.unifiedcache.api.CacheException if the store cannot be opened, naming what was tried
   *     and what to do; with code {@code REFUSED} if the settings are wrong, so that to try again
   *     would not help
   */
  CacheStore open(Settings settings, StoreContext context);

  /**
   * Returns what an operator may ask of the store that the settings name; empty if there is nothing
   * to ask, as where objects end with their process. Nothing is opened yet.
   *
   * @param settings a value for each of {@link #options}, checked already
   * @throws io.unifiedcache.api.CacheException with code {@code REFUSED} if the settings are wrong
   */
  default Optional<StoreMaintenance> maintenance(Settings settings, StoreContext context) {
    return Optional.empty();
  }
}
