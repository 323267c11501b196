package io.unifiedcache.backend.file;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The free space of the segments that this process owns.
 *
 * <p>The smallest free run that is large enough is used, and of equal ones the one freed last,
 * whose pages are likely to be in memory. Free runs that touch become one.
 *
 * <p>Segments are divided into lanes, from which places are taken in turn: a file is written by one
 * thread at a time, whatever the operating system, so that threads are to write different ones.
 *
 * <p>Not thread-safe.
 */
final class Extents {
  /** A free run; the smallest comes first, and of equal ones the one freed last. */
  private record Run(int segment, long offset, long bytes, long freed) implements Comparable<Run> {
    @Override
    public int compareTo(Run other) {
      if (bytes != other.bytes) {
        return Long.compare(bytes, other.bytes);
      }
      if (freed != other.freed) {
        return Long.compare(other.freed, freed);
      }
      return segment != other.segment
          ? Integer.compare(segment, other.segment)
          : Long.compare(offset, other.offset);
    }
  }

  /** A place in a segment. */
  record Place(int segment, long offset) {}

  private final List<Lane> lanes = new ArrayList<>();
  private final Map<Integer, Owned> segments = new HashMap<>();
  private long clock;

  /** Segments that one thread writes while others write those of other lanes. */
  private static final class Lane {
    final TreeSet<Run> bySize = new TreeSet<>();
    int segments;

    /** Bytes of places, compared with those of the other lanes: the least is the next to give. */
    long given;
  }

  /** An owned segment. */
  private static final class Owned {
    final Lane lane;
    final TreeMap<Long, Run> free = new TreeMap<>();
    long takenBytes;

    /** Up to where it was written, as far as is known. */
    long written;

    /** What lies beyond is not used: the disk has no room for it. */
    long usable;

    Owned(Lane lane, long bytes, long written) {
      this.lane = lane;
      this.written = written;
      this.usable = bytes;
    }
  }

  /** Creates the free space of no segments, which are to be divided into so many lanes. */
  Extents(int lanes) {
    for (int i = 0; i < lanes; i++) {
      this.lanes.add(new Lane());
    }
  }

  /** Adds a segment that is free as a whole. */
  void add(int segment, long bytes, long written) {
    if (segments.containsKey(segment)) {
      return;
    }
    Lane lane = Collections.min(lanes, Comparator.comparingInt(each -> each.segments));
    lane.segments++;
    Owned owned = new Owned(lane, bytes, written);
    segments.put(segment, owned);
    insert(owned, segment, 0, bytes, ++clock);
  }

  /** Forgets a segment. */
  void drop(int segment) {
    Owned owned = segments.remove(segment);
    if (owned != null) {
      owned.lane.segments--;
      owned.free.values().forEach(owned.lane.bySize::remove);
    }
  }

  /** Places nothing in a segment that nothing is in, until {@link #reopen}. */
  void withhold(int segment) {
    Owned owned = segments.get(segment);
    if (owned != null) {
      List.copyOf(owned.free.values()).forEach(run -> remove(owned, run));
    }
  }

  /** Places objects again in a segment that was withheld. */
  void reopen(int segment) {
    Owned owned = segments.get(segment);
    if (owned != null && owned.takenBytes == 0 && owned.free.isEmpty()) {
      insert(owned, segment, 0, owned.usable, ++clock);
    }
  }

  /** Tells whether this process owns the segment. */
  boolean owns(int segment) {
    return segments.containsKey(segment);
  }

  /** Takes a given place, as of an object that is there; false if it is not free. */
  boolean take(int segment, long offset, long bytes) {
    Owned owned = segments.get(segment);
    if (owned == null) {
      return false;
    }
    Map.Entry<Long, Run> floor = owned.free.floorEntry(offset);
    if (floor == null) {
      return false;
    }
    Run run = floor.getValue();
    if (offset + bytes > run.offset + run.bytes) {
      return false;
    }
    remove(owned, run);
    owned.takenBytes += bytes;
    insert(owned, segment, run.offset, offset - run.offset, run.freed);
    insert(owned, segment, offset + bytes, run.offset + run.bytes - offset - bytes, run.freed);
    return true;
  }

  /** Takes a place of so many bytes; null if there is none. */
  @Nullable Place allocate(long bytes) {
    Run least = new Run(Integer.MIN_VALUE, 0, bytes, Long.MAX_VALUE);
    Lane giver = null;
    Run run = null;
    for (Lane lane : lanes) {
      Run found = lane.bySize.ceiling(least);
      if (found != null && (giver == null || lane.given < giver.given)) {
        giver = lane;
        run = found;
      }
    }
    if (giver == null || run == null) {
      return null;
    }
    for (Lane lane : lanes) {
      // One that had nothing to give does not have to make up for it.
      lane.given = Math.max(lane.given, giver.given);
    }
    giver.given += bytes;
    Owned owned = segments.get(run.segment);
    if (owned == null) {
      throw new IllegalStateException("a free run of a segment that is not owned");
    }
    remove(owned, run);
    owned.takenBytes += bytes;
    insert(owned, run.segment, run.offset + bytes, run.bytes - bytes, run.freed);
    return new Place(run.segment, run.offset);
  }

  /** Gives a place back, unless its segment is no longer owned. */
  void release(int segment, long offset, long bytes) {
    Owned owned = segments.get(segment);
    if (owned == null) {
      return;
    }
    owned.takenBytes -= bytes;
    bytes = Math.min(bytes, owned.usable - offset);
    if (bytes <= 0) {
      return;
    }
    Map.Entry<Long, Run> before = owned.free.lowerEntry(offset);
    if (before != null && before.getValue().offset + before.getValue().bytes == offset) {
      remove(owned, before.getValue());
      offset = before.getValue().offset;
      bytes += before.getValue().bytes;
    }
    Run after = owned.free.get(offset + bytes);
    if (after != null) {
      remove(owned, after);
      bytes += after.bytes;
    }
    insert(owned, segment, offset, bytes, ++clock);
  }

  /** Notes up to where a segment was written. */
  void wrote(int segment, long end) {
    Owned owned = segments.get(segment);
    if (owned != null) {
      owned.written = Math.max(owned.written, end);
    }
  }

  /** Does not use what was never written, since the disk has no room for it. */
  void keepToWritten() {
    segments.forEach(
        (segment, owned) -> {
          long end = ExtentHeader.padded(owned.written);
          if (end >= owned.usable) {
            return;
          }
          for (Run run : List.copyOf(owned.free.tailMap(end, true).values())) {
            remove(owned, run);
          }
          Map.Entry<Long, Run> last = owned.free.lowerEntry(end);
          if (last != null && last.getValue().offset + last.getValue().bytes > end) {
            Run run = last.getValue();
            remove(owned, run);
            insert(owned, segment, run.offset, end - run.offset, run.freed);
          }
          owned.usable = end;
        });
  }

  /** Returns the segments that nothing is in. */
  List<Integer> empty() {
    List<Integer> empty = new ArrayList<>();
    segments.forEach(
        (segment, owned) -> {
          if (owned.takenBytes == 0) {
            empty.add(segment);
          }
        });
    return empty;
  }

  /** Tells whether there is a segment in each lane. */
  boolean fillsLanes() {
    return segments.size() >= lanes.size();
  }

  /** Returns how many segments there are. */
  int count() {
    return segments.size();
  }

  /** Returns the size of the largest segment, 0 if there is none. */
  long largest() {
    return segments.values().stream().mapToLong(owned -> owned.usable).max().orElse(0);
  }

  /** Returns the segment that has the least in it, if there is any. */
  @Nullable Integer emptiest() {
    Integer emptiest = null;
    long least = Long.MAX_VALUE;
    for (Map.Entry<Integer, Owned> each : segments.entrySet()) {
      if (each.getValue().takenBytes < least) {
        least = each.getValue().takenBytes;
        emptiest = each.getKey();
      }
    }
    return emptiest;
  }

  private void remove(Owned owned, Run run) {
    owned.lane.bySize.remove(run);
    owned.free.remove(run.offset);
  }

  private void insert(Owned owned, int segment, long offset, long bytes, long freed) {
    if (bytes > 0) {
      Run run = new Run(segment, offset, bytes, freed);
      owned.lane.bySize.add(run);
      owned.free.put(offset, run);
    }
  }
}
