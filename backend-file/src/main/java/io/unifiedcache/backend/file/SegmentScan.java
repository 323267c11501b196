package io.unifiedcache.backend.file;

import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A look through a segment for extents whose headers are whole, whatever the index says. */
final class SegmentScan {
  private static final int CHUNK_BYTES = 4 << 20;

  /** Is told of what is found. */
  interface Visitor {
    /**
     * Looks at an extent.
     *
     * @param header its header, which is right for its place
     * @return whether its bytes are right, so that no other extent is in them
     */
    boolean visit(ExtentHeader header, StoredObject object) throws IOException, LateException;
  }

  private SegmentScan() {}

  /** Passes on the extents of a segment, in the order of their places. */
  static void scan(DiskFile file, int segment, Visitor visitor) throws IOException, LateException {
    long length = file.length();
    ByteBuffer chunk =
        ByteBuffer.allocateDirect((int) Math.min(length, CHUNK_BYTES))
            .order(ByteOrder.LITTLE_ENDIAN);
    long offset = 0;
    while (offset < length) {
      long begin = offset;
      chunk.clear().limit((int) Math.min(chunk.capacity(), length - begin));
      file.readFully(chunk, begin);
      chunk.flip();
      int size = chunk.limit();
      while (offset - begin + Long.BYTES <= size) {
        int bytes = ExtentHeader.bytesOf(chunk.position((int) (offset - begin)));
        offset +=
            bytes > 0 && bytes <= length - offset
                ? visit(file, segment, offset, bytes, visitor)
                : ExtentHeader.GRANULE;
      }
      if (offset == begin) {
        // Fewer bytes are left than any header has.
        return;
      }
    }
  }

  /** Returns how many bytes behind the beginning of a header another one may be. */
  private static long visit(
      DiskFile file, int segment, long offset, int headerBytes, Visitor visitor)
      throws IOException, LateException {
    ByteBuffer bytes = ByteBuffer.allocate(headerBytes);
    file.readFully(bytes, offset);
    ExtentHeader header = ExtentHeader.read(bytes.flip(), segment, offset);
    StoredObject object = header == null ? null : header.objectAt(segment, offset);
    if (header == null || object == null) {
      return ExtentHeader.GRANULE;
    }
    return visitor.visit(header, object) ? object.extentBytes() : ExtentHeader.GRANULE;
  }
}
