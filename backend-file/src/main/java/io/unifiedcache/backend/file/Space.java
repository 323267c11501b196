package io.unifiedcache.backend.file;

import io.unifiedcache.backend.file.Job.LateException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where new objects go: the segments of this process, those of dead writers, new ones, or the room
 * of objects that are evicted.
 *
 * <p>Thread-safe. What changes the index is called within {@link SharedLog#publish}.
 */
final class Space implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(Space.class);

  private final SharedLog log;
  private final Disk disk;
  private final FolderLock folder;
  private final Path root;
  private final long self;
  private final Segments segments;
  private final Index index;
  private final Extents extents;
  private final ReentrantLock state;

  /** Whether others are told that this process lives, as they are while it has segments. */
  private boolean writing;

  Space(
      SharedLog log,
      Disk disk,
      FolderLock folder,
      long self,
      Segments segments,
      Index index,
      Extents extents,
      ReentrantLock state) {
    this.log = log;
    this.disk = disk;
    this.folder = folder;
    this.root = folder.root();
    this.self = self;
    this.segments = segments;
    this.index = index;
    this.extents = extents;
    this.state = state;
  }

  /** Takes a place for so many bytes; null if there is none. */
  Extents.@Nullable Place allocate(long bytes, Job job, Tuning tuning)
      throws IOException, LateException {
    Extents.Place place = take(bytes, tuning.flush());
    if (place != null) {
      return place;
    }
    Extents.@Nullable Place[] taken = new Extents.@Nullable Place[1];
    log.publish(job, () -> taken[0] = makeRoom(bytes, tuning));
    return taken[0];
  }

  private Extents.@Nullable Place makeRoom(long bytes, Tuning tuning) throws IOException {
    boolean flush = tuning.flush();
    Extents.Place place = take(bytes, flush);
    if (place == null && takeOver()) {
      place = take(bytes, flush);
    }
    if (place == null && mayGrow(bytes, tuning)) {
      addSegment(Math.max(tuning.segmentBytes(), bytes), flush);
      while (!fillsLanes() && mayGrow(tuning.segmentBytes(), tuning)) {
        addSegment(tuning.segmentBytes(), flush);
      }
      place = take(bytes, flush);
    }
    return place == null ? evictFor(bytes, flush) : place;
  }

  /**
   * Takes a place, if there is one.
   *
   * @param flush whether what is written there is to survive a loss of power, so that the object
   *     that was there must not come back
   */
  private Extents.@Nullable Place take(long bytes, boolean flush) throws IOException {
    while (true) {
      state.lock();
      try {
        if (!flush || log.hasForcedRemovals()) {
          return extents.allocate(bytes);
        }
      } finally {
        state.unlock();
      }
      log.forceRemovals();
    }
  }

  private boolean mayGrow(long bytes, Tuning tuning) {
    if (disk.usableBytes(root) - bytes < tuning.minFree()) {
      return false;
    }
    state.lock();
    try {
      // What is larger than all segments would not fit however much is evicted.
      return extents.largest() < bytes || bytesOver(tuning) + bytes <= 0;
    } finally {
      state.unlock();
    }
  }

  /** Returns how many bytes the segments of all processes have more than they are to have. */
  long bytesOver(Tuning tuning) {
    return index.segments().values().stream().mapToLong(Index.Segment::bytes).sum()
        - tuning.mostSegmentBytes(index.writers().size());
  }

  /** Returns how many segments this process has. */
  int owned() {
    state.lock();
    try {
      return extents.count();
    } finally {
      state.unlock();
    }
  }

  private boolean fillsLanes() {
    state.lock();
    try {
      return extents.fillsLanes();
    } finally {
      state.unlock();
    }
  }

  private void addSegment(long bytes, boolean flush) throws IOException {
    lockWriter();
    int number = newNumber();
    segments.create(number);
    LogEntry segment = new LogEntry.Segment(number, bytes, self);
    try {
      log.change(
          List.of(segment),
          flush,
          () -> {
            index.apply(segment);
            extents.add(number, bytes, /* written= */ 0);
          });
    } catch (IOException | RuntimeException | Error e) {
      if (!owns(number)) {
        deleteFile(number);
      }
      throw e;
    }
  }

  /** Returns a number that no segment has ever had, also if this one does not come to be. */
  private int newNumber() throws IOException {
    state.lock();
    try {
      int number = index.nextSegment();
      while (segments.size(number) >= 0) {
        number++;
      }
      if (!Segments.isNumber(number)) {
        throw new IOException("there is no number left for another segment");
      }
      index.useNumber(number);
      return number;
    } finally {
      state.unlock();
    }
  }

  private boolean owns(int segment) {
    state.lock();
    try {
      return extents.owns(segment);
    } finally {
      state.unlock();
    }
  }

  private void lockWriter() throws IOException {
    if (!writing) {
      folder.lockWriter(self);
      writing = true;
    }
  }

  /**
   * Makes the segments of dead writers this process's own.
   *
   * @return whether there were any
   */
  boolean takeOver() throws IOException {
    Map<Integer, Long> orphans = new LinkedHashMap<>();
    List<LogEntry> entries = new ArrayList<>();
    for (long writer : index.writers()) {
      if (isDead(writer)) {
        index
            .segments()
            .forEach(
                (number, segment) -> {
                  if (segment.writer() == writer) {
                    orphans.put(number, segment.bytes());
                    entries.add(new LogEntry.Segment(number, segment.bytes(), self));
                  }
                });
      }
    }
    if (orphans.isEmpty()) {
      return false;
    }
    lockWriter();
    Map<Integer, Long> written = new HashMap<>();
    for (int number : orphans.keySet()) {
      written.put(number, Math.max(0, segments.size(number)));
    }
    List<LogEntry> overlapping = new ArrayList<>();
    log.change(
        entries,
        /* flush= */ false,
        () -> {
          entries.forEach(index::apply);
          orphans.forEach(
              (number, bytes) -> extents.add(number, bytes, written.getOrDefault(number, 0L)));
          List<StoredObject> objects = index.in(orphans.keySet());
          objects.sort(Comparator.comparingLong(object -> object.offset));
          for (StoredObject object : objects) {
            // What is gone and still read was its last owner's to give away.
            object.own = object.live;
            if (!extents.take(object.segment, object.offset, object.extentBytes())) {
              object.overlaps = true;
              overlapping.add(new LogEntry.Remove(object.key, object.generation, false));
            }
          }
        });
    log.change(overlapping, /* flush= */ false);
    return true;
  }

  /** Returns whether a writer that has segments is dead. */
  boolean isDead(long writer) throws IOException {
    return writer != self && !folder.isAlive(writer);
  }

  /** Evicts objects of this process's own segments until there is a place for so many bytes. */
  private Extents.@Nullable Place evictFor(long bytes, boolean flush) throws IOException {
    // Nothing is evicted for an object that could not be told of afterwards.
    while (log.keepRoom()) {
      List<LogEntry> entries = new ArrayList<>();
      long freed = 0;
      state.lock();
      try {
        for (StoredObject object = index.oldest();
            object != null && freed < bytes;
            object = object.newer) {
          if (object.pins == 0 && extents.owns(object.segment)) {
            freed += object.extentBytes();
            entries.add(new LogEntry.Remove(object.key, object.generation, /* evicted= */ true));
          }
        }
      } finally {
        state.unlock();
      }
      if (entries.isEmpty()) {
        return null;
      }
      log.change(entries, flush);
      Extents.Place place = take(bytes, flush);
      if (place != null) {
        return place;
      }
    }
    return null;
  }

  /** Evicts the objects unused for longest until the live ones have no more than so many bytes. */
  void keepWithin(long bytes, boolean flush) throws IOException {
    List<LogEntry> entries = new ArrayList<>();
    state.lock();
    try {
      long left = index.liveBytes() - bytes;
      for (StoredObject object = index.oldest();
          object != null && left > 0;
          object = object.newer) {
        left -= object.size;
        entries.add(new LogEntry.Remove(object.key, object.generation, /* evicted= */ true));
      }
    } finally {
      state.unlock();
    }
    log.change(entries, flush);
  }

  /** Evicts what is in the segment of this process that has the least in it. */
  void evictSegment() throws IOException {
    List<LogEntry> entries = new ArrayList<>();
    state.lock();
    try {
      Integer emptiest = extents.emptiest();
      if (emptiest != null) {
        for (StoredObject object : index.in(Set.of(emptiest))) {
          if (object.live) {
            entries.add(new LogEntry.Remove(object.key, object.generation, /* evicted= */ true));
          }
        }
      }
    } finally {
      state.unlock();
    }
    log.change(entries, /* flush= */ false);
  }

  /** Deletes segments of this process that nothing is in. */
  void deleteEmpty() throws IOException {
    List<Integer> empty;
    state.lock();
    try {
      empty = extents.empty();
      empty.forEach(extents::withhold);
    } finally {
      state.unlock();
    }
    List<LogEntry> entries = new ArrayList<>();
    empty.forEach(number -> entries.add(new LogEntry.Gone(number)));
    try {
      log.change(entries, /* flush= */ false);
    } finally {
      reopen(empty);
    }
    empty.forEach(this::deleteFile);
  }

  /**
   * Deletes the file of a segment that the log does not name; if that fails, the next opening does.
   */
  private void deleteFile(int segment) {
    try {
      segments.delete(segment);
    } catch (IOException e) {
      LOG.warn("the file of segment {} of {} cannot be deleted yet", segment, root, e);
    }
  }

  /** Places objects again in segments that were withheld, unless they are gone. */
  private void reopen(List<Integer> withheld) {
    state.lock();
    try {
      withheld.forEach(extents::reopen);
    } finally {
      state.unlock();
    }
  }

  /**
   * Forgets objects whose files are gone or too short; no object is read.
   *
   * @return the segments whose files are gone
   */
  Set<Integer> dropLost() throws IOException {
    Map<Integer, Long> sizes = new HashMap<>();
    Set<Integer> gone = new HashSet<>();
    for (int number : List.copyOf(index.segments().keySet())) {
      if (segments.isLost(number)) {
        gone.add(number);
      } else {
        sizes.put(number, segments.size(number));
      }
    }
    List<LogEntry> lost = new ArrayList<>();
    state.lock();
    try {
      for (StoredObject object = index.oldest(); object != null; object = object.newer) {
        if (object.end() > sizes.getOrDefault(object.segment, -1L)) {
          lost.add(new LogEntry.Remove(object.key, object.generation, /* evicted= */ false));
        }
      }
    } finally {
      state.unlock();
    }
    if (!lost.isEmpty()) {
      LOG.warn("{} objects of {} are lost: their segment files are gone or cut", lost.size(), root);
    }
    gone.forEach(number -> lost.add(new LogEntry.Gone(number)));
    log.change(lost, /* flush= */ false);
    for (int number : gone) {
      segments.forget(number);
    }
    return gone;
  }

  /** Returns whether an object may find room, be it that of others. */
  boolean mayStore(Tuning tuning) {
    if (disk.usableBytes(root) > tuning.minFree()) {
      return true;
    }
    state.lock();
    try {
      return extents.largest() > 0;
    } finally {
      state.unlock();
    }
  }

  /** Does not use more of the disk, which is full, but the room of objects that are evicted. */
  void keepToWritten() {
    state.lock();
    try {
      extents.keepToWritten();
    } finally {
      state.unlock();
    }
  }

  /** Returns how many bytes the disk has less than it is to be left. */
  long bytesShort(Tuning tuning) {
    return tuning.minFree() - disk.usableBytes(root);
  }

  /** Gives up the segments of this process to whoever needs them. */
  @Override
  public void close() throws IOException {
    if (writing) {
      writing = false;
      folder.unlockWriter(self);
    }
  }
}
