package io.unifiedcache.api;

/**
 * The name of a cache pool of an engine.
 *
 * <p>The set of names is open. {@link #KV} is the one with a meaning of its own: pools whose slots
 * come from it must hold every page of a prefix (rule {@code restore.all-pages}).
 *
 * @param value text that is not empty and has no unpaired surrogate
 */
public record PoolName(String value) {
  /** The pool of full-attention keys and values. */
  public static final PoolName KV = new PoolName("kv");

  /** The pool of keys and values of layers with a sliding window, where these have their own. */
  public static final PoolName SWA = new PoolName("swa");

  /**
   * Creates a pool name.
   *
   * @throws IllegalArgumentException if the text is empty or has an unpaired surrogate
   */
  public PoolName {
    Text.requireWellFormed("pool name", value);
  }

  @Override
  public String toString() {
    return value;
  }
}
