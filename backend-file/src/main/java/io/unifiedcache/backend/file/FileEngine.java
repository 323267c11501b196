package io.unifiedcache.backend.file;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder that is a store, as this process has it open: its index, its log, its segments.
 *
 * <p>Thread-safe. What may read or write files is called by threads of the store alone.
 */
final class FileEngine {
  private static final Logger LOG = LoggerFactory.getLogger(FileEngine.class);

  private final Disk disk;
  private final FolderLock folder;
  private final Path root;
  private final Segments segments;
  private final ExtentIo io;

  private final Extents extents;
  private final Index index;
  private final Generations generations;

  private final ReentrantLock state = new ReentrantLock();

  /** Signalled when objects that were leaving are gone, or stay. */
  private final Condition settled = state.newCondition();

  private final SharedLog log;
  private final Space space;
  private final Upkeep upkeep;

  /** Whether what others left was cleaned up, as stores need it. */
  private boolean begun;

  /**
   * Opens a folder that this process has locked.
   *
   * @param lanes how many segments of this process are to be written at the same time
   * @param create whether to begin a log if none can be read
   * @throws IOException if the folder cannot be used, with a sentence that says why
   */
  FileEngine(Disk disk, FolderLock folder, Job job, int lanes, boolean create)
      throws IOException, LateException {
    this.disk = disk;
    this.folder = folder;
    this.root = folder.root();
    long self =
        ThreadLocalRandom.current().nextLong(FolderLock.LEAST_WRITER, FolderLock.MOST_WRITER);
    generations = new Generations((int) self);
    extents = new Extents(lanes);
    index = new Index(extents, self);
    segments = new Segments(disk, root, folder.access());
    io = new ExtentIo(segments, folder.store());
    log = new SharedLog(disk, folder, self, segments, index, state, job, create);
    space = new Space(log, disk, folder, self, segments, index, extents, state);
    upkeep = new Upkeep(log, space, index, state, root);
  }

  /** Makes ready for a store: cleans up what others left, and evicts what is over its budget. */
  void begin(Job job, Tuning tuning) throws IOException, LateException {
    log.publish(
        job,
        () -> {
          if (!begun) {
            space.dropLost();
            space.takeOver();
            deleteLeftovers();
            boolean unused = log.keepRoom();
            begun = true;
          }
          space.keepWithin(tuning.capacity(), tuning.flush());
        });
  }

  private void deleteLeftovers() throws IOException {
    for (String name : disk.names(root)) {
      int segment = FileNames.asSegment(name);
      long number = FileNames.asLog(name);
      if (name.endsWith(FileNames.TEMPORARY)) {
        disk.delete(root.resolve(name));
      } else if (number >= 0) {
        log.deleteOld(number);
      } else if (segment >= 0 && !index.segments().containsKey(segment)) {
        // Of a number that the log knows it says that it is gone; what was never named is empty.
        if (segment < index.nextSegment() || segments.size(segment) == 0) {
          disk.delete(root.resolve(name));
        } else {
          log.setAside(name);
          index.useNumber(segment);
        }
      }
    }
  }

  /**
   * Returns whether it is known, without waiting for anything, that the index is what the log says.
   * Any thread may ask, interrupted or not.
   */
  boolean isCurrent() {
    return log.isCurrent();
  }

  /** Learns what others have changed. */
  void catchUp() throws IOException {
    log.catchUp();
  }

  /**
   * Makes what others may have been told of survive a loss of power, should that not be certain.
   */
  void prove(Job job) throws IOException, LateException {
    log.prove(job);
  }

  /** What was seen of a store that was asked to show that it works. */
  enum Probed {
    /** Objects can be stored and read. */
    WORKS,
    /** Files of segments were gone, and their objects are forgotten. */
    LOST_FILES,
    /** No object can be stored, since the disk has less room than it is to be left. */
    NO_ROOM
  }

  /**
   * Does what a put does, but for the object.
   *
   * @throws IOException if that fails
   */
  Probed probe(Job job, Tuning tuning) throws IOException, LateException {
    Probed[] seen = {Probed.WORKS};
    log.publish(
        job,
        () -> {
          if (!space.dropLost().isEmpty()) {
            seen[0] = Probed.LOST_FILES;
          } else if (!space.mayStore(tuning)) {
            seen[0] = Probed.NO_ROOM;
          }
        });
    return seen[0];
  }

  // Reading.

  /** Tells whether an object can be found. Any thread may ask. */
  boolean contains(ObjectKey key) {
    return index.contains(key);
  }

  /** Returns the object of a key, if it can be found. Any thread may ask. */
  @Nullable StoredObject find(ObjectKey key) {
    return index.find(key);
  }

  /** Returns the keys under a prefix. Any thread may ask. */
  List<ObjectKey> under(KeyPrefix prefix) {
    return index.under(prefix);
  }

  /**
   * Finds objects, makes them the ones used last, and keeps their extents until {@link #unpin}.
   * Files are not touched.
   *
   * @return for each key its object, or null
   */
  @Nullable StoredObject[] pin(List<ObjectKey> keys) {
    return Objects.requireNonNull(pin(keys, /* mayWait= */ true));
  }

  /** Does the same, but returns null where it would have to wait for the log to be written. */
  @Nullable StoredObject @Nullable [] tryPin(List<ObjectKey> keys) {
    return pin(keys, /* mayWait= */ false);
  }

  private @Nullable StoredObject @Nullable [] pin(List<ObjectKey> keys, boolean mayWait) {
    @Nullable StoredObject[] found = new @Nullable StoredObject[keys.size()];
    state.lock();
    try {
      if (!mayWait && keys.stream().anyMatch(this::isLeaving)) {
        return null;
      }
      // From the last to the first, so that the first is the one used last.
      for (int i = keys.size() - 1; i >= 0; i--) {
        StoredObject object = findSettled(keys.get(i));
        if (object != null) {
          index.pin(object);
          index.touch(object);
          found[i] = object;
        }
      }
    } finally {
      state.unlock();
    }
    return found;
  }

  private boolean isLeaving(ObjectKey key) {
    StoredObject object = index.find(key);
    return object != null && object.leaving;
  }

  /** Waits while it is being decided whether an object goes; that takes one write to the log. */
  private @Nullable StoredObject findSettled(ObjectKey key) {
    StoredObject object = index.find(key);
    while (object != null && object.leaving) {
      settled.awaitUninterruptibly();
      object = index.find(key);
    }
    return object;
  }

  /** Makes objects the ones used last. Files are not touched. */
  void touch(List<ObjectKey> keys) {
    state.lock();
    try {
      for (ObjectKey key : keys.reversed()) {
        StoredObject object = index.find(key);
        if (object != null) {
          index.touch(object);
        }
      }
    } finally {
      state.unlock();
    }
  }

  /** Keeps the extents of objects that are pinned already. */
  void pinAgain(List<StoredObject> objects) {
    state.lock();
    try {
      objects.forEach(index::pin);
    } finally {
      state.unlock();
    }
  }

  /** Keeps the extents of those of some objects that are still live, and returns which they are. */
  StoredObject[] pinLive(List<StoredObject> objects) {
    state.lock();
    try {
      StoredObject[] live =
          objects.stream().filter(object -> object.live).toArray(StoredObject[]::new);
      List.of(live).forEach(index::pin);
      return live;
    } finally {
      state.unlock();
    }
  }

  /** Lets go of objects. */
  void unpin(@Nullable StoredObject[] objects) {
    state.lock();
    try {
      for (StoredObject object : objects) {
        if (object != null) {
          index.unpin(object);
        }
      }
    } finally {
      state.unlock();
    }
  }

  /** Returns what copies bytes between memory and extents. */
  ExtentIo io() {
    return io;
  }

  /**
   * Tells whether what was read of an object while it was pinned is the object. It is if the object
   * was still there afterwards, or if its extent is this process's own and so was kept.
   */
  boolean wasKept(StoredObject object) {
    state.lock();
    try {
      return object.live || (object.own && extents.owns(object.segment));
    } finally {
      state.unlock();
    }
  }

  // Putting.

  /** Makes an object that has a place but cannot be found; null if there is no room. */
  @Nullable StoredObject place(ObjectKey key, long size, Job job, Tuning tuning)
      throws IOException, LateException {
    int blockBytes = tuning.checksum() ? ExtentHeader.blockBytes(size) : 0;
    int headerBytes = ExtentHeader.bytes(ExtentHeader.utf8(key).length, size, blockBytes);
    Extents.Place place = space.allocate(ExtentHeader.extentBytes(headerBytes, size), job, tuning);
    if (place == null) {
      return null;
    }
    long generation = generations.next(Instant.now(), index.latestGeneration());
    StoredObject object =
        new StoredObject(
            key,
            generation,
            place.segment(),
            place.offset(),
            headerBytes,
            size,
            Generations.seconds(generation));
    object.know(blockBytes, new int[(int) ExtentHeader.sums(size, blockBytes)]);
    object.failures = segments.failures(place.segment());
    return object;
  }

  /** Gives up an object that was placed and never published. */
  void abandon(StoredObject object) {
    state.lock();
    try {
      extents.release(object.segment, object.offset, object.extentBytes());
    } finally {
      state.unlock();
    }
  }

  /** Does not use more of the disk, which is full, but the room of objects that are evicted. */
  void keepToWritten() {
    space.keepToWritten();
  }

  /** What became of an object that was to be published. */
  enum Published {
    /** All can find it. */
    OK,
    /** Somebody else's was there. */
    PRESENT,
    /** There is no room for it beside what is in use. */
    NO_ROOM
  }

  /**
   * Makes objects findable whose extents are written, all of them in one step, and evicts others so
   * that the budget is kept.
   *
   * <p>The room of those that are not {@linkplain StoredObject#published published} is for the
   * caller to {@linkplain #abandon give back}, also if this throws.
   *
   * @return for each what became of it
   */
  Published[] publish(List<StoredObject> objects, Job job, Tuning tuning)
      throws IOException, LateException {
    if (tuning.flush()) {
      Set<Integer> written = new HashSet<>();
      objects.forEach(object -> written.add(object.segment));
      for (int segment : written) {
        segments.force(segment);
      }
      for (StoredObject object : objects) {
        if (segments.failures(object.segment) != object.failures) {
          throw new IOException(
              "bytes of "
                  + FileNames.segment(object.segment)
                  + " were lost on their way to the disk, and have to be written again");
        }
      }
    }
    Published[] outcome = new Published[objects.size()];
    log.publish(job, () -> publish(objects, outcome, tuning));
    return outcome;
  }

  private void publish(List<StoredObject> objects, Published[] outcome, Tuning tuning)
      throws IOException {
    requireFiles(objects);
    List<LogEntry> entries = new ArrayList<>();
    List<StoredObject> victims = new ArrayList<>();
    List<StoredObject> added = new ArrayList<>();
    state.lock();
    try {
      decide(objects, outcome, tuning, victims, added);
      victims.forEach(victim -> victim.leaving = true);
    } finally {
      state.unlock();
    }
    victims.forEach(
        victim -> entries.add(new LogEntry.Remove(victim.key, victim.generation, true)));
    int evictions = entries.size();
    added.forEach(object -> entries.add(LogEntry.Put.of(object)));
    if (entries.isEmpty()) {
      return;
    }
    try {
      log.change(
          entries,
          tuning.flush(),
          () -> {
            entries.subList(0, evictions).forEach(index::apply);
            // From the last to the first, so that the first is the one used last.
            for (StoredObject object : added) {
              object.published = true;
              object.own = true;
            }
            added.reversed().forEach(index::add);
          });
    } catch (IOException | RuntimeException | Error e) {
      state.lock();
      try {
        index.doubt(added);
      } finally {
        state.unlock();
      }
      throw e;
    } finally {
      state.lock();
      try {
        victims.forEach(victim -> victim.leaving = false);
        settled.signalAll();
      } finally {
        state.unlock();
      }
    }
  }

  /** Fails if segments that objects were written to have been deleted, and forgets those. */
  private void requireFiles(List<StoredObject> objects) throws IOException {
    Set<Integer> written = new TreeSet<>();
    objects.forEach(object -> written.add(object.segment));
    for (int segment : written) {
      if (segments.isLost(segment)) {
        throw new IOException(
            "files that objects were written to are gone from %s: %s"
                .formatted(
                    root, space.dropLost().stream().map(FileNames::segment).sorted().toList()));
      }
    }
  }

  private void decide(
      List<StoredObject> objects,
      Published[] outcome,
      Tuning tuning,
      List<StoredObject> victims,
      List<StoredObject> added)
      throws IOException {
    Set<ObjectKey> keys = new HashSet<>();
    long bytes = index.liveBytes() + index.lingeringBytes();
    StoredObject next = index.oldest();
    for (int i = 0; i < outcome.length; i++) {
      StoredObject object = objects.get(i);
      if (!extents.owns(object.segment)) {
        throw new IOException(
            FileNames.segment(object.segment) + " has been given to another process meanwhile");
      }
      extents.wrote(object.segment, object.end());
      StoredObject there = index.find(object.key);
      if (there != null || !keys.add(object.key)) {
        outcome[i] = Published.PRESENT;
        if (there != null) {
          index.touch(there);
        }
      } else {
        int chosen = victims.size();
        StoredObject before = next;
        long freed = 0;
        while (bytes - freed + object.size > tuning.capacity() && next != null) {
          if (next.pins == 0) {
            victims.add(next);
            freed += next.size;
          }
          next = next.newer;
        }
        if (bytes - freed + object.size > tuning.capacity()) {
          // Nothing is evicted for what finds no room all the same.
          victims.subList(chosen, victims.size()).clear();
          next = before;
          outcome[i] = Published.NO_ROOM;
        } else {
          bytes += object.size - freed;
          added.add(object);
          outcome[i] = Published.OK;
        }
      }
    }
  }

  // Removing.

  /** Removes objects; returns for each key whether there was one. */
  BitSet remove(List<ObjectKey> keys, Job job, boolean flush) throws IOException, LateException {
    BitSet there = new BitSet();
    log.publish(
        job,
        () -> {
          List<LogEntry> entries = new ArrayList<>();
          Set<ObjectKey> seen = new HashSet<>();
          for (int i = 0; i < keys.size(); i++) {
            StoredObject object = index.find(keys.get(i));
            if (object != null && seen.add(object.key)) {
              there.set(i);
              entries.add(new LogEntry.Remove(object.key, object.generation, false));
            }
          }
          log.change(entries, flush);
        });
    return there;
  }

  /** Removes objects that are no use to anybody, unless others have taken their places. */
  void drop(List<StoredObject> damaged, Job job) throws IOException, LateException {
    log.publish(
        job,
        () -> {
          List<LogEntry> entries = new ArrayList<>();
          for (StoredObject object : damaged) {
            if (object.live) {
              LOG.warn("object {} of {} is damaged and dropped", object.key, root);
              entries.add(new LogEntry.Remove(object.key, object.generation, false));
            }
          }
          log.change(entries, /* flush= */ false);
        });
  }

  /** Removes the objects under a prefix; returns how many there were. */
  long clear(KeyPrefix prefix, Job job, boolean flush) throws IOException, LateException {
    long[] count = new long[1];
    log.publish(
        job,
        () -> {
          count[0] = index.under(prefix).size();
          log.change(count[0] > 0 ? List.of(new LogEntry.Clear(prefix.value())) : List.of(), flush);
        });
    return count[0];
  }

  // The state of things.

  /** What there is. */
  record Counts(long objects, long liveBytes, long evicted) {}

  /** Returns what there is, as far as it is known without asking. */
  Counts counts() {
    state.lock();
    try {
      return new Counts(
          index.objects() + index.lingeringObjects(),
          index.liveBytes() + index.lingeringBytes(),
          index.evicted());
    } finally {
      state.unlock();
    }
  }

  /** Returns the live objects, in the order in which they lie in the segments. */
  List<StoredObject> objects() {
    List<StoredObject> objects = index.live();
    objects.sort(
        Comparator.<StoredObject>comparingInt(object -> object.segment)
            .thenComparingLong(object -> object.offset));
    return objects;
  }

  /** Returns the segments, by number, as the log tells. */
  SortedMap<Integer, Index.Segment> segments() {
    state.lock();
    try {
      return new TreeMap<>(index.segments());
    } finally {
      state.unlock();
    }
  }

  /** Returns the files of the segments. */
  Segments files() {
    return segments;
  }

  /** Returns the log. */
  SharedLog log() {
    return log;
  }

  /** Tells whether a writer that has segments is dead. */
  boolean isDead(long writer) throws IOException {
    return space.isDead(writer);
  }

  /** Returns the lowest number that no segment has ever had, as far as the log was read. */
  int nextSegment() {
    state.lock();
    try {
      return index.nextSegment();
    } finally {
      state.unlock();
    }
  }

  /** Does not use more of the disk where so many bytes more would leave it too little. */
  void spareDisk(long bytes, Tuning tuning) {
    if (space.bytesShort(tuning) + bytes > 0) {
      keepToWritten();
    }
  }

  /** Returns what is done now and then. */
  Upkeep upkeep() {
    return upkeep;
  }

  /** Returns the directory. */
  Path root() {
    return root;
  }

  /** Returns the identity of the file that makes it a store. */
  Object identity() {
    return folder.identity();
  }

  /** Closes the files; nobody uses the engine any more. */
  void close() {
    if (begun) {
      upkeep.last();
    }
    closeFiles();
  }

  /** Closes the files, and leaves them as they are. */
  void closeFiles() {
    close(space);
    close(segments);
    close(log);
  }

  private void close(Closeable file) {
    try {
      file.close();
    } catch (IOException e) {
      LOG.warn("a file of {} cannot be closed", root, e);
    }
  }
}
