package io.unifiedcache.api;

/**
 * The name of an object in a store: final, complete and opaque.
 *
 * <p>A store takes the key as given. It never adds to it, shortens it, folds its case or trims it
 * (rule {@code store.exact-key}).
 *
 * @param value text that is not empty and has no unpaired surrogate
 */
public record ObjectKey(String value) {
  /**
   * Creates an object key.
   *
   * @throws IllegalArgumentException if the text is empty or has an unpaired surrogate
   */
  public ObjectKey {
    Text.requireWellFormed("object key", value);
  }

  @Override
  public String toString() {
    return value;
  }
}
