package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a log says as far as it can be read, before and behind bytes that cannot, and what it does
 * not say.
 *
 * <p>Used by one thread, on logs that do not change meanwhile.
 */
final class LogReading {
  private static final int MAX_FRAME_BYTES = LogFrame.HEADER_BYTES + LogFrame.MOST_BYTES;

  /** What was removed at once, and the latest generation that there was then. */
  private record Cleared(String prefix, long latest) {}

  private final Index index = new Index(new Extents(1), /* self= */ 0);
  private final Map<ObjectKey, Long> told = new HashMap<>();
  private final List<Cleared> cleared = new ArrayList<>();
  private final Set<Integer> gone = new HashSet<>();

  /** What had been used when the log was begun; null if it does not say. */
  private LogEntry.@Nullable NextSegment begin;

  private LogEntry.@Nullable Continued continued;
  private long unreadable;

  /** Returns what the log says is there. */
  Index index() {
    return index;
  }

  /** Returns where the log goes on, if it does. */
  LogEntry.@Nullable Continued continued() {
    return continued;
  }

  /** Returns how many bytes cannot be read. */
  long unreadable() {
    return unreadable;
  }

  /** Returns whether nothing is missing, so that what is not live is gone. */
  boolean isWhole() {
    return unreadable == 0;
  }

  /** Notes that some bytes cannot be read. */
  void miss(long bytes) {
    unreadable += bytes;
  }

  /** Takes what could not be read for what another process is about to write. */
  void overlookMissing() {
    unreadable = 0;
  }

  /** Returns the segments that are named, or have objects. */
  Set<Integer> segments() {
    Set<Integer> named = new HashSet<>(index.segments().keySet());
    index.live().forEach(object -> named.add(object.segment));
    return named;
  }

  /** Returns whether the log says that an object is there, in this place. */
  boolean isLive(StoredObject object) {
    StoredObject live = index.find(object.key);
    return live != null
        && live.generation == object.generation
        && live.segment == object.segment
        && live.offset == object.offset;
  }

  /** Returns whether the log says anything of a key. */
  boolean tellsOf(ObjectKey key) {
    return told.containsKey(key)
        || cleared.stream().anyMatch(each -> key.value().startsWith(each.prefix));
  }

  /** Returns whether the log says that an object, which is not live, is gone. */
  boolean isGone(StoredObject object) {
    Long latest = told.get(object.key);
    if (latest != null && Long.compareUnsigned(object.generation, latest) <= 0) {
      return true;
    }
    return cleared.stream()
        .anyMatch(
            each ->
                object.key.value().startsWith(each.prefix)
                    && Long.compareUnsigned(object.generation, each.latest) <= 0);
  }

  /** Returns whether an object that the log does not name was gone when the log was begun. */
  boolean isOlder(StoredObject object) {
    LogEntry.NextSegment first = begin;
    return first != null && Long.compareUnsigned(object.generation, first.generation()) <= 0;
  }

  /** Returns whether a segment was added since the log was begun, and is not gone. */
  boolean mayHaveAdded(int segment) {
    LogEntry.NextSegment first = begin;
    return !gone.contains(segment) && (first == null || segment >= first.segment());
  }

  /**
   * Reads frames.
   *
   * @param number the number of the log
   * @param from where to begin
   */
  void read(DiskFile file, long number, long from) throws IOException {
    continued = null;
    Window window = new Window(file, from);
    long position = from;
    while (position < window.length && continued == null) {
      ByteBuffer at = window.at(position);
      int before = at.position();
      List<LogEntry> entries = LogFrame.read(at, number, position);
      if (entries != null) {
        entries.forEach(this::apply);
        position += at.position() - before;
      } else {
        long next = findNext(window, number, position);
        miss(next - position);
        position = next;
      }
    }
  }

  /** Returns where the next frame begins behind one that cannot be read, or the end. */
  private static long findNext(Window window, long number, long position) throws IOException {
    // Mostly it is not its length that is wrong.
    ByteBuffer at = window.at(position);
    if (at.remaining() >= LogFrame.HEADER_BYTES) {
      long length = at.getInt(at.position());
      long next = position + LogFrame.HEADER_BYTES + length;
      if (length > 0
          && length <= LogFrame.MOST_BYTES
          && next < window.length
          && LogFrame.read(window.at(next), number, next) != null) {
        return next;
      }
    }
    for (long next = position + 1; next + LogFrame.HEADER_BYTES < window.length; next++) {
      if (mayBegin(window.at(next)) && LogFrame.read(window.at(next), number, next) != null) {
        return next;
      }
    }
    return window.length;
  }

  /** Returns whether a frame may begin here, before its checksum costs anything. */
  private static boolean mayBegin(ByteBuffer at) {
    int length = at.getInt(at.position());
    if (length <= 0
        || length > LogFrame.MOST_BYTES
        || length > at.remaining() - LogFrame.HEADER_BYTES) {
      return false;
    }
    ByteBuffer body =
        at.slice(at.position() + LogFrame.HEADER_BYTES, length).order(ByteOrder.LITTLE_ENDIAN);
    try {
      return LogEntry.read(body) != null;
    } catch (BufferUnderflowException e) {
      return false;
    }
  }

  private void apply(LogEntry entry) {
    switch (entry) {
      case LogEntry.Put put -> tell(put.key(), put.generation());
      case LogEntry.Remove remove -> tell(remove.key(), remove.generation());
      case LogEntry.Clear clear ->
          cleared.add(new Cleared(clear.prefix(), index.latestGeneration()));
      case LogEntry.Gone segment -> gone.add(segment.segment());
      case LogEntry.NextSegment next -> begin = begin == null ? next : begin;
      case LogEntry.Continued next -> continued = next;
      case LogEntry.Segment segment -> {
        // The index knows it.
      }
      case LogEntry.Touch touch -> {
        // So it does of this.
      }
    }
    index.apply(entry);
  }

  private void tell(ObjectKey key, long generation) {
    told.merge(key, generation, Generations::later);
  }

  /** A part of a file that is in memory. */
  private static final class Window {
    private final DiskFile file;
    final long length;
    private final ByteBuffer bytes;
    private long begin;

    Window(DiskFile file, long from) throws IOException {
      this.file = file;
      length = file.length();
      begin = from;
      long most = Math.min(Math.max(0, length - from), 2L * MAX_FRAME_BYTES);
      bytes = ByteBuffer.allocateDirect((int) most).order(ByteOrder.LITTLE_ENDIAN).limit(0);
    }

    /**
     * Returns the bytes from a position on: those of the largest frame, where there are so many.
     */
    ByteBuffer at(long position) throws IOException {
      long end = Math.min(position + MAX_FRAME_BYTES, length);
      if (position < begin || end > begin + bytes.limit()) {
        begin = position;
        bytes.clear().limit((int) Math.min(bytes.capacity(), length - position));
        file.readFully(bytes, position);
        bytes.flip();
      }
      return bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN).position((int) (position - begin));
    }
  }
}
