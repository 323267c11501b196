package io.unifiedcache.api.store;

/**
 * Memory made known to a store ahead of its use (rule {@code store.register}).
 *
 * <p>{@link #close} undoes it, is idempotent and is called while no transfer touches the memory;
 * the store does not touch the memory afterwards.
 */
public interface Registration extends AutoCloseable {
  /** The registration of a store that needs none. */
  Registration NONE = () -> {};

  @Override
  void close();
}
