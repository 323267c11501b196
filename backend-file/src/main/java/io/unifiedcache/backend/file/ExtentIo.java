package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * Copies parts of objects between memory and the extents of segment files. Thread-safe.
 *
 * <p>Whatever goes wrong is a failure of the entry.
 */
final class ExtentIo {
  private static final ThreadLocal<ByteBuffer> SCRATCH =
      ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(ExtentHeader.LEAST_BLOCK));

  /** An extent up to this size is written at once, from a copy. */
  private static final int MOST_AT_ONCE = 16 << 10;

  /**
   * Checksums follow in runs of this size: they cost least on what the copy has left in the caches,
   * and large copies cost less than small ones.
   */
  private static final long RUN_BYTES = 256 << 10;

  private final Segments segments;
  private final UUID store;

  ExtentIo(Segments segments, UUID store) {
    this.segments = segments;
    this.store = store;
  }

  /** Writes a part of an object, and the header once all parts are written. */
  void write(ObjectCopy.Part part) {
    ObjectCopy copy = part.copy();
    try {
      if (copy.hasFailed()) {
        return;
      }
      if (isSmall(part)) {
        writeAtOnce(copy);
        return;
      }
      writePayload(part);
      if (copy.partsLeft.decrementAndGet() == 0) {
        writeHeader(copy.object());
      }
    } catch (IOException e) {
      copy.fail(copy.failure(Failures.codeOf(e), "it cannot be written: " + e).asRetryable());
    } catch (RuntimeException | Error e) {
      copy.fail(e);
    }
  }

  private static boolean isSmall(ObjectCopy.Part part) {
    StoredObject object = part.copy().object();
    return part.bytes() == object.size
        && object.extentBytes() <= MOST_AT_ONCE
        && object.sums().length <= 1;
  }

  /** Writes header and payload of a small object with one call of the system, which costs more. */
  private void writeAtOnce(ObjectCopy copy) throws IOException {
    StoredObject object = copy.object();
    int headerBytes = (int) ExtentHeader.padded(object.headerBytes);
    int bytes = object.size == 0 ? object.headerBytes : headerBytes + (int) object.size;
    ByteBuffer extent = scratch(Math.max(bytes, headerBytes)).position(headerBytes);
    copy.visit(0, object.size, extent::put);
    if (object.sums().length == 1) {
      CRC32C sum = new CRC32C();
      sum.update(extent.slice(headerBytes, (int) object.size));
      object.sums()[0] = (int) sum.getValue();
    }
    extent.position(0);
    ExtentHeader.write(extent, object, store);
    while (extent.position() < headerBytes && extent.position() < extent.limit()) {
      extent.put((byte) 0);
    }
    segments.file(object.segment).writeFully(extent.position(0).limit(bytes), object.offset);
  }

  private void writePayload(ObjectCopy.Part part) throws IOException {
    StoredObject object = part.copy().object();
    DiskFile file = segments.file(object.segment);
    int blockBytes = object.blockBytes();
    long offset = part.objectOffset();
    long from = part.from();
    while (from < part.to()) {
      long length = Math.min(part.to() - from, runBytes(blockBytes));
      writeRun(file, part.copy(), from, from + length, object.payloadOffset() + offset);
      if (blockBytes > 0) {
        sumUp(part.copy(), from, offset, length);
      }
      from += length;
      offset += length;
    }
  }

  /** Returns the bytes that are copied before they are summed up. */
  private static long runBytes(int blockBytes) {
    return blockBytes == 0 ? Long.MAX_VALUE : Math.max(RUN_BYTES, blockBytes);
  }

  private static void writeRun(DiskFile file, ObjectCopy copy, long from, long to, long position)
      throws IOException {
    long[] at = {position};
    copy.visit(
        from,
        to,
        memory -> {
          int bytes = memory.remaining();
          file.writeFully(memory, at[0]);
          at[0] += bytes;
        });
  }

  /** Sums up blocks that were just written, and so are in the caches of the processor. */
  private static void sumUp(ObjectCopy copy, long from, long offset, long bytes)
      throws IOException {
    StoredObject object = copy.object();
    int[] sums = object.sums();
    CRC32C sum = new CRC32C();
    for (long done = 0; done < bytes; done += object.blockBytes()) {
      sum.reset();
      copy.visit(from + done, from + Math.min(done + object.blockBytes(), bytes), sum::update);
      sums[(int) ((offset + done) / object.blockBytes())] = (int) sum.getValue();
    }
  }

  private void writeHeader(StoredObject object) throws IOException {
    ByteBuffer header = scratch(object.headerBytes);
    ExtentHeader.write(header, object, store);
    segments.file(object.segment).writeFully(header.flip(), object.offset);
  }

  /** Reads a part of an object, and holds it against its checksums. */
  void read(ObjectCopy.Part part, boolean check) {
    ObjectCopy copy = part.copy();
    if (copy.hasFailed()) {
      return;
    }
    try {
      StoredObject object = copy.object();
      if (!object.hasSums() && !readHeader(object)) {
        copy.failDamaged("its header is not the one that was written");
        return;
      }
      readPayload(part, check && object.blockBytes() > 0);
    } catch (NoSuchFileException e) {
      copy.failMissing();
    } catch (EOFException e) {
      copy.failDamaged("its segment file ends early");
    } catch (IOException e) {
      copy.fail(copy.failure(FailureCode.IO, "it cannot be read: " + e).asRetryable());
    } catch (RuntimeException | Error e) {
      copy.fail(e);
    }
  }

  /** Reads the header and remembers the checksums; false if it is not that of the object. */
  boolean readHeader(StoredObject object) throws IOException {
    ByteBuffer bytes = scratch(object.headerBytes);
    segments.file(object.segment).readFully(bytes, object.offset);
    ExtentHeader header = ExtentHeader.read(bytes.flip(), object.segment, object.offset);
    if (header == null || !header.isOf(object)) {
      return false;
    }
    object.know(header.blockBytes(), header.sums());
    return true;
  }

  private void readPayload(ObjectCopy.Part part, boolean check) throws IOException {
    if (part.bytes() == 0) {
      return;
    }
    ObjectCopy copy = part.copy();
    StoredObject object = copy.object();
    DiskFile file = segments.file(object.segment);
    copy.begin();
    long offset = part.objectOffset();
    long from = part.from();
    while (from < part.to()) {
      // Up to the end of a block, if not of the part.
      long length =
          check
              ? Math.min(
                  part.to() - from, runBytes(object.blockBytes()) - offset % object.blockBytes())
              : part.to() - from;
      readRun(file, copy, from, from + length, object.payloadOffset() + offset);
      if (check && !isWhole(file, copy, from, offset, length)) {
        return;
      }
      from += length;
      offset += length;
    }
  }

  private static void readRun(DiskFile file, ObjectCopy copy, long from, long to, long position)
      throws IOException {
    long[] at = {position};
    copy.visit(
        from,
        to,
        memory -> {
          int bytes = memory.remaining();
          file.readFully(memory, at[0]);
          at[0] += bytes;
        });
  }

  /** Holds what was just read against the checksums of its blocks; fails the entry otherwise. */
  private static boolean isWhole(DiskFile file, ObjectCopy copy, long from, long offset, long bytes)
      throws IOException {
    StoredObject object = copy.object();
    CRC32C sum = new CRC32C();
    long blockBytes = object.blockBytes();
    for (long done = 0; done < bytes; ) {
      long at = offset + done;
      long begin = at - at % blockBytes;
      long end = Math.min(begin + blockBytes, object.size);
      long length = Math.min(bytes - done, end - at);
      sum.reset();
      // The edges of a block that the range does not ask for are read for the checksum alone.
      sumUp(file, object.payloadOffset() + begin, at - begin, sum);
      copy.visit(from + done, from + done + length, sum::update);
      sumUp(file, object.payloadOffset() + at + length, end - at - length, sum);
      if (object.sums()[(int) (begin / blockBytes)] != (int) sum.getValue()) {
        copy.failDamaged(
            "the bytes from %d to %d are not those that were put".formatted(begin, end));
        return false;
      }
      done += length;
    }
    return true;
  }

  private static void sumUp(DiskFile file, long position, long bytes, CRC32C sum)
      throws IOException {
    while (bytes > 0) {
      ByteBuffer some = scratch((int) Math.min(bytes, ExtentHeader.LEAST_BLOCK));
      int length = some.remaining();
      file.readFully(some, position);
      sum.update(some.flip());
      position += length;
      bytes -= length;
    }
  }

  private static ByteBuffer scratch(int bytes) {
    ByteBuffer scratch = SCRATCH.get();
    return bytes <= scratch.capacity()
        ? scratch.clear().limit(bytes)
        : ByteBuffer.allocateDirect(bytes);
  }
}
