package io.unifiedcache.backend.file;

import io.unifiedcache.backend.file.Job.LateException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all processes with a folder agree on: the log that they follow, and add to one at a time.
 *
 * <p>Thread-safe. Locks, in the order in which they are taken: {@code publishing}, with the lock of
 * the folder for all processes; {@code following}, held while the log is read or added to; the lock
 * of the index, never held while a file is touched.
 */
final class SharedLog implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLog.class);

  /** How often a log is looked for that others may be leaving for the next one. */
  private static final int MOST_ATTEMPTS = 10;

  /**
   * How long to wait for the right to tell a torn end of the log from one that is being written.
   */
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

  private static final long LOG_SLACK = 4L << 20;
  private static final long LEAST_NAP = TimeUnit.MICROSECONDS.toNanos(20);
  private static final long MOST_NAP = TimeUnit.MILLISECONDS.toNanos(2);

  private final Disk disk;
  private final FolderLock folder;
  private final Path root;
  private final long self;
  private final UUID store;
  private final Segments segments;
  private final Index index;

  private final ReentrantLock publishing = new ReentrantLock();
  private final ReentrantLock following = new ReentrantLock();
  private final ReentrantLock state;

  private volatile IndexLog log;

  private final LogReserve reserve;

  /**
   * Whether the log could not be forced: what it says may be lost with the power, and to force it
   * once more proves nothing, since the operating system drops what it could not write.
   */
  private volatile boolean isUnforced;

  /** Old logs of which it is not certain that they are gone, or left, after a loss of power. */
  private final Set<Long> leftInDoubt = new TreeSet<>();

  /**
   * How many frames that give room back were applied, and how many of these are certain to survive
   * a loss of power. Guarded by {@code state}.
   */
  private long removals;

  private long forcedRemovals;

  /** Where the log is shortened next at the earliest, since that has failed before. */
  private long compactAt;

  private LogEntry.@Nullable Continued continued;

  /**
   * Opens the log of a folder that this process has locked.
   *
   * @param self this process, as a writer
   * @param index is told what the log says
   * @param state guards the index
   * @param create whether to begin a log if none can be read
   * @throws IOException if the folder cannot be used, with a sentence that says why
   */
  SharedLog(
      Disk disk,
      FolderLock folder,
      long self,
      Segments segments,
      Index index,
      ReentrantLock state,
      Job job,
      boolean create)
      throws IOException, LateException {
    this.disk = disk;
    this.folder = folder;
    this.root = folder.root();
    this.self = self;
    this.segments = segments;
    this.index = index;
    this.state = state;
    reserve = new LogReserve(disk, root);
    store = folder.store();
    if (!create) {
      log = findAmongWriters();
      return;
    }
    lockPublishing(job);
    try {
      log = load();
    } finally {
      unlockPublishing();
    }
  }

  /** Finds the log that all follow, while others may be leaving it for the next one. */
  private IndexLog findAmongWriters() throws IOException {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      IndexLog found = findLog();
      if (found != null) {
        return found;
      }
    }
    throw new NoLogException(
        "none of its index logs can be read: a repair (verify --repair) rebuilds the index from its"
            + " segments; whoever opens the store before sets all aside and begins a new one");
  }

  /** Finds the log that all follow, or begins one. */
  private IndexLog load() throws IOException {
    IndexLog found = findLog();
    if (found != null) {
      return found;
    }
    setAsideAll();
    long number = 1;
    for (String name : disk.names(root)) {
      number = Math.max(number, 1 + FileNames.asLog(FileNames.beforeSetAside(name)));
    }
    Path path = root.resolve(FileNames.log(number));
    IndexLog.write(disk, path, number, store, index.snapshot().iterator(), /* flush= */ true);
    disk.forceNames(root);
    IndexLog begun = IndexLog.open(disk, folder.access(), path, number, store);
    if (begun == null) {
      throw new IOException("the index log " + path + " is not what was just written");
    }
    return begun;
  }

  /**
   * Keeps the files of a store none of whose logs can be read, so that what is in its segments is
   * not lost for good.
   */
  private void setAsideAll() throws IOException {
    int segments = 0;
    for (String name : disk.names(root)) {
      int segment = FileNames.asSegment(FileNames.beforeSetAside(name));
      state.lock();
      try {
        index.useNumber(segment);
      } finally {
        state.unlock();
      }
      if (FileNames.asSegment(name) >= 0 && disk.size(root.resolve(name)) > 0) {
        setAside(name);
        segments++;
      } else if (FileNames.asLog(name) >= 0 && disk.size(root.resolve(name)) > 0) {
        setAside(name);
      }
    }
    if (segments > 0) {
      LOG.error(
          "no index log of {} can be read, so that it is not known what is in its {} segments: they"
              + " are kept as {}* and no store reads them, until verify --repair brings back what"
              + " is sound",
          root,
          segments,
          FileNames.setAside("segment-"));
    }
  }

  /**
   * Keeps a file that cannot be understood out of the way; called by a {@link Change}.
   *
   * @param name the name of a log or a segment
   */
  void setAside(String name) throws IOException {
    String aside = FileNames.setAside(name);
    LOG.error("{} of {} cannot be understood, and is kept as {}", name, root, aside);
    disk.move(root.resolve(name), root.resolve(aside));
  }

  /** Returns the lowest log that is right: a higher one was begun and never taken into use. */
  private @Nullable IndexLog findLog() throws IOException {
    for (long number : logs()) {
      IndexLog found =
          IndexLog.open(disk, folder.access(), root.resolve(FileNames.log(number)), number, store);
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

  /**
   * Returns whether it is known, without waiting for anything, that the index is what the log says.
   * Any thread may ask, interrupted or not.
   */
  boolean isCurrent() {
    return folder.wasSame() && log.isKnownToBeRead();
  }

  /** Learns what others have changed. */
  void catchUp() throws IOException {
    folder.requireSame();
    if (!log.hasGrown()) {
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
      removals += givesRoom(entries) ? 1 : 0;
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
    isUnforced &= next.number() == before.number();
    before.close();
  }

  /**
   * Reads the log that is there now from its beginning, without disturbing readers; false if its
   * end is torn.
   */
  private boolean reload() throws IOException {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      Index fresh = new Index(new Extents(1), self);
      boolean[] clean = new boolean[1];
      IndexLog found = readAll(fresh, clean);
      if (found != null) {
        state.lock();
        try {
          index.become(fresh);
          removals++;
        } finally {
          state.unlock();
        }
        use(found);
        return clean[0];
      }
    }
    throw new NoLogException("there is no index log in " + root);
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
    IndexLog opened =
        IndexLog.open(
            disk, folder.access(), root.resolve(FileNames.log(to.log())), to.log(), store);
    if (opened != null) {
      opened.skipTo(to.snapshotEnd());
    }
    return opened;
  }

  /**
   * Changes the index for all; called by a {@link Change}.
   *
   * @param flush whether it is to survive a loss of power, as is then what gave room before: what
   *     is not there to be removed must not come back either
   */
  void change(List<LogEntry> entries, boolean flush) throws IOException {
    if (!entries.isEmpty()) {
      change(entries, flush, () -> entries.forEach(index::apply));
    } else if (flush && !areRemovalsForced()) {
      forceRemovals();
    }
  }

  private boolean areRemovalsForced() {
    state.lock();
    try {
      return hasForcedRemovals();
    } finally {
      state.unlock();
    }
  }

  /**
   * Changes the index for all; called by a {@link Change}.
   *
   * @param applying makes the same changes to the index of this process, with its lock held
   */
  void change(List<LogEntry> entries, boolean flush, Runnable applying) throws IOException {
    long end = append(entries);
    IOException unforced = null;
    if (flush) {
      try {
        force();
      } catch (IOException e) {
        // Others may have read it by now: it holds, but it is not certain that it will last.
        unforced = e;
      }
    }
    state.lock();
    try {
      if (givesRoom(entries) && (!flush || unforced != null)) {
        removals++;
      }
      applying.run();
    } finally {
      state.unlock();
    }
    log.skipTo(end);
    if (unforced != null) {
      throw unforced;
    }
  }

  private long append(List<LogEntry> entries) throws IOException {
    try {
      return log.append(entries);
    } catch (IOException e) {
      if (Failures.isFull(e) && log.isCutBack() && reserve.spend()) {
        return log.append(entries);
      }
      throw e;
    }
  }

  private static boolean givesRoom(List<LogEntry> entries) {
    return entries.stream()
        .anyMatch(entry -> entry instanceof LogEntry.Remove || entry instanceof LogEntry.Clear);
  }

  /** Returns whether there is room for what the log has to say on a disk that is full. */
  boolean keepRoom() {
    return reserve.keep();
  }

  private void force() throws IOException {
    try {
      log.force();
    } catch (IOException e) {
      isUnforced = true;
      throw e;
    } catch (RuntimeException | Error e) {
      isUnforced = true;
      throw new IOException("the index log cannot be forced to the disk", e);
    }
  }

  /**
   * Returns whether all room that was given back will be free after a loss of power, too; called
   * with the index locked.
   */
  boolean hasForcedRemovals() {
    return removals == forcedRemovals;
  }

  /** Makes what gave room back survive a loss of power. */
  void forceRemovals() throws IOException {
    long before;
    state.lock();
    try {
      before = removals;
    } finally {
      state.unlock();
    }
    following.lock();
    try {
      if (isUnforced) {
        throw new IOException("the index log could not be forced to the disk before");
      }
      force();
    } finally {
      following.unlock();
    }
    state.lock();
    try {
      forcedRemovals = Math.max(forcedRemovals, before);
    } finally {
      state.unlock();
    }
  }

  /** Returns whether it is not certain that what the log says survives a loss of power. */
  private boolean isInDoubt() {
    return isUnforced || !leftInDoubt.isEmpty();
  }

  /**
   * Makes all that the log says survive a loss of power, should that not be certain: what could not
   * be forced is written anew.
   */
  void prove(Job job) throws IOException, LateException {
    if (isUnforced) {
      publish(job, () -> {});
    }
  }

  private void proveNow() throws IOException {
    if (isUnforced) {
      goOver(/* torn= */ false);
    }
    forgetLeft();
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
        settleDoubts();
        if (isInDoubt()) {
          proveNow();
        }
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
    if (!tryLockPublishing(job, Long.MAX_VALUE)) {
      throw new IOException("the index is being changed by " + folder.publisher());
    }
  }

  /**
   * Keeps all others from changing the index.
   *
   * @return false if another process did not let it within so many nanoseconds
   */
  private boolean tryLockPublishing(Job job, long patience) throws IOException, LateException {
    while (!tryPublishing()) {
      job.requireInTime();
    }
    boolean locked = false;
    try {
      long nap = LEAST_NAP;
      long begin = System.nanoTime();
      locked = folder.tryLockPublishing();
      while (!locked && System.nanoTime() - begin < patience) {
        if (job.isLate()) {
          throw new LateException("the index is being changed by " + folder.publisher());
        }
        LockSupport.parkNanos(nap);
        nap = Math.min(2 * nap, MOST_NAP);
        locked = folder.tryLockPublishing();
      }
      return locked;
    } finally {
      if (!locked) {
        publishing.unlock();
      }
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
    goOver(/* torn= */ true);
  }

  /** The log has been read to its end. */
  private void settleDoubts() {
    state.lock();
    try {
      index.settleDoubts();
    } finally {
      state.unlock();
    }
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
  static final class NoLogException extends IOException {
    private static final long serialVersionUID = 1;

    NoLogException(String message) {
      super(message);
    }
  }

  private void tryCompact() {
    try {
      goOver(/* torn= */ false);
      compactAt = 0;
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      // The log is as good as before, only long.
      compactAt = log.position() + LOG_SLACK;
      LOG.warn("the index log of {} cannot be shortened", root, e);
    }
  }

  /**
   * Leaves the log for a new one, which says what is known and no more.
   *
   * <p>The lowest log that can be read is the one that all follow. So what says that the old one
   * was left, or that it is gone, has to survive a loss of power before anything that the new one
   * says is certain to.
   *
   * @param torn whether the old one cannot be added to, so that it is cut to nothing
   */
  private void goOver(boolean torn) throws IOException {
    IndexLog old = log;
    IndexLog next = writeNext();
    try {
      if (torn) {
        old.abolish();
      } else {
        old.append(List.of(new LogEntry.Continued(next.number(), next.position())));
      }
    } catch (IOException | RuntimeException | Error e) {
      next.close();
      throw e;
    }
    leftInDoubt.add(old.number());
    try {
      old.force();
      leftInDoubt.remove(old.number());
    } catch (IOException e) {
      LOG.warn("the index log {} of {} cannot be left for good yet", old.number(), root, e);
    }
    use(next);
    state.lock();
    try {
      forcedRemovals = removals;
    } finally {
      state.unlock();
    }
    try {
      disk.delete(root.resolve(FileNames.log(old.number())));
      forgetLeft();
    } catch (IOException e) {
      LOG.warn("an old index log of {} cannot be deleted yet", root, e);
    }
  }

  /** Makes certain that old logs are gone after a loss of power. */
  private void forgetLeft() throws IOException {
    if (leftInDoubt.isEmpty()) {
      return;
    }
    for (long number : leftInDoubt) {
      disk.delete(root.resolve(FileNames.log(number)));
    }
    disk.forceNames(root);
    leftInDoubt.clear();
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
    // One that was begun and never taken into use is replaced, but not one that cannot be read.
    if (disk.size(path) >= 0) {
      deleteOld(number);
    }
    try {
      long end =
          IndexLog.write(disk, temporary, number, store, snapshot.iterator(), /* flush= */ true);
      disk.move(temporary, path);
      disk.forceNames(root);
      IndexLog next = IndexLog.open(disk, folder.access(), path, number, store);
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

  /**
   * Deletes a log that is no longer in use, unless it cannot be understood; called by a {@link
   * Change}.
   */
  void deleteOld(long number) throws IOException {
    if (number == log.number()) {
      return;
    }
    Path path = root.resolve(FileNames.log(number));
    IndexLog old = IndexLog.open(disk, folder.access(), path, number, store);
    if (old != null) {
      old.close();
    }
    if (old != null || disk.size(path) == 0) {
      disk.delete(path);
    } else {
      setAside(FileNames.log(number));
    }
  }

  /** Returns how many bytes behind the last frame of the log are none, as of a crash or damage. */
  long unreadableBytes(Job job) throws IOException, LateException {
    if (readToEnd() == 0 || folder.access() == Disk.Access.READ) {
      return readToEnd();
    }
    // A frame may be being written just now, also by a process that was halted while it did so.
    if (!tryLockPublishing(job, PATIENCE)) {
      LOG.info("the end of the log of {} is being written by {}", root, folder.publisher());
      return 0;
    }
    try {
      return readToEnd();
    } finally {
      unlockPublishing();
    }
  }

  private long readToEnd() throws IOException {
    following.lock();
    try {
      boolean unused = follow();
      return Math.max(0, disk.size(root.resolve(FileNames.log(log.number()))) - log.position());
    } finally {
      following.unlock();
    }
  }

  /** Returns the UUID of the store. */
  UUID store() {
    return store;
  }

  /** Returns which process has changed the log last, or is at it. */
  String publisher() {
    return folder.publisher();
  }

  /** Returns the name of the log's file. */
  String fileName() {
    return FileNames.log(log.number());
  }

  @Override
  public void close() throws IOException {
    log.close();
  }
}
