package io.unifiedcache.backend.file;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder that is a store, as this process has it open: its index, its log, its segments.
 *
 * <p>Thread-safe. What may read or write files is called by threads of the store alone. Locks, in
 * the order in which they are taken: {@code publishing}, with the lock of the folder for all
 * processes; {@code following}, held while the log is read or added to; {@code state}, for the
 * index and the free space, never held while a file is touched.
 */
final class FileEngine {
  private static final Logger LOG = LoggerFactory.getLogger(FileEngine.class);

  private static final long LOG_SLACK = 4L << 20;
  private static final long LEAST_NAP = TimeUnit.MICROSECONDS.toNanos(20);
  private static final long MOST_NAP = TimeUnit.MILLISECONDS.toNanos(2);

  private final Disk disk;
  private final Path root;
  private final FolderLock folder;
  private final UUID store;
  private final long self;
  private final Segments segments;
  private final ExtentIo io;

  private final Extents extents = new Extents();
  private final Index index;
  private final AtomicLong generations = new AtomicLong(ThreadLocalRandom.current().nextLong());

  private final ReentrantLock publishing = new ReentrantLock();
  private final ReentrantLock following = new ReentrantLock();
  private final ReentrantLock state = new ReentrantLock();

  /** Signalled when objects that were leaving are gone, or stay. */
  private final Condition settled = state.newCondition();

  private final Space space;
  private final Upkeep upkeep;
  private volatile IndexLog log;

  /** Where the log is shortened next at the earliest, since that has failed before. */
  private long compactAt;

  private LogEntry.@Nullable Continued continued;

  /**
   * Opens a folder that this process has locked, and makes it a store if it is empty.
   *
   * @throws IOException if the folder cannot be used, with a sentence that says why
   */
  FileEngine(Disk disk, FolderLock folder, Job job, Tuning tuning)
      throws IOException, LateException {
    this.disk = disk;
    this.folder = folder;
    this.root = folder.root();
    long writer;
    do {
      writer = ThreadLocalRandom.current().nextLong();
    } while (writer == 0);
    self = writer;
    index = new Index(extents, self);
    segments = new Segments(disk, root);
    io = new ExtentIo(segments);
    space = new Space(this, disk, root, self, segments, index, extents, state);
    upkeep = new Upkeep(this, space, index, state);
    lockPublishing(job);
    try {
      UUID found = Superblock.read(disk, root);
      store = found == null ? Superblock.create(disk, root) : found;
      log = load(index);
      try {
        begin(tuning);
      } catch (IOException | RuntimeException | Error e) {
        closeFiles();
        throw e;
      }
    } finally {
      unlockPublishing();
    }
  }

  // Opening.

  /** Finds the log that all follow, or begins one; the publishing lock is held. */
  private IndexLog load(Index into) throws IOException {
    IndexLog found = findLog();
    if (found != null) {
      return found;
    }
    long number = 1 + logs().stream().reduce((a, b) -> b).orElse(0L);
    Path path = root.resolve(FileNames.log(number));
    IndexLog.write(disk, path, number, store, into.snapshot().iterator(), /* flush= */ true);
    disk.forceNames(root);
    IndexLog begun = IndexLog.open(disk, path, number, store);
    if (begun == null) {
      throw new IOException("the index log " + path + " is not what was just written");
    }
    return begun;
  }

  /** Returns the lowest log that is right: a higher one was begun and never taken into use. */
  private @Nullable IndexLog findLog() throws IOException {
    for (long number : logs()) {
      IndexLog found = IndexLog.open(disk, root.resolve(FileNames.log(number)), number, store);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private Set<Long> logs() throws IOException {
    Set<Long> numbers = new TreeSet<>();
    for (String name : disk.names(root)) {
      if (FileNames.asLog(name) >= 0) {
        numbers.add(FileNames.asLog(name));
      }
    }
    return numbers;
  }

  /** Cleans up what others left; the publishing lock is held and the log is read. */
  private void begin(Tuning tuning) throws IOException {
    following.lock();
    try {
      repairIfTorn();
      space.dropLost();
      space.takeOver();
      deleteLeftovers();
      space.keepWithin(tuning);
    } finally {
      following.unlock();
    }
  }

  private void deleteLeftovers() throws IOException {
    for (String name : disk.names(root)) {
      int segment = FileNames.asSegment(name);
      long number = FileNames.asLog(name);
      if (name.endsWith(FileNames.TEMPORARY)
          || (segment >= 0 && !index.segments().containsKey(segment))
          || (number >= 0 && number != log.number())) {
        disk.delete(root.resolve(name));
      } else if (FileNames.isWriter(name)) {
        long writer = FileNames.asWriter(name);
        if (!index.writers().contains(writer)) {
          space.buryIfDead(writer);
        }
      }
    }
  }

  // The log.

  /** Tells whether others may have changed something. Any thread may ask, interrupted or not. */
  boolean hasNews() {
    return log.hasGrown();
  }

  /** Learns what others have changed. */
  void catchUp() throws IOException {
    if (!hasNews()) {
      return;
    }
    try {
      following.lock();
      try {
        boolean unused = follow();
      } finally {
        following.unlock();
      }
    } catch (NoLogException e) {
      // Then what this process knows becomes the log, unless somebody else is at it.
      Job job = new Job();
      job.setLate();
      try {
        publish(job, () -> {});
      } catch (LateException late) {
        throw e;
      }
    }
  }

  /** Reads and applies what was added to the log; false if its end is torn. */
  private boolean follow() throws IOException {
    while (true) {
      IndexLog current = log;
      switch (current.read(this::apply)) {
        case CLEAN -> {
          return true;
        }
        case TORN -> {
          return false;
        }
        case CUT -> {
          return reload();
        }
        case CONTINUED -> goOn();
      }
    }
  }

  private void apply(List<LogEntry> entries) {
    List<Integer> gone = new ArrayList<>();
    state.lock();
    try {
      for (LogEntry entry : entries) {
        index.apply(entry);
        switch (entry) {
          case LogEntry.Gone segment -> gone.add(segment.segment());
          case LogEntry.Continued next -> continued = next;
          default -> {
            // The index knows what to do.
          }
        }
      }
    } finally {
      state.unlock();
    }
    gone.forEach(this::forget);
  }

  private void forget(int segment) {
    try {
      segments.forget(segment);
    } catch (IOException e) {
      LOG.warn("segment {} of {} cannot be closed", segment, root, e);
    }
  }

  /** Goes on in the next log, behind its snapshot, which says what is known already. */
  private void goOn() throws IOException {
    LogEntry.Continued to = continued;
    IndexLog next = to == null ? null : open(to);
    if (next == null) {
      // It, too, has been left for another one.
      reload();
    } else {
      use(next);
    }
  }

  private void use(IndexLog next) throws IOException {
    IndexLog before = log;
    log = next;
    before.close();
  }

  /**
   * Reads the log that is there now from its beginning, without disturbing readers; false if its
   * end is torn.
   */
  private boolean reload() throws IOException {
    for (int attempt = 0; attempt < 10; attempt++) {
      Index fresh = new Index(new Extents(), self);
      boolean[] clean = new boolean[1];
      IndexLog found = readAll(fresh, clean);
      if (found != null) {
        state.lock();
        try {
          index.become(fresh);
        } finally {
          state.unlock();
        }
        use(found);
        return clean[0];
      }
    }
    throw new NoLogException(root);
  }

  /** Reads all that the logs say; null if one of them went away meanwhile, or there is none. */
  private @Nullable IndexLog readAll(Index into, boolean[] clean) throws IOException {
    IndexLog current = findLog();
    while (current != null) {
      LogEntry.@Nullable Continued[] next = new LogEntry.@Nullable Continued[1];
      IndexLog.End end =
          current.read(
              entries -> {
                entries.forEach(into::apply);
                next[0] = entries.getLast() instanceof LogEntry.Continued last ? last : null;
              });
      if (end == IndexLog.End.CLEAN || end == IndexLog.End.TORN) {
        clean[0] = end == IndexLog.End.CLEAN;
        return current;
      }
      current.close();
      LogEntry.Continued to = next[0];
      current = end == IndexLog.End.CUT || to == null ? null : open(to);
    }
    return null;
  }

  private @Nullable IndexLog open(LogEntry.Continued to) throws IOException {
    IndexLog opened = IndexLog.open(disk, root.resolve(FileNames.log(to.log())), to.log(), store);
    if (opened != null) {
      opened.skipTo(to.snapshotEnd());
    }
    return opened;
  }

  /** Changes the index for all; called by a {@link Change}. */
  void change(List<LogEntry> entries, boolean flush) throws IOException {
    if (!entries.isEmpty()) {
      change(entries, flush, () -> entries.forEach(index::apply));
    }
  }

  /**
   * Changes the index for all; called by a {@link Change}.
   *
   * @param applying makes the same changes to the index of this process, with its lock held
   */
  void change(List<LogEntry> entries, boolean flush, Runnable applying) throws IOException {
    long end = log.append(entries);
    IOException unforced = null;
    try {
      if (flush) {
        log.force();
      }
    } catch (IOException e) {
      // Others may have read it by now: it holds, but nobody knows whether it will last.
      unforced = e;
    }
    state.lock();
    try {
      applying.run();
    } finally {
      state.unlock();
    }
    log.skipTo(end);
    if (unforced != null) {
      throw unforced;
    }
  }

  /** What is done while this process alone may change the index. */
  interface Change {
    /** Does it; the index is what all processes agree on, and stays so. */
    void make() throws IOException, LateException;
  }

  /** Does something while no other thread or process changes the index. */
  void publish(Job job, Change change) throws IOException, LateException {
    lockPublishing(job);
    try {
      following.lock();
      try {
        repairIfTorn();
        change.make();
        if (log.position() > Math.max(compactAt, LOG_SLACK + 2 * index.snapshotBytes())) {
          tryCompact();
        }
      } finally {
        following.unlock();
      }
    } finally {
      unlockPublishing();
    }
  }

  private void lockPublishing(Job job) throws IOException, LateException {
    while (!tryPublishing()) {
      job.requireInTime();
    }
    try {
      long nap = LEAST_NAP;
      while (!folder.tryLockPublishing()) {
        job.requireInTime();
        LockSupport.parkNanos(nap);
        nap = Math.min(2 * nap, MOST_NAP);
      }
    } catch (IOException | LateException | RuntimeException | Error e) {
      publishing.unlock();
      throw e;
    }
  }

  private boolean tryPublishing() {
    try {
      return publishing.tryLock() || publishing.tryLock(MOST_NAP, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      // Nobody interrupts the threads of the store to any purpose.
      return false;
    }
  }

  private void unlockPublishing() throws IOException {
    try {
      folder.unlockPublishing();
    } finally {
      publishing.unlock();
    }
  }

  /**
   * Reads the log to its end, and leaves it for a new one if that end is torn.
   *
   * <p>It is not cut and written on: where a frame that others have read was damaged later, they
   * would take what is written then for the rest of it.
   */
  private void repairIfTorn() throws IOException {
    if (isWhole(this::follow)) {
      return;
    }
    // Somebody may have put another file in its place: then all are to follow that.
    if (isWhole(this::reload)) {
      return;
    }
    LOG.warn("the index log of {} has a torn end, as of a crash, and is written anew", root);
    IndexLog torn = log;
    IndexLog next = writeNext();
    torn.abolish();
    disk.delete(root.resolve(FileNames.log(torn.number())));
    use(next);
  }

  /** Reads the log, and returns whether its end is clean. */
  private interface Reading {
    boolean read() throws IOException;
  }

  private boolean isWhole(Reading reading) throws IOException {
    try {
      return reading.read()
          && disk.size(root.resolve(FileNames.log(log.number()))) == log.position();
    } catch (NoLogException e) {
      return false;
    }
  }

  /** There is no log that could be followed. */
  private static final class NoLogException extends IOException {
    private static final long serialVersionUID = 1;

    NoLogException(Path root) {
      super("there is no index log in " + root);
    }
  }

  private void tryCompact() {
    try {
      compact();
      compactAt = 0;
    } catch (IOException e) {
      // The log is as good as before, only long.
      compactAt = log.position() + LOG_SLACK;
      LOG.warn("the index log of {} cannot be shortened", root, e);
    }
  }

  /** Leaves a log that has grown too long for one that says no more than it has to. */
  private void compact() throws IOException {
    IndexLog full = log;
    IndexLog next = writeNext();
    try {
      long end = full.append(List.of(new LogEntry.Continued(next.number(), next.position())));
      full.skipTo(end);
    } catch (IOException e) {
      next.close();
      throw e;
    }
    disk.delete(root.resolve(FileNames.log(full.number())));
    use(next);
  }

  private IndexLog writeNext() throws IOException {
    List<LogEntry> snapshot;
    state.lock();
    try {
      snapshot = index.snapshot();
    } finally {
      state.unlock();
    }
    long number = log.number() + 1;
    Path path = root.resolve(FileNames.log(number));
    Path temporary = root.resolve(FileNames.log(number) + FileNames.TEMPORARY);
    try {
      long end =
          IndexLog.write(disk, temporary, number, store, snapshot.iterator(), /* flush= */ true);
      disk.move(temporary, path);
      disk.forceNames(root);
      IndexLog next = IndexLog.open(disk, path, number, store);
      if (next == null) {
        throw new IOException("the index log " + path + " is not what was just written");
      }
      next.skipTo(end);
      return next;
    } catch (IOException e) {
      disk.delete(temporary);
      throw e;
    }
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
      return object.live || extents.owns(object.segment);
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
    StoredObject object =
        new StoredObject(
            key, generations.incrementAndGet(), place.segment(), place.offset(), headerBytes, size);
    object.know(blockBytes, new int[(int) ExtentHeader.sums(size, blockBytes)]);
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
    state.lock();
    try {
      extents.keepToWritten();
    } finally {
      state.unlock();
    }
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
        segments.file(segment).force();
      }
    }
    Published[] outcome = new Published[objects.size()];
    publish(job, () -> publish(objects, outcome, tuning));
    return outcome;
  }

  private void publish(List<StoredObject> objects, Published[] outcome, Tuning tuning)
      throws IOException {
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
      change(
          entries,
          tuning.flush(),
          () -> {
            entries.subList(0, evictions).forEach(index::apply);
            // From the last to the first, so that the first is the one used last.
            for (StoredObject object : added.reversed()) {
              object.published = true;
              index.add(object);
            }
          });
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

  private void decide(
      List<StoredObject> objects,
      Published[] outcome,
      Tuning tuning,
      List<StoredObject> victims,
      List<StoredObject> added) {
    Set<ObjectKey> keys = new HashSet<>();
    long bytes = index.liveBytes() + index.lingeringBytes();
    StoredObject next = index.oldest();
    for (int i = 0; i < outcome.length; i++) {
      StoredObject object = objects.get(i);
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
    publish(
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
          change(entries, flush);
        });
    return there;
  }

  /** Removes objects that are no use to anybody, unless others have taken their places. */
  void drop(List<StoredObject> damaged, Job job) throws IOException, LateException {
    publish(
        job,
        () -> {
          List<LogEntry> entries = new ArrayList<>();
          for (StoredObject object : damaged) {
            if (object.live) {
              LOG.warn("object {} of {} is damaged and dropped", object.key, root);
              entries.add(new LogEntry.Remove(object.key, object.generation, false));
            }
          }
          change(entries, /* flush= */ false);
        });
  }

  /** Removes the objects under a prefix; returns how many there were. */
  long clear(KeyPrefix prefix, Job job, boolean flush) throws IOException, LateException {
    long[] count = new long[1];
    publish(
        job,
        () -> {
          count[0] = index.under(prefix).size();
          if (count[0] > 0) {
            change(List.of(new LogEntry.Clear(prefix.value())), flush);
          }
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

  /** Fails if the folder is no longer there, or does not answer. */
  void probe() throws IOException {
    catchUp();
    if (disk.size(root.resolve(Superblock.NAME)) < 0) {
      throw new IOException("its file " + Superblock.NAME + " is gone");
    }
  }

  /** Evicts what is over a smaller budget. */
  void keepWithin(Job job, Tuning tuning) throws IOException, LateException {
    publish(job, () -> space.keepWithin(tuning));
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

  /** Returns the folder. */
  Path root() {
    return root;
  }

  /** Closes the files; nobody uses the engine any more. */
  void close() {
    upkeep.last();
    closeFiles();
  }

  private void closeFiles() {
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
