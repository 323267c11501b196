package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * One change of the index, as it is written in the log.
 *
 * <p>See {@code docs/file-format.md}, section "Index log".
 */
sealed interface LogEntry {
  /** An object can be found from now on. */
  record Put(
      ObjectKey key,
      long generation,
      int segment,
      long offset,
      int headerBytes,
      long size,
      int stored)
      implements LogEntry {
    static Put of(StoredObject object) {
      return new Put(
          object.key,
          object.generation,
          object.segment,
          object.offset,
          object.headerBytes,
          object.size,
          object.stored);
    }

    /** Returns the object. */
    StoredObject object() {
      return new StoredObject(key, generation, segment, offset, headerBytes, size, stored);
    }
  }

  /** An object is gone, because somebody removed it or because its room was needed. */
  record Remove(ObjectKey key, long generation, boolean evicted) implements LogEntry {}

  /** All objects under a prefix are gone; the empty prefix is that of all. */
  record Clear(String prefix) implements LogEntry {}

  /** A segment file has so many bytes and belongs to a writer. */
  record Segment(int segment, long bytes, long writer) implements LogEntry {}

  /** A segment file, and whatever was in it, is gone. */
  record Gone(int segment) implements LogEntry {}

  /**
   * What has been used: segments of lower numbers, of which those that are not named are gone, and
   * generations up to one, whose objects are gone unless they are named.
   */
  record NextSegment(int segment, long generation) implements LogEntry {}

  /** An object was used lately. */
  record Touch(ObjectKey key) implements LogEntry {}

  /** The log goes on in another file, after the snapshot at its beginning. */
  record Continued(long log, long snapshotEnd) implements LogEntry {}

  byte PUT = 1;
  byte REMOVE = 2;
  byte EVICT = 3;
  byte CLEAR = 4;
  byte SEGMENT = 5;
  byte GONE = 6;
  byte TOUCH = 7;
  byte CONTINUED = 8;
  byte NEXT_SEGMENT = 9;

  /** No entry is larger. */
  int MOST_BYTES = 64 + Limits.KEY_BYTES;

  /** Writes the entry; the target has {@link #MOST_BYTES} left. */
  default void write(ByteBuffer target) {
    switch (this) {
      case Put put -> {
        target.put(PUT).putLong(put.generation).putInt(put.segment).putLong(put.offset);
        target.putInt(put.headerBytes).putLong(put.size).putInt(put.stored);
        write(target, put.key.value());
      }
      case Remove remove -> {
        target.put(remove.evicted ? EVICT : REMOVE).putLong(remove.generation);
        write(target, remove.key.value());
      }
      case Clear clear -> {
        target.put(CLEAR);
        write(target, clear.prefix);
      }
      case Segment segment ->
          target
              .put(SEGMENT)
              .putInt(segment.segment)
              .putLong(segment.bytes)
              .putLong(segment.writer);
      case Gone gone -> target.put(GONE).putInt(gone.segment);
      case NextSegment next ->
          target.put(NEXT_SEGMENT).putInt(next.segment).putLong(next.generation);
      case Touch touch -> {
        target.put(TOUCH);
        write(target, touch.key.value());
      }
      case Continued continued ->
          target.put(CONTINUED).putLong(continued.log).putLong(continued.snapshotEnd);
    }
  }

  private static void write(ByteBuffer target, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    target.putInt(bytes.length).put(bytes);
  }

  /**
   * Reads an entry; null if it is none.
   *
   * @throws java.nio.BufferUnderflowException if the source ends within it
   */
  static @Nullable LogEntry read(ByteBuffer source) {
    byte kind = source.get();
    switch (kind) {
      case PUT -> {
        long generation = source.getLong();
        int segment = source.getInt();
        long offset = source.getLong();
        int headerBytes = source.getInt();
        long size = source.getLong();
        int stored = source.getInt();
        String key = readText(source);
        if (key == null || key.isEmpty()) {
          return null;
        }
        boolean legal =
            Segments.isNumber(segment)
                && offset >= 0
                && offset % ExtentHeader.GRANULE == 0
                && headerBytes > 0
                && headerBytes <= ExtentHeader.MOST_BYTES
                && size >= 0
                && size <= Limits.MOST_CAPACITY
                && offset <= Segments.MOST_BYTES - ExtentHeader.extentBytes(headerBytes, size);
        return legal
            ? new Put(new ObjectKey(key), generation, segment, offset, headerBytes, size, stored)
            : null;
      }
      case REMOVE, EVICT -> {
        long generation = source.getLong();
        String key = readText(source);
        return key == null || key.isEmpty()
            ? null
            : new Remove(new ObjectKey(key), generation, kind == EVICT);
      }
      case CLEAR -> {
        String prefix = readText(source);
        return prefix == null ? null : new Clear(prefix);
      }
      case SEGMENT -> {
        Segment segment = new Segment(source.getInt(), source.getLong(), source.getLong());
        return Segments.isNumber(segment.segment)
                && segment.bytes > 0
                && segment.bytes <= Segments.MOST_BYTES
            ? segment
            : null;
      }
      case GONE -> {
        Gone gone = new Gone(source.getInt());
        return Segments.isNumber(gone.segment) ? gone : null;
      }
      case NEXT_SEGMENT -> {
        NextSegment next = new NextSegment(source.getInt(), source.getLong());
        return next.segment > 0 && Segments.isNumber(next.segment - 1) ? next : null;
      }
      case TOUCH -> {
        String key = readText(source);
        return key == null || key.isEmpty() ? null : new Touch(new ObjectKey(key));
      }
      case CONTINUED -> {
        Continued continued = new Continued(source.getLong(), source.getLong());
        return continued.log > 0 && continued.snapshotEnd > 0 ? continued : null;
      }
      default -> {
        return null;
      }
    }
  }

  /** Returns null if it is too long or no well-formed UTF-8. */
  private static @Nullable String readText(ByteBuffer source) {
    int length = source.getInt();
    if (length < 0 || length > Limits.KEY_BYTES || length > source.remaining()) {
      return null;
    }
    ByteBuffer bytes = source.slice(source.position(), length);
    source.position(source.position() + length);
    try {
      CharBuffer text = StandardCharsets.UTF_8.newDecoder().decode(bytes);
      return text.toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }
}
