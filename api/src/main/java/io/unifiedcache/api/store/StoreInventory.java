package io.unifiedcache.api.store;

import io.unifiedcache.api.ObjectKey;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;

/**
 * What {@link StoreMaintenance#stat} has found in a store.
 *
 * @param objects live objects, or {@link StoreStats#UNKNOWN}
 * @param bytes the sum of their sizes, or {@link StoreStats#UNKNOWN}
 * @param capacityBytes the budget, or {@link StoreStats#UNKNOWN} if the settings do not say it
 * @param listed whether each object was passed on
 * @param details what else there is to know of this kind of store, in the order to show it: for
 *     people, and not for programs
 */
public record StoreInventory(
    long objects,
    long bytes,
    long capacityBytes,
    boolean listed,
    SequencedMap<String, String> details) {
  /** Creates an inventory. */
  public StoreInventory {
    details = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(details));
  }

  /**
   * One live object.
   *
   * @param key its key
   * @param bytes its size
   * @param stored when it was stored, by the clock of whoever did; empty if the store does not know
   */
  public record Item(ObjectKey key, long bytes, Optional<Instant> stored) {
    /** Creates an item. */
    public Item {
      Objects.requireNonNull(key, "key");
      Objects.requireNonNull(stored, "stored");
    }
  }
}
