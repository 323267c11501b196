package io.unifiedcache.backend.file;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A run of log entries that is valid as a whole or not at all: its length, a checksum, the entries.
 *
 * <p>The checksum covers the number of the log and the place in it as well, so that a frame means
 * nothing anywhere else.
 */
final class LogFrame {
  static final int HEADER_BYTES = 8;

  /** No frame is larger, so that nobody allocates more than this on the word of a file. */
  static final int MOST_BYTES = 4 << 20;

  private LogFrame() {}

  /** Returns the frames that hold the entries, one after the other, ready to be written. */
  static ByteBuffer of(List<LogEntry> entries, long log, long position) {
    return of(entries, log, position, allocate(1 << 16));
  }

  /**
   * Returns the same.
   *
   * @param buffer what {@link #of} has returned before and is not needed any more
   */
  static ByteBuffer of(List<LogEntry> entries, long log, long position, ByteBuffer buffer) {
    ByteBuffer frames = buffer.clear();
    int begin = 0;
    frames.position(HEADER_BYTES);
    for (LogEntry entry : entries) {
      if (frames.remaining() < LogEntry.MOST_BYTES) {
        frames = allocate(2 * frames.capacity()).put(frames.flip());
      }
      int before = frames.position();
      entry.write(frames);
      if (frames.position() - begin > MOST_BYTES) {
        frames.position(before);
        seal(frames, begin, log, position + begin);
        begin = before;
        frames.position(begin + HEADER_BYTES);
        if (frames.remaining() < LogEntry.MOST_BYTES) {
          frames = allocate(2 * frames.capacity()).put(frames.flip());
        }
        entry.write(frames);
      }
    }
    seal(frames, begin, log, position + begin);
    return frames.flip();
  }

  private static ByteBuffer allocate(int bytes) {
    return ByteBuffer.allocateDirect(Math.max(bytes, 2 * LogEntry.MOST_BYTES))
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void seal(ByteBuffer frames, int begin, long log, long position) {
    int length = frames.position() - begin - HEADER_BYTES;
    ByteBuffer body = frames.slice(begin + HEADER_BYTES, length);
    frames.putInt(begin, length).putInt(begin + 4, sum(body, log, position));
  }

  private static int sum(ByteBuffer body, long log, long position) {
    CRC32C sum = new CRC32C();
    sum.update(ByteBuffer.allocate(16).putLong(log).putLong(position).flip());
    sum.update(body.duplicate());
    return (int) sum.getValue();
  }

  /**
   * Reads the frame at the position of the source, and moves on behind it.
   *
   * @param position where in the log that is
   * @return null if there is no whole and right frame; then the source does not move
   */
  static @Nullable List<LogEntry> read(ByteBuffer source, long log, long position) {
    source.order(ByteOrder.LITTLE_ENDIAN);
    if (source.remaining() < HEADER_BYTES) {
      return null;
    }
    int length = source.getInt(source.position());
    if (length <= 0 || length > MOST_BYTES || length > source.remaining() - HEADER_BYTES) {
      return null;
    }
    ByteBuffer body =
        source.slice(source.position() + HEADER_BYTES, length).order(ByteOrder.LITTLE_ENDIAN);
    if (source.getInt(source.position() + 4) != sum(body, log, position)) {
      return null;
    }
    List<LogEntry> entries = new ArrayList<>();
    try {
      while (body.hasRemaining()) {
        LogEntry entry = LogEntry.read(body);
        if (entry == null) {
          return null;
        }
        entries.add(entry);
      }
    } catch (BufferUnderflowException e) {
      return null;
    }
    source.position(source.position() + HEADER_BYTES + length);
    return entries;
  }
}
