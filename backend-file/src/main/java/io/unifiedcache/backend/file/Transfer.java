package io.unifiedcache.backend.file;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The copying that one call has to do, cut into units that threads take one by one.
 *
 * <p>A unit is a part of a large object or a run of small ones: large enough to be worth taking,
 * and small enough that threads finish together and a deadline is kept.
 */
final class Transfer {
  /** A unit of this size costs far more to copy than to take. */
  private static final long LEAST_UNIT = 256 << 10;

  private static final long MOST_UNIT = 4 << 20;

  /** So many units for each thread, so that the last ones end at nearly the same time. */
  private static final int UNITS_PER_THREAD = 8;

  private Transfer() {}

  /** Copies everything, unless the job is late, and returns when no thread copies any more. */
  static void run(
      List<ObjectCopy> copies, IoThreads threads, Job job, Consumer<ObjectCopy.Part> how) {
    if (copies.isEmpty()) {
      return;
    }
    long bytes = 0;
    int largestBlock = ExtentHeader.LEAST_BLOCK;
    for (ObjectCopy copy : copies) {
      bytes += copy.size();
      largestBlock = Math.max(largestBlock, ExtentHeader.blockBytes(copy.object().size));
    }
    long unit = Math.clamp(bytes / threads.count() / UNITS_PER_THREAD, LEAST_UNIT, MOST_UNIT);
    // Where an object is cut, it is between blocks.
    long cut = Math.max(Long.highestOneBit(unit), largestBlock);
    // A file is written by one thread at a time, so that each begins with one of its own.
    Map<Integer, List<ObjectCopy.Part>> parts = new LinkedHashMap<>();
    for (ObjectCopy copy : copies) {
      copy.cut(cut, parts.computeIfAbsent(copy.object().segment, segment -> new ArrayList<>()));
    }
    List<List<List<ObjectCopy.Part>>> queues = new ArrayList<>();
    parts.values().forEach(some -> queues.add(units(some, cut)));
    threads.share(queues, some -> copy(some, job, how));
  }

  private static List<List<ObjectCopy.Part>> units(List<ObjectCopy.Part> parts, long most) {
    List<List<ObjectCopy.Part>> units = new ArrayList<>();
    int begin = 0;
    long bytes = 0;
    for (int i = 0; i < parts.size(); i++) {
      if (i > begin && bytes + parts.get(i).bytes() > most) {
        units.add(parts.subList(begin, i));
        begin = i;
        bytes = 0;
      }
      bytes += parts.get(i).bytes();
    }
    units.add(parts.subList(begin, parts.size()));
    return units;
  }

  private static void copy(List<ObjectCopy.Part> parts, Job job, Consumer<ObjectCopy.Part> how) {
    for (ObjectCopy.Part part : parts) {
      if (job.isLate()) {
        part.copy().failLate();
      } else {
        how.accept(part);
      }
    }
  }
}
