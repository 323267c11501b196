package io.unifiedcache.backend.file;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What the log says: which objects there are and where, which segments there are and whose.
 *
 * <p>All processes read the same log and so have the same index, each as far as it has read. Not
 * thread-safe, but for {@link #contains}, {@link #under} and {@link #live}.
 */
final class Index {
  /** A segment, as the log tells. */
  record Segment(long bytes, long writer) {}

  private final ConcurrentHashMap<ObjectKey, StoredObject> live = new ConcurrentHashMap<>();
  private final Recency recency = new Recency();
  private final Map<Integer, Segment> segments = new HashMap<>();

  /** Objects that are gone, but still read by this process. */
  private final Set<StoredObject> lingering = new HashSet<>();

  private final Extents extents;
  private final long self;

  /** Objects that were to be published, of which it is not known whether the log names them. */
  private final Map<Long, StoredObject> inDoubt = new HashMap<>();

  /** Segments of lower numbers have been used. */
  private int nextSegment = 1;

  /** The latest generation of any object that there has been, as far as it is known. */
  private volatile long latestGeneration;

  private long liveBytes;
  private long lingeringBytes;
  private long keyBytes;
  private long evicted;

  /**
   * Creates an index.
   *
   * @param extents the free space of this process's own segments, to which extents return
   * @param self this process, as a writer
   */
  Index(Extents extents, long self) {
    this.extents = extents;
    this.self = self;
  }

  /** Tells whether an object can be found. Any thread may ask. */
  boolean contains(ObjectKey key) {
    return live.containsKey(key);
  }

  /** Returns the object of the key, if it can be found. */
  @Nullable StoredObject find(ObjectKey key) {
    return live.get(key);
  }

  /** Returns the keys under a prefix. Any thread may ask. */
  List<ObjectKey> under(KeyPrefix prefix) {
    List<ObjectKey> found = new ArrayList<>();
    for (ObjectKey key : live.keySet()) {
      if (prefix.matches(key)) {
        found.add(key);
      }
    }
    return found;
  }

  /** Returns the live objects, in no order. Any thread may ask. */
  List<StoredObject> live() {
    return new ArrayList<>(live.values());
  }

  /** Makes an object the one used last. */
  void touch(StoredObject object) {
    if (object.live) {
      object.touched = true;
      recency.remove(object);
      recency.add(object);
    }
  }

  /** Keeps the extent of an object until {@link #unpin}. */
  void pin(StoredObject object) {
    object.pins++;
  }

  /** Lets go of an object. */
  void unpin(StoredObject object) {
    if (--object.pins == 0 && !object.live) {
      lingering.remove(object);
      lingeringBytes -= object.size;
      release(object);
    }
  }

  /** Applies what the log says. */
  void apply(LogEntry entry) {
    switch (entry) {
      case LogEntry.Put put -> {
        noteGeneration(put.generation());
        addRead(put.object());
      }
      case LogEntry.Remove remove -> {
        StoredObject object = live.get(remove.key());
        if (object != null && object.generation == remove.generation()) {
          retire(object);
          evicted += remove.evicted() ? 1 : 0;
        }
      }
      case LogEntry.Clear clear -> {
        for (StoredObject object : List.copyOf(live.values())) {
          if (object.key.value().startsWith(clear.prefix())) {
            retire(object);
          }
        }
      }
      case LogEntry.Segment segment -> {
        segments.put(segment.segment(), new Segment(segment.bytes(), segment.writer()));
        useNumber(segment.segment());
        if (segment.writer() != self) {
          extents.drop(segment.segment());
        }
      }
      case LogEntry.Gone gone -> {
        segments.remove(gone.segment());
        extents.drop(gone.segment());
        for (StoredObject object : List.copyOf(live.values())) {
          if (object.segment == gone.segment()) {
            retire(object);
          }
        }
      }
      case LogEntry.NextSegment next -> {
        useNumber(next.segment() - 1);
        noteGeneration(next.generation());
      }
      case LogEntry.Touch touch -> {
        StoredObject object = live.get(touch.key());
        if (object != null) {
          recency.remove(object);
          recency.add(object);
        }
      }
      case LogEntry.Continued continued -> {
        // Says nothing about objects.
      }
    }
  }

  /** Returns the lowest number that no segment has ever had. */
  int nextSegment() {
    return nextSegment;
  }

  /**
   * Returns the latest generation of any object that there has been, as far as it is known. Any
   * thread may ask.
   */
  long latestGeneration() {
    return latestGeneration;
  }

  /** Lets the objects of later puts have later generations. */
  void noteGeneration(long generation) {
    latestGeneration = Generations.later(latestGeneration, generation);
  }

  /** Lets no other segment have this number. */
  void useNumber(int segment) {
    nextSegment = Math.max(nextSegment, segment + 1);
  }

  /**
   * Keeps the extents of objects whose publishing has failed, until the log has been read to its
   * end: it may name them all the same.
   */
  void doubt(List<StoredObject> objects) {
    for (StoredObject object : objects) {
      object.published = true;
      object.own = true;
      if (!object.live) {
        inDoubt.put(object.generation, object);
      }
    }
  }

  /** Gives back the extents of objects that the log, read to its end, does not name. */
  void settleDoubts() {
    inDoubt
        .values()
        .forEach(object -> extents.release(object.segment, object.offset, object.extentBytes()));
    inDoubt.clear();
  }

  /** Adds an object that can be found from now on. */
  void add(StoredObject object) {
    StoredObject before = live.get(object.key);
    if (before != null) {
      // No right log says this; the later one is as good as the earlier.
      retire(before);
    }
    noteGeneration(object.generation);
    object.live = true;
    live.put(object.key, object);
    recency.add(object);
    liveBytes += object.size;
    keyBytes += object.key.value().length();
  }

  /** Adds an object of which a log tells; one that overlaps with what is here is none. */
  private void addRead(StoredObject object) {
    StoredObject doubted = inDoubt.get(object.generation);
    if (doubted != null && doubted.key.equals(object.key)) {
      inDoubt.remove(object.generation);
      add(doubted);
    } else if (!extents.owns(object.segment)
        || extents.take(object.segment, object.offset, object.extentBytes())) {
      add(object);
    }
  }

  private void retire(StoredObject object) {
    live.remove(object.key);
    object.live = false;
    object.leaving = false;
    recency.remove(object);
    liveBytes -= object.size;
    keyBytes -= object.key.value().length();
    if (object.pins == 0) {
      release(object);
    } else {
      lingering.add(object);
      lingeringBytes += object.size;
    }
  }

  private void release(StoredObject object) {
    if (!object.overlaps) {
      extents.release(object.segment, object.offset, object.extentBytes());
    }
  }

  /**
   * Becomes equal to another index, which was read anew, without disturbing readers.
   *
   * @param other read by nobody else; its objects become ours
   */
  void become(Index other) {
    for (StoredObject object : List.copyOf(live.values())) {
      StoredObject there = other.live.get(object.key);
      if (there == null || there.generation != object.generation) {
        retire(object);
      }
    }
    for (StoredObject object = other.recency.oldest(); object != null; ) {
      StoredObject next = object.newer;
      object.older = null;
      object.newer = null;
      StoredObject here = live.get(object.key);
      if (here == null) {
        addRead(object);
      } else {
        recency.remove(here);
        recency.add(here);
      }
      object = next;
    }
    useNumber(other.nextSegment - 1);
    noteGeneration(other.latestGeneration);
    segments.keySet().removeIf(segment -> !other.segments.containsKey(segment));
    other.segments.forEach(
        (number, segment) ->
            apply(new LogEntry.Segment(number, segment.bytes(), segment.writer())));
  }

  /** Returns the segments, by number. */
  Map<Integer, Segment> segments() {
    return segments;
  }

  /** Returns the writers that have segments. */
  Set<Long> writers() {
    Set<Long> writers = new HashSet<>();
    segments.values().forEach(segment -> writers.add(segment.writer()));
    return writers;
  }

  /** Returns the live objects of some segments, and those that are gone but still read. */
  List<StoredObject> in(Set<Integer> some) {
    List<StoredObject> found = new ArrayList<>();
    for (StoredObject object : live.values()) {
      if (some.contains(object.segment)) {
        found.add(object);
      }
    }
    for (StoredObject object : lingering) {
      if (some.contains(object.segment)) {
        found.add(object);
      }
    }
    return found;
  }

  /** Returns all that a log has to say for an equal index. */
  List<LogEntry> snapshot() {
    List<LogEntry> entries = new ArrayList<>(1 + segments.size() + live.size());
    entries.add(new LogEntry.NextSegment(nextSegment, latestGeneration));
    segments.forEach(
        (number, segment) ->
            entries.add(new LogEntry.Segment(number, segment.bytes(), segment.writer())));
    for (StoredObject object = recency.oldest(); object != null; object = object.newer) {
      entries.add(LogEntry.Put.of(object));
      object.touched = false;
    }
    return entries;
  }

  /**
   * Returns up to {@code most} of the objects used last since this was asked before, oldest first.
   */
  List<LogEntry> touched(int most) {
    List<LogEntry> entries = new ArrayList<>();
    int looked = 0;
    for (StoredObject object = recency.newest();
        object != null && entries.size() < most && looked < 10 * most;
        object = object.older) {
      looked++;
      if (object.touched) {
        object.touched = false;
        entries.add(new LogEntry.Touch(object.key));
      }
    }
    return entries.reversed();
  }

  /** Returns the object unused for longest, if there is any. */
  @Nullable StoredObject oldest() {
    return recency.oldest();
  }

  /** Returns the live objects. */
  long objects() {
    return live.mappingCount();
  }

  /** Returns the sum of their sizes. */
  long liveBytes() {
    return liveBytes;
  }

  /** Returns the objects that are gone but still read by this process. */
  long lingeringObjects() {
    return lingering.size();
  }

  /** Returns the sum of their sizes. */
  long lingeringBytes() {
    return lingeringBytes;
  }

  /** Returns the objects that were evicted, by whomever. */
  long evicted() {
    return evicted;
  }

  /** Returns about how long a log is that says no more than it has to. */
  long snapshotBytes() {
    return 52 * live.mappingCount() + keyBytes;
  }
}
