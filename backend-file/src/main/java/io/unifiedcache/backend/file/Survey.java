package io.unifiedcache.backend.file;

import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.StoreStats;
import java.io.IOException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What is in a store in segments, at one moment.
 *
 * @param objects the live objects
 * @param details what an operator may want to know beyond them
 */
record Survey(List<StoredObject> objects, SequencedMap<String, String> details) {
  /** Looks at a store. */
  static Survey of(FileEngine engine, Disk disk, Tuning tuning) throws IOException {
    SortedMap<Integer, Index.Segment> segments = engine.segments();
    List<StoredObject> objects = engine.objects();
    SequencedMap<String, String> details = new LinkedHashMap<>();
    details.put(
        "store", "segments, format %d, %s".formatted(Superblock.VERSION, engine.log().store()));
    String log = engine.log().fileName();
    details.put(
        "index log",
        "%s, %s".formatted(log, bytes(Math.max(0, disk.size(engine.root().resolve(log))))));
    details.put("changed last by", engine.log().publisher());
    addSegments(details, segments, engine);
    addExtents(details, segments, objects);
    addWriters(details, segments, engine);
    addFiles(details, segments, engine, disk);
    SetAside aside = new SetAside(disk, engine.root(), tuning.minFree());
    details.put("set aside", "%,d files, %s".formatted(aside.files(), bytes(aside.bytes())));
    details.put("disk", bytes(disk.usableBytes(engine.root())) + " free");
    return new Survey(objects, details);
  }

  private static String bytes(long bytes) {
    return "%,d bytes".formatted(bytes);
  }

  private static void addSegments(
      Map<String, String> details, SortedMap<Integer, Index.Segment> segments, FileEngine engine)
      throws IOException {
    long most = 0;
    long written = 0;
    for (Map.Entry<Integer, Index.Segment> segment : segments.entrySet()) {
      most += segment.getValue().bytes();
      written += Math.max(0, engine.files().size(segment.getKey()));
    }
    details.put(
        "segments",
        "%,d, may take %s, have taken %s".formatted(segments.size(), bytes(most), bytes(written)));
  }

  /** Free is what lies between the extents of live objects, and behind them. */
  private static void addExtents(
      Map<String, String> details,
      SortedMap<Integer, Index.Segment> segments,
      List<StoredObject> objects) {
    long taken = 0;
    long payload = 0;
    long runs = 0;
    long free = 0;
    long largest = 0;
    Map<Integer, Long> ends = new TreeMap<>();
    for (StoredObject object : objects) {
      taken += object.extentBytes();
      payload += object.size;
      long gap = object.offset - ends.getOrDefault(object.segment, 0L);
      if (gap > 0) {
        runs++;
        free += gap;
        largest = Math.max(largest, gap);
      }
      ends.merge(object.segment, object.offset + object.extentBytes(), Math::max);
    }
    for (Map.Entry<Integer, Index.Segment> segment : segments.entrySet()) {
      long gap = segment.getValue().bytes() - ends.getOrDefault(segment.getKey(), 0L);
      if (gap > 0) {
        runs++;
        free += gap;
        largest = Math.max(largest, gap);
      }
    }
    details.put(
        "extents", "%s, of which headers %s".formatted(bytes(taken), bytes(taken - payload)));
    details.put(
        "free extents", "%,d, %s, the largest %s".formatted(runs, bytes(free), bytes(largest)));
  }

  private static void addWriters(
      Map<String, String> details, SortedMap<Integer, Index.Segment> segments, FileEngine engine)
      throws IOException {
    Set<Long> writers = new HashSet<>();
    segments.values().forEach(segment -> writers.add(segment.writer()));
    int dead = 0;
    for (long writer : writers) {
      dead += engine.isDead(writer) ? 1 : 0;
    }
    details.put(
        "writers",
        dead == 0
            ? "%,d".formatted(writers.size())
            : "%,d, of which %,d have ended; whoever needs room takes over their segments"
                .formatted(writers.size(), dead));
  }

  /** Counts what the next one to open the store deletes. */
  private static void addFiles(
      Map<String, String> details,
      SortedMap<Integer, Index.Segment> segments,
      FileEngine engine,
      Disk disk)
      throws IOException {
    long count = 0;
    long bytes = 0;
    for (String name : disk.names(engine.root())) {
      int segment = FileNames.asSegment(name);
      if (name.endsWith(FileNames.TEMPORARY)
          || (segment >= 0 && !segments.containsKey(segment))
          || (FileNames.asLog(name) >= 0 && !name.equals(engine.log().fileName()))) {
        count++;
        bytes += Math.max(0, disk.size(engine.root().resolve(name)));
      }
    }
    details.put("leftovers", "%,d files, %s".formatted(count, bytes(bytes)));
  }

  /** Returns what the operator is told. */
  StoreInventory inventory(Optional<Long> capacity) {
    return new StoreInventory(
        objects.size(),
        objects.stream().mapToLong(object -> object.size).sum(),
        capacity.orElse(StoreStats.UNKNOWN),
        /* listed= */ true,
        details);
  }
}
