package io.unifiedcache.api.linker;

import io.unifiedcache.api.PoolName;
import java.util.Map;
import java.util.Objects;

/**
 * The answer to a lookup.
 *
 * @param restorable every prefix length at which all pools of all ranks can resume
 * @param hits for each pool of this rank that was evaluated, the longest length that it alone
 *     admits; a pool that admits none, or comes after the set had become empty, is not in the map
 */
public record PoolTransferResult(RestorablePrefixes restorable, Map<PoolName, Integer> hits) {
  /** Creates an answer. */
  public PoolTransferResult {
    Objects.requireNonNull(restorable, "restorable");
    hits = Map.copyOf(hits);
  }

  /** Returns the longest restorable length in pages, 0 if there is none. */
  public int usablePages() {
    return restorable.longest();
  }
}
