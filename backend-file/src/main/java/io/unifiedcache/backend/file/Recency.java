package io.unifiedcache.backend.file;

import org.jspecify.annotations.Nullable;

/** The live objects, from the one unused for longest to the one used last. Not thread-safe. */
final class Recency {
  private @Nullable StoredObject oldest;
  private @Nullable StoredObject newest;

  /** Returns the object unused for longest, if there is any. */
  @Nullable StoredObject oldest() {
    return oldest;
  }

  /** Returns the object used last, if there is any. */
  @Nullable StoredObject newest() {
    return newest;
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
  }
}
