package io.unifiedcache.backend.memory;

import io.unifiedcache.api.ObjectKey;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The objects of a store: which there are, how much room they take, and which goes first when room
 * is needed.
 *
 * <p>The budget counts the bytes of every object from its reservation until its memory is free
 * again, readers of removed ones included (rule {@code store.bounded}). Memory is handed out in
 * whole granules and never passes the budget either; so a store of many small objects is full a
 * little earlier, by less than a granule each.
 *
 * <p>Victims are the objects unused for longest. An object that is being read or filled is not
 * among them: evicting it would make no room.
 *
 * <p>Not thread-safe, but for {@link #contains} and {@link #visible()}.
 */
final class ObjectTable {
  private final long capacity;
  private final Slabs slabs;
  private final ConcurrentHashMap<ObjectKey, StoredObject> visible = new ConcurrentHashMap<>();
  private final Set<ObjectKey> reserved = new HashSet<>();
  private final Recency evictable = new Recency();

  private long usedBytes;
  private long liveObjects;
  private long liveBytes;
  private long evicted;

  ObjectTable(long capacity, Slabs slabs) {
    this.capacity = capacity;
    this.slabs = slabs;
  }

  /** Tells whether an object can be found. Any thread may ask. */
  boolean contains(ObjectKey key) {
    return visible.containsKey(key);
  }

  /** Returns the object that can be found under the key. */
  @Nullable StoredObject find(ObjectKey key) {
    return visible.get(key);
  }

  /** Tells whether somebody is putting an object under the key. */
  boolean isReserved(ObjectKey key) {
    return reserved.contains(key);
  }

  /** Makes an object that nobody reads the one used last. */
  void touch(StoredObject object) {
    if (object.pins == 0) {
      evictable.remove(object);
      evictable.add(object);
    }
  }

  /**
   * Tells whether an object of the size finds room, if need be by eviction.
   *
   * @param granules the granules to count on
   */
  boolean canFit(long size, long granules) {
    return size <= capacity - (usedBytes - evictable.bytes())
        && Slabs.granulesOf(size)
            <= granules - (slabs.granules() - slabs.freeGranules() - evictable.granules());
  }

  /**
   * Evicts objects until one that {@link #canFit} has room.
   *
   * @param most how many to evict at most
   * @return whether there is room now
   */
  boolean evictFor(long size, int most) {
    long granules = Slabs.granulesOf(size);
    for (int i = 0; size > capacity - usedBytes || granules > slabs.freeGranules(); i++) {
      if (i == most) {
        return false;
      }
      StoredObject victim = evictable.oldest();
      if (victim == null) {
        throw new IllegalStateException("no room for " + size + " bytes");
      }
      remove(victim);
      evicted++;
    }
    return true;
  }

  /** Reserves room for an object; there is enough. Changes nothing if that fails. */
  StoredObject reserve(ObjectKey key, long size) {
    long granules = Slabs.granulesOf(size);
    long @Nullable [] blocks = null;
    try {
      reserved.add(key);
      blocks = slabs.allocate(granules);
      StoredObject object = new StoredObject(key, size, blocks);
      usedBytes += size;
      object.pins = 1;
      return object;
    } catch (RuntimeException | Error e) {
      // The heap may have no room for any of these; a map that could not grow has the key already.
      reserved.remove(key);
      if (blocks != null) {
        slabs.free(blocks);
      }
      throw e;
    }
  }

  /** Makes a reserved object visible, and the one used last; it stays reserved if that fails. */
  void publish(StoredObject object) {
    try {
      visible.put(object.key, object);
    } catch (RuntimeException | Error e) {
      visible.remove(object.key, object);
      throw e;
    }
    reserved.remove(object.key);
    object.visible = true;
    liveObjects++;
    liveBytes += object.size;
    unpin(object);
  }

  /** Gives up a reserved object. */
  void abandon(StoredObject object) {
    reserved.remove(object.key);
    usedBytes -= object.size;
    slabs.free(object.blocks);
  }

  /** Keeps an object and its memory until {@link #unpin}. */
  void pin(StoredObject object) {
    if (object.pins++ == 0) {
      evictable.remove(object);
    }
  }

  /** Lets go of an object; it is now the one used last, or, if removed and unread, gone. */
  void unpin(StoredObject object) {
    if (--object.pins > 0) {
      return;
    }
    if (object.visible) {
      evictable.add(object);
    } else {
      free(object);
    }
  }

  /** Takes an object out of view. */
  void remove(StoredObject object) {
    visible.remove(object.key);
    object.visible = false;
    if (object.pins == 0) {
      evictable.remove(object);
      free(object);
    }
  }

  /** Returns the visible objects, as they come and go while they are looked at by any thread. */
  Iterable<StoredObject> visible() {
    return visible.values();
  }

  /** Forgets everything. */
  void drop() {
    visible.clear();
    liveObjects = 0;
    liveBytes = 0;
    usedBytes = 0;
  }

  /** Returns the objects that are visible or still read. */
  long liveObjects() {
    return liveObjects;
  }

  /** Returns the sum of their sizes. */
  long liveBytes() {
    return liveBytes;
  }

  /** Returns the bytes that count against the budget: live ones and reserved ones. */
  long usedBytes() {
    return usedBytes;
  }

  /** Returns the objects evicted so far. */
  long evicted() {
    return evicted;
  }

  private void free(StoredObject object) {
    usedBytes -= object.size;
    liveObjects--;
    liveBytes -= object.size;
    slabs.free(object.blocks);
  }
}
