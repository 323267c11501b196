package io.unifiedcache.backend.mooncake;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * The objects that this store removes although they are leased, while others are being read.
 *
 * <p>Mooncake frees the memory of such an object at once, and a reader that is at it is told that
 * all went well, whatever it has read. Of readers in other processes nothing is known. Thread-safe.
 */
final class Removals {
  /** How many removals of each object are at work. */
  private final Map<String, Integer> atWork = new HashMap<>();

  /** When each object was removed last, in removals; as long as there are readers. */
  private final Map<String, Long> removed = new HashMap<>();

  private long now;
  private int readers;

  /** Says that a reader begins; returns when. */
  synchronized long beginReading() {
    readers++;
    return now;
  }

  /** Says that a reader is done. */
  synchronized void endReading() {
    readers--;
    if (readers == 0) {
      removed.clear();
    }
  }

  /** Says that objects are about to be removed. */
  synchronized void begin(Collection<String> keys) {
    keys.forEach(key -> atWork.merge(key, 1, Integer::sum));
  }

  /** Says that objects have been removed, or not. */
  synchronized void end(Collection<String> keys) {
    now++;
    for (String key : keys) {
      atWork.computeIfPresent(key, (same, count) -> count == 1 ? null : count - 1);
      if (readers > 0) {
        removed.put(key, now);
      }
    }
  }

  /** Tells whether an object may have been removed since a reader began. */
  synchronized boolean happened(String key, long since) {
    if (atWork.containsKey(key)) {
      return true;
    }
    Long at = removed.get(key);
    return at != null && at > since;
  }
}
