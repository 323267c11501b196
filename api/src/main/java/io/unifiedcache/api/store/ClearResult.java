package io.unifiedcache.api.store;

/**
 * What a clear did.
 *
 * @param removed objects removed, not negative
 * @param kept objects under the prefix that could not be removed, such as leased ones; not negative
 */
public record ClearResult(long removed, long kept) {
  /**
   * Creates a result.
   *
   * @throws IllegalArgumentException if a count is negative
   */
  public ClearResult {
    if (removed < 0 || kept < 0) {
      throw new IllegalArgumentException(
          "counts must not be negative: removed " + removed + ", kept " + kept);
    }
  }
}
