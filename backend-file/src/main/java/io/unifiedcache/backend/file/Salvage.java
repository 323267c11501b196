package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.backend.file.ExtentCheck.Damage;
import io.unifiedcache.backend.file.ExtentCheck.Seen;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What the files of a store prove where its index, or its superblock, cannot be read: the objects
 * that can be brought back, and the index that names them.
 *
 * <p>What a log that can be read says is live stays live, and what it says is gone stays gone. Of
 * the rest an extent is taken if its header is right for the store and for its place, and its bytes
 * have the checksums in it; of two for one key the later one is.
 *
 * <p>To look changes nothing, and may be done beside open stores. {@link #write} needs the store
 * for itself: whatever ends it, the store is as it was before or as it is to be, and the next try
 * finds what this one did.
 */
final class Salvage {
  /** Why an extent is not taken. */
  private enum Loss {
    DAMAGED("whose bytes are not those that were put"),
    UNPROVEN("without checksums, which nothing proves"),
    GONE("that the log says are gone"),
    REPLACED("that a later one of the same key has replaced"),
    AMBIGUOUS("of which no one is the latest of its key"),
    FOREIGN("of another store");

    final String text;

    Loss(String text) {
      this.text = text;
    }
  }

  /**
   * A file to look through.
   *
   * @param isAside whether it was set aside before
   * @param log the log that says what is in it, if there is one
   */
  private record Source(String name, int segment, boolean isAside, @Nullable LogReading log) {}

  /** A log whose header is lost. */
  private record Other(String name, long number, boolean isAside, LogReading log) {}

  /** The latest extent of a key. */
  private static final class Claim {
    StoredObject object;

    /** Whether its checksums, and not a log alone, say that it is right. */
    boolean proven;

    /** Whether another one is as late. */
    boolean tied;

    Claim(StoredObject object, boolean proven) {
      this.object = object;
      this.proven = proven;
    }
  }

  private final Disk disk;
  private final Path root;
  private final Job job;
  private final List<String> names;

  /** Logs by number: in their places, and set aside. */
  private final SortedMap<Long, String> logs = new TreeMap<>();

  private final SortedMap<Long, String> logsAside = new TreeMap<>();

  private @Nullable UUID store;

  /** What the log says that all follow; null if there is none. */
  private @Nullable LogReading current;

  /** The files that it was read from. */
  private final List<String> chain = new ArrayList<>();

  /** Logs whose headers are lost, the latest first. */
  private final List<Other> others = new ArrayList<>();

  private final Map<ObjectKey, Claim> claims = new HashMap<>();

  /** Of what a log with gaps says is there, the keys of what is. */
  private final Set<ObjectKey> intact = new HashSet<>();

  private final Map<Loss, Long> losses = new EnumMap<>(Loss.class);
  private final Map<Integer, Source> sources = new TreeMap<>();

  /** Names of segments that have their own again, as a repair that was ended early leaves them. */
  private final List<String> spareNames = new ArrayList<>();

  private final List<StoredObject> taken = new ArrayList<>();
  private final List<StoredObject> kept = new ArrayList<>();
  private boolean isGuess;

  private Salvage(Disk disk, Path root, @Nullable UUID store, Job job) throws IOException {
    this.disk = disk;
    this.root = root;
    this.store = store;
    this.job = job;
    this.names = disk.names(root).stream().sorted().toList();
  }

  /**
   * Looks at a store.
   *
   * @param store which store it is; null if its superblock does not say
   * @param isLogWhole whether what cannot be read at the end of its log is being written
   */
  static Salvage of(Disk disk, Path root, @Nullable UUID store, boolean isLogWhole, Job job)
      throws IOException, LateException {
    Salvage salvage = new Salvage(disk, root, store, job);
    salvage.findLogs();
    salvage.identify();
    if (salvage.store != null) {
      salvage.readLogs(isLogWhole);
      salvage.findSources();
      for (Source source : salvage.sources.values()) {
        salvage.scan(source);
      }
      salvage.choose();
    }
    return salvage;
  }

  // Logs.

  private void findLogs() throws IOException {
    for (String name : names) {
      long number = FileNames.asLog(FileNames.beforeSetAside(name));
      if (number >= 0 && disk.size(root.resolve(name)) > 0) {
        (FileNames.asLog(name) >= 0 ? logs : logsAside).put(number, name);
      }
    }
  }

  /** Finds out which store it is, if the superblock does not say. */
  private void identify() throws IOException, LateException {
    for (SortedMap<Long, String> some : List.of(logs, logsAside)) {
      for (Map.Entry<Long, String> log : some.entrySet()) {
        if (store == null) {
          store = storeOf(log.getKey(), log.getValue());
        }
      }
    }
    if (store != null) {
      return;
    }
    // What most extents say.
    Map<UUID, Integer> counts = new HashMap<>();
    for (String name : names) {
      int segment = FileNames.asSegment(FileNames.beforeSetAside(name));
      if (segment >= 0 && disk.size(root.resolve(name)) > 0) {
        try (DiskFile file = disk.open(root.resolve(name), Disk.Access.READ)) {
          SegmentScan.scan(
              file,
              segment,
              (header, object) -> {
                job.requireInTime();
                counts.merge(header.store(), 1, Integer::sum);
                return false;
              });
        }
      }
    }
    store =
        counts.entrySet().stream()
            .max(Map.Entry.comparingByValue())
            .map(Map.Entry::getKey)
            .orElse(null);
  }

  private @Nullable UUID storeOf(long number, String name) throws IOException {
    try (DiskFile file = disk.open(root.resolve(name), Disk.Access.READ)) {
      ByteBuffer header = ByteBuffer.allocate(IndexLog.HEADER_BYTES);
      while (header.hasRemaining() && file.read(header, header.position()) > 0) {
        // Until it is full, or the file ends.
      }
      return IndexLog.storeOf(header.flip(), number);
    }
  }

  private void readLogs(boolean isLogWhole) throws IOException, LateException {
    for (Map.Entry<Long, String> log : logs.entrySet()) {
      UUID its = storeOf(log.getKey(), log.getValue());
      if (current == null && its != null && its.equals(store)) {
        current = follow(log.getKey());
        if (isLogWhole) {
          current.overlookMissing();
        }
      }
    }
    for (SortedMap<Long, String> some : List.of(logs, logsAside)) {
      for (Map.Entry<Long, String> log : some.entrySet()) {
        // One that is right was begun and never taken into use, or is of another store.
        if (!chain.contains(log.getValue()) && storeOf(log.getKey(), log.getValue()) == null) {
          LogReading reading = new LogReading();
          read(reading, log.getKey(), log.getValue(), IndexLog.HEADER_BYTES);
          others.add(new Other(log.getValue(), log.getKey(), some == logsAside, reading));
        }
      }
    }
    others.sort(Comparator.comparingLong(Other::number).reversed());
  }

  private LogReading follow(long first) throws IOException, LateException {
    LogReading reading = new LogReading();
    long number = first;
    long from = IndexLog.HEADER_BYTES;
    while (true) {
      String name = logs.get(number);
      if (name == null) {
        reading.miss(1);
        return reading;
      }
      if (storeOf(number, name) == null) {
        reading.miss(IndexLog.HEADER_BYTES);
      }
      chain.add(name);
      read(reading, number, name, from);
      LogEntry.Continued next = reading.continued();
      if (next == null) {
        return reading;
      } else if (next.log() <= number) {
        // No store writes this: to follow it would never end.
        reading.miss(1);
        return reading;
      }
      number = next.log();
      from = next.snapshotEnd();
    }
  }

  private void read(LogReading reading, long number, String name, long from)
      throws IOException, LateException {
    job.requireInTime();
    try (DiskFile file = disk.open(root.resolve(name), Disk.Access.READ)) {
      reading.miss(Math.max(0, from - file.length()));
      reading.read(file, number, from);
    }
  }

  // Segments.

  private void findSources() throws IOException {
    LogReading log = current;
    Set<Integer> named = log == null ? Set.of() : log.segments();
    Map<Other, Set<Integer>> namedByOthers = new LinkedHashMap<>();
    others.forEach(other -> namedByOthers.put(other, other.log.segments()));
    for (String name : names) {
      int segment = FileNames.asSegment(FileNames.beforeSetAside(name));
      if (segment < 0 || disk.size(root.resolve(name)) <= 0) {
        continue;
      }
      boolean isAside = FileNames.asSegment(name) < 0;
      boolean isNamed = named.contains(segment);
      boolean hasBoth = hasBothNames(segment);
      if (isAside && isNamed) {
        if (hasBoth) {
          spareNames.add(name);
        }
      } else if (isAside || !hasBoth) {
        LogReading telling = isNamed ? log : null;
        for (Map.Entry<Other, Set<Integer>> other : namedByOthers.entrySet()) {
          // A log that was set aside knows nothing of what became of segments that were not.
          if (telling == null
              && other.getValue().contains(segment)
              && (isAside || !other.getKey().isAside)) {
            telling = other.getKey().log;
          }
        }
        Source source = new Source(name, segment, isAside, telling);
        // Another file may have the number, of which a log that can be read tells, or which is new.
        if (isWorthwhile(source) && (!isAside || hasBoth || isFree(segment))) {
          sources.put(segment, source);
        }
      }
    }
  }

  /** Returns whether a segment has its name, and that of one that was set aside, at once. */
  private boolean hasBothNames(int segment) throws IOException {
    String name = FileNames.segment(segment);
    Object identity = disk.identity(root.resolve(name));
    return identity != null
        && identity.equals(disk.identity(root.resolve(FileNames.setAside(name))));
  }

  private boolean isFree(int segment) throws IOException {
    return disk.size(root.resolve(FileNames.segment(segment))) <= 0;
  }

  /** Returns whether something may be in a file that the log does not tell. */
  private boolean isWorthwhile(Source source) {
    LogReading log = current;
    if (log == null || source.isAside) {
      return true;
    }
    return source.log == log
        ? !log.isWhole()
        : log.mayHaveAdded(source.segment)
            && (!log.isWhole() || source.segment >= log.index().nextSegment());
  }

  private void scan(Source source) throws IOException, LateException {
    long[] vouched = new long[1];
    LogReading log = source.log;
    try (DiskFile file = disk.open(root.resolve(source.name), Disk.Access.READ)) {
      ExtentCheck check = new ExtentCheck(segment -> file);
      SegmentScan.scan(
          file,
          source.segment,
          (header, object) -> {
            job.requireInTime();
            if (!header.store().equals(store)) {
              lose(Loss.FOREIGN, 1);
              return false;
            }
            boolean isLive = log != null && log.isLive(object);
            vouched[0] += isLive ? 1 : 0;
            if (isLive && log == current) {
              // What the log does not say may have removed it, and given its room to another.
              Seen seen = check.check(object);
              if (seen.damage().isEmpty()) {
                intact.add(object.key);
              }
              return seen.proven();
            }
            return claim(source, object, isLive, check);
          });
    }
    if (log != null && log != current) {
      // Of these not even the headers are there.
      lose(Loss.DAMAGED, log.index().in(Set.of(source.segment)).size() - vouched[0]);
    }
  }

  /** Notes an extent that may be taken; returns whether its bytes are right. */
  private boolean claim(Source source, StoredObject object, boolean isLive, ExtentCheck check)
      throws IOException {
    if (isGone(source, object, isLive)) {
      lose(Loss.GONE, 1);
      return false;
    }
    Seen seen = check.check(object);
    if (seen.damage().isPresent()) {
      Damage damage = seen.damage().get();
      if (damage.code() == FailureCode.IO) {
        throw new IOException(source.name + ": " + damage.message());
      }
      lose(Loss.DAMAGED, 1);
      return false;
    }
    LogReading log = source.log;
    if (!seen.proven() && (!isLive || log == null || !log.isWhole())) {
      lose(Loss.UNPROVEN, 1);
      return false;
    }
    isGuess |= !isLive;
    Claim claim = claims.get(object.key);
    if (claim == null) {
      claims.put(object.key, new Claim(object, seen.proven()));
    } else {
      int order = Long.compareUnsigned(object.generation, claim.object.generation);
      if (order == 0) {
        claim.tied = true;
        lose(Loss.AMBIGUOUS, 1);
      } else {
        lose(claim.tied && order > 0 ? Loss.AMBIGUOUS : Loss.REPLACED, 1);
      }
      if (order > 0) {
        claim.object = object;
        claim.proven = seen.proven();
        claim.tied = false;
      }
    }
    return seen.proven();
  }

  /** Returns whether the logs say that an extent was removed, or has been replaced. */
  private boolean isGone(Source source, StoredObject object, boolean isLive) {
    LogReading log = source.log;
    if (log != null && !isLive && (log.isWhole() || log.isGone(object) || log.isOlder(object))) {
      return true;
    }
    LogReading now = current;
    if (now != null && log != now) {
      // What the log of today says of a key came later, but where the segment is of today, too.
      return (log == null && !source.isAside)
          ? now.isGone(object) || now.isOlder(object)
          : now.tellsOf(object.key);
    }
    return log == null
        && others.stream()
            .anyMatch(
                other ->
                    other.log.isGone(object)
                        || (!source.isAside
                            && !other.isAside
                            && other.log.isWhole()
                            && source.segment < other.log.index().nextSegment()));
  }

  private void lose(Loss loss, long extents) {
    if (extents > 0) {
      losses.merge(loss, extents, Long::sum);
    }
  }

  /** Decides what is to be there: of what overlaps, what has the right bytes. */
  private void choose() {
    List<Claim> sure = new ArrayList<>();
    for (Claim claim : claims.values()) {
      if (claim.tied) {
        lose(Loss.AMBIGUOUS, 1);
      } else {
        sure.add(claim);
      }
    }
    sure.sort(
        Comparator.<Claim, Boolean>comparing(claim -> !claim.proven)
            .thenComparing((a, b) -> byGeneration(a.object, b.object)));
    Extents places = new Extents(1);
    Set<ObjectKey> back = new HashSet<>();
    for (Claim claim : sure) {
      if (take(places, claim.object)) {
        taken.add(claim.object);
        back.add(claim.object.key);
      } else {
        lose(Loss.DAMAGED, 1);
      }
    }
    taken.sort(Salvage::byGeneration);
    keep(places, back);
  }

  /** Keeps what the log says is there, in its order; where it has gaps, what can be. */
  private void keep(Extents places, Set<ObjectKey> back) {
    LogReading log = current;
    if (log == null) {
      return;
    }
    List<StoredObject> all = new ArrayList<>();
    for (LogEntry entry : log.index().snapshot()) {
      if (entry instanceof LogEntry.Put put) {
        all.add(put.object());
      }
    }
    if (log.isWhole()) {
      kept.addAll(all);
      return;
    }
    Set<StoredObject> fitting = new HashSet<>();
    for (boolean isIntact : new boolean[] {true, false}) {
      for (StoredObject object : all) {
        if (intact.contains(object.key) == isIntact
            && !back.contains(object.key)
            && take(places, object)) {
          fitting.add(object);
        }
      }
    }
    all.stream().filter(fitting::contains).forEach(kept::add);
    lose(Loss.REPLACED, all.size() - kept.size());
  }

  private static int byGeneration(StoredObject one, StoredObject other) {
    return Long.compareUnsigned(one.generation, other.generation);
  }

  private static boolean take(Extents places, StoredObject object) {
    places.add(object.segment, Segments.MOST_BYTES, /* written= */ 0);
    return places.take(object.segment, object.offset, object.extentBytes());
  }

  // What was found.

  /**
   * Returns whether there may be files that a log, which can be read, does not tell of.
   *
   * @param engine has read it
   */
  static boolean mayFind(Disk disk, FileEngine engine) throws IOException {
    List<String> names = disk.names(engine.root());
    // After the names, so that a segment that has just been added is known.
    engine.catchUp();
    for (String name : names) {
      int segment = FileNames.asSegment(FileNames.beforeSetAside(name));
      boolean isAside = segment >= 0 && FileNames.asSegment(name) < 0;
      if ((isAside || segment >= engine.nextSegment())
          && disk.size(engine.root().resolve(name)) > 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether the files say which store it is. */
  boolean isStore() {
    return store != null;
  }

  /** Returns whether there is an index to be written. */
  boolean hasNewIndex() {
    LogReading log = current;
    return !taken.isEmpty() || (log == null ? hasFiles() : !log.isWhole());
  }

  /** Returns whether there are names to be removed that an earlier repair has left. */
  boolean hasSpareNames() {
    return !spareNames.isEmpty();
  }

  private boolean hasFiles() {
    return !logs.isEmpty() || !sources.isEmpty();
  }

  /** Says what is wrong. */
  String causes() {
    List<String> causes = new ArrayList<>();
    LogReading log = current;
    if (log == null) {
      causes.add(
          logs.isEmpty()
              ? "there is no index log"
              : String.join(", ", logs.values()) + " cannot be read");
    } else if (!log.isWhole()) {
      causes.add(
          "%s has %,d bytes that cannot be read, as of a crash or of damage"
              .formatted(chain.getLast(), log.unreadable()));
    }
    long aside = sources.values().stream().filter(Source::isAside).count();
    if (aside > 0) {
      causes.add("%,d segments are set aside".formatted(aside));
    }
    return String.join("; ", causes);
  }

  /**
   * Says what comes back and what does not.
   *
   * @param verb what the objects do
   */
  String outcome(String verb) {
    StringBuilder text = new StringBuilder();
    text.append(
        "%,d objects with %,d bytes %s"
            .formatted(taken.size(), taken.stream().mapToLong(object -> object.size).sum(), verb));
    if (isGuess && !taken.isEmpty()) {
      text.append(", among them perhaps some that had been removed or evicted");
    }
    List<String> not = new ArrayList<>();
    losses.forEach((loss, count) -> not.add("%,d extents %s".formatted(count, loss.text)));
    if (!not.isEmpty()) {
      text.append("; dropped: ").append(String.join(", ", not));
    }
    return text.toString();
  }

  // Writing.

  /**
   * Makes the store what was found.
   *
   * @param lock keeps all others out
   */
  void write(FolderLock lock) throws IOException, LateException {
    UUID known = store;
    if (known == null) {
      throw new IllegalStateException("it is not known which store it is");
    }
    job.requireInTime();
    boolean writesIndex = hasNewIndex();
    if (writesIndex) {
      writeIndex(known);
    }
    if (lock.isDamaged()) {
      lock.restore(known);
    }
    tidy(writesIndex);
  }

  private void writeIndex(UUID known) throws IOException {
    long number =
        chain.isEmpty()
            ? 1
                + names.stream()
                    .mapToLong(name -> FileNames.asLog(FileNames.beforeSetAside(name)))
                    .max()
                    .orElse(0)
            : FileNames.asLog(chain.getFirst());
    Path path = root.resolve(FileNames.log(number));
    Path temporary = root.resolve(FileNames.log(number) + FileNames.TEMPORARY);
    long unused =
        IndexLog.write(disk, temporary, number, known, entries().iterator(), /* flush= */ true);
    Set<Integer> used = usedSegments();
    for (Source source : sources.values()) {
      if (source.isAside && used.contains(source.segment)) {
        giveName(source);
      } else if (!source.isAside && !used.contains(source.segment) && !isNamed(source)) {
        // No log will name it, and what no log names is deleted.
        disk.move(root.resolve(source.name), root.resolve(FileNames.setAside(source.name)));
      }
    }
    if (!chain.isEmpty()) {
      copy(chain.getFirst(), FileNames.replaced(chain.getFirst()));
    }
    disk.forceNames(root);
    // Up to here the store is as it was, from here on as it is to be.
    disk.move(temporary, path);
    disk.forceNames(root);
  }

  private boolean isNamed(Source source) {
    return source.log != null && source.log == current;
  }

  private Set<Integer> usedSegments() {
    Set<Integer> used = new TreeSet<>();
    taken.forEach(object -> used.add(object.segment));
    return used;
  }

  private List<LogEntry> entries() throws IOException {
    Map<Integer, LogEntry> segments = new LinkedHashMap<>();
    LogReading log = current;
    if (log != null) {
      log.index()
          .segments()
          .forEach(
              (number, segment) ->
                  segments.put(
                      number, new LogEntry.Segment(number, segment.bytes(), segment.writer())));
    }
    long latest = log == null ? 0 : log.index().latestGeneration();
    for (List<StoredObject> some : List.of(taken, kept)) {
      for (StoredObject object : some) {
        latest = Generations.later(latest, object.generation);
        if (!segments.containsKey(object.segment)) {
          segments.put(object.segment, segmentOf(object.segment));
        }
      }
    }
    int next = log == null ? 1 : log.index().nextSegment();
    for (String name : names) {
      next = Math.max(next, 1 + FileNames.asSegment(FileNames.beforeSetAside(name)));
    }
    List<LogEntry> entries = new ArrayList<>();
    entries.add(new LogEntry.NextSegment(next, latest));
    entries.addAll(segments.values());
    taken.forEach(object -> entries.add(LogEntry.Put.of(object)));
    kept.forEach(object -> entries.add(LogEntry.Put.of(object)));
    return entries;
  }

  /** Returns the entry of a segment that the log does not name, and that no process owns. */
  private LogEntry segmentOf(int number) throws IOException {
    Source source = sources.get(number);
    String name = source == null ? FileNames.segment(number) : source.name;
    long bytes = ExtentHeader.padded(Math.max(1, disk.size(root.resolve(name))));
    LogReading log = source == null ? null : source.log;
    Index.Segment before = log == null ? null : log.index().segments().get(number);
    return new LogEntry.Segment(
        number, before == null ? bytes : Math.max(bytes, before.bytes()), /* writer= */ 0);
  }

  /** Gives a segment its own name again, besides the one under which it was set aside. */
  private void giveName(Source source) throws IOException {
    Path name = root.resolve(FileNames.segment(source.segment));
    if (hasBothNames(source.segment)) {
      return;
    }
    if (disk.size(name) == 0) {
      // Of a segment that did not come to be.
      disk.delete(name);
    }
    if (!disk.link(root.resolve(source.name), name)) {
      throw new IOException("there is a file " + name + " already");
    }
  }

  private void copy(String from, String to) throws IOException {
    Path temporary = root.resolve(to + FileNames.TEMPORARY);
    disk.delete(temporary);
    try (DiskFile source = disk.open(root.resolve(from), Disk.Access.READ);
        DiskFile target = disk.open(temporary, Disk.Access.CREATE)) {
      long length = source.length();
      ByteBuffer chunk = ByteBuffer.allocateDirect((int) Math.min(length, 1 << 20));
      for (long done = 0; done < length; done += chunk.limit()) {
        chunk.clear().limit((int) Math.min(chunk.capacity(), length - done));
        source.readFully(chunk, done);
        target.writeFully(chunk.flip(), done);
      }
      target.force();
    }
    disk.move(temporary, root.resolve(to));
  }

  /** Removes names that are of no use any more; a store can be opened with them, too. */
  private void tidy(boolean wroteIndex) throws IOException {
    if (wroteIndex) {
      List<String> read = new ArrayList<>();
      others.forEach(other -> read.add(other.name));
      read.addAll(chain.subList(Math.min(1, chain.size()), chain.size()));
      for (String name : read) {
        disk.move(root.resolve(name), root.resolve(FileNames.replaced(name)));
      }
      Set<Integer> used = usedSegments();
      for (Source source : sources.values()) {
        if (source.isAside && used.contains(source.segment)) {
          disk.delete(root.resolve(source.name));
        }
      }
    }
    for (String name : spareNames) {
      disk.delete(root.resolve(name));
    }
    disk.forceNames(root);
  }
}
