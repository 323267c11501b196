package io.unifiedcache.api;

/**
 * The name of a page of tokens, usually the hash of the page and of everything before it.
 *
 * <p>A page key knows nothing of model, rank or pool. Only a key layout turns a page and a
 * component into an {@link ObjectKey}, so that a key cannot be tagged twice (rule {@code
 * key.single-tag}).
 *
 * @param value text that is not empty and has no unpaired surrogate
 */
public record PageKey(String value) {
  /**
   * Creates a page key.
   *
   * @throws IllegalArgumentException if the text is empty or has an unpaired surrogate
   */
  public PageKey {
    Text.requireWellFormed("page key", value);
  }

  @Override
  public String toString() {
    return value;
  }
}
