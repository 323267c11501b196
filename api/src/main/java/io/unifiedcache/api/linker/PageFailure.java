package io.unifiedcache.api.linker;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import java.util.Objects;

/**
 * A page that was not moved.
 *
 * @param pool the pool in which it was not, or its source where no pool of this rank failed
 * @param page the page
 * @param cause why
 */
public record PageFailure(PoolName pool, PageKey page, StoreFailure cause) {
  /** Creates a failure. */
  public PageFailure {
    Objects.requireNonNull(pool, "pool");
    Objects.requireNonNull(page, "page");
    Objects.requireNonNull(cause, "cause");
  }
}
