package io.unifiedcache.api.linker;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import java.util.List;
import java.util.Objects;

/**
 * Pages to move and their places, for the pools that take their slots from one source.
 *
 * @param source the source
 * @param keys the pages
 * @param slots one slot per page
 */
public record PoolTransfer(PoolName source, List<PageKey> keys, Slots slots) {
  /**
   * Creates a transfer.
   *
   * @throws IllegalArgumentException if there are no pages, or more or fewer slots than pages
   */
  public PoolTransfer {
    Objects.requireNonNull(source, "source");
    keys = List.copyOf(keys);
    if (keys.isEmpty()) {
      throw new IllegalArgumentException("a transfer of source " + source + " has no pages");
    }
    if (keys.size() != slots.size()) {
      throw new IllegalArgumentException(
          "a transfer of source %s has %d pages but %d slots"
              .formatted(source, keys.size(), slots.size()));
    }
  }
}
