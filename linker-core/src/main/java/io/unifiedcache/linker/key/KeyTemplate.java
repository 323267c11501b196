package io.unifiedcache.linker.key;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;

/**
 * The keys of one component of a pool: all that is in them but the page.
 *
 * <p>Immutable and thread-safe. Different pages have different keys.
 */
@FunctionalInterface
public interface KeyTemplate {
  /** Returns the key of the component's object of the given page. */
  ObjectKey key(PageKey page);
}
