package io.unifiedcache.api.linker;

import io.unifiedcache.api.PoolName;
import java.util.Objects;

/**
 * What a lookup asks of the pools that take their slots from one source.
 *
 * <p>Pools whose source is {@link PoolName#KV} are always asked for all pages.
 *
 * @param source the source
 * @param policy which pages must be there
 * @param window for {@code TRAILING_PAGES} the number of pages at the end of a prefix that must be
 *     there, at least 1; ignored for {@code ALL_PAGES}
 */
public record PoolQuery(PoolName source, HitPolicy policy, int window) {
  /**
   * Creates a query.
   *
   * @throws IllegalArgumentException if the window is below 1
   */
  public PoolQuery {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(policy, "policy");
    if (window < 1) {
      throw new IllegalArgumentException(
          "the window of pool " + source + " must be at least 1 page, not " + window);
    }
  }

  /** Returns a query for every page. */
  public static PoolQuery allPages(PoolName source) {
    return new PoolQuery(source, HitPolicy.ALL_PAGES, 1);
  }

  /** Returns a query for the last {@code window} pages. */
  public static PoolQuery trailingPages(PoolName source, int window) {
    return new PoolQuery(source, HitPolicy.TRAILING_PAGES, window);
  }

  /**
   * Returns the first of the pages that must be there for the first {@code length} pages to be
   * restored, counted from 0: those from it to the end of the prefix are what a load has to name.
   *
   * @throws IllegalArgumentException if {@code length} is negative
   */
  public int firstPage(int length) {
    if (length < 0) {
      throw new IllegalArgumentException("a prefix cannot have " + length + " pages");
    }
    boolean all = policy == HitPolicy.ALL_PAGES || source.equals(PoolName.KV);
    return all ? 0 : Math.max(0, length - window);
  }
}
