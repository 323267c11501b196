package io.unifiedcache.api.linker;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Pages to move and their places, for the pools that take their slots from one source.
 *
 * @param source the source
 * @param keys the pages
 * @param slots one slot per page, each of them once
 */
public record PoolTransfer(PoolName source, List<PageKey> keys, Slots slots) {
  /**
   * Creates a transfer.
   *
   * @throws IllegalArgumentException if there are no pages, there are more or fewer slots than
   *     pages, or a slot is there twice (rule {@code linker.slots})
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
    requireDistinct(source, keys, slots);
  }

  private static void requireDistinct(PoolName source, List<PageKey> keys, Slots slots) {
    boolean ascending = true;
    for (int i = 1; i < slots.size() && ascending; i++) {
      ascending = slots.slot(i - 1) < slots.slot(i);
    }
    if (ascending) {
      return;
    }
    Map<Long, Integer> places = new HashMap<>();
    for (int i = 0; i < slots.size(); i++) {
      Integer other = places.put(slots.slot(i), i);
      if (other != null) {
        throw new IllegalArgumentException(
            "a transfer of source %s has slot %d twice, for pages %s and %s"
                .formatted(source, slots.slot(i), keys.get(other), keys.get(i)));
      }
    }
  }
}
