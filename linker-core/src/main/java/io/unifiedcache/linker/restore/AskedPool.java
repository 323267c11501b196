package io.unifiedcache.linker.restore;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.linker.key.KeyTemplate;
import java.util.List;
import java.util.Objects;

/**
 * A pool with memory of its own, as a lookup asks about it.
 *
 * @param name the name
 * @param templates the objects of a page, at least one: a page is there only if all are (rule
 *     {@code restore.all-components})
 * @param policy which pages of a prefix must be there; {@code ALL_PAGES} for the anchor
 * @param window for {@code TRAILING_PAGES} the number of pages at the end of a prefix, at least 1
 * @param anchor whether this is the pool of full-attention keys and values, which is asked about
 *     first and bounds what is asked of the others
 */
public record AskedPool(
    PoolName name, List<KeyTemplate> templates, HitPolicy policy, int window, boolean anchor) {
  /**
   * Creates a pool.
   *
   * @throws IllegalArgumentException if there are no templates, the window is below 1, or the
   *     anchor need not have all pages
   */
  public AskedPool {
    Objects.requireNonNull(name, "name");
    templates = List.copyOf(templates);
    Objects.requireNonNull(policy, "policy");
    if (templates.isEmpty()) {
      throw new IllegalArgumentException("pool " + name + " has no objects to ask about");
    }
    if (window < 1) {
      throw new IllegalArgumentException(
          "the window of pool " + name + " must be at least 1 page, not " + window);
    }
    if (anchor && policy != HitPolicy.ALL_PAGES) {
      throw new IllegalArgumentException(
          "pool " + name + " is the anchor and needs all pages, not " + policy.wireName());
    }
  }
}
