package io.unifiedcache.backend.memory;

import org.jspecify.annotations.Nullable;

/**
 * The objects that may be evicted, from the one unused for longest to the one used last, with the
 * room that evicting all of them would make.
 *
 * <p>Not thread-safe.
 */
final class Recency {
  private @Nullable StoredObject oldest;
  private @Nullable StoredObject newest;
  private long bytes;
  private long granules;

  /** Returns the object to evict next, if there is any. */
  @Nullable StoredObject oldest() {
    return oldest;
  }

  /** Returns the sum of the sizes. */
  long bytes() {
    return bytes;
  }

  /** Returns the sum of the granules. */
  long granules() {
    return granules;
  }

  /** Adds an object as the one used last. */
  void add(StoredObject object) {
    StoredObject last = newest;
    object.older = last;
    if (last == null) {
      oldest = object;
    } else {
      last.newer = object;
    }
    newest = object;
    bytes += object.size;
    granules += Slabs.granulesOf(object.size);
  }

  /** Takes an object out. */
  void remove(StoredObject object) {
    StoredObject older = object.older;
    StoredObject newer = object.newer;
    if (older == null) {
      oldest = newer;
    } else {
      older.newer = newer;
    }
    if (newer == null) {
      newest = older;
    } else {
      newer.older = older;
    }
    object.older = null;
    object.newer = null;
    bytes -= object.size;
    granules -= Slabs.granulesOf(object.size);
  }
}
