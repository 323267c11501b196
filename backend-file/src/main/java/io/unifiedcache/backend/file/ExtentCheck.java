package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Holds objects against what the log and their headers say of them, as they are on the disk now.
 *
 * <p>Thread-safe. What this process knows of an object already is not trusted.
 */
final class ExtentCheck {
  private static final int BUFFER_BYTES = 1 << 20;

  private static final ThreadLocal<ByteBuffer> BUFFER =
      ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(BUFFER_BYTES));

  private final Files files;

  /** Returns the files of segments. */
  interface Files {
    DiskFile file(int segment) throws IOException;
  }

  ExtentCheck(Files files) {
    this.files = files;
  }

  /**
   * What was seen of an object.
   *
   * @param proven whether its bytes have checksums
   * @param damage what is wrong
   */
  record Seen(StoredObject object, boolean proven, Optional<Damage> damage) {}

  /**
   * What is wrong with an object.
   *
   * @param code {@code CORRUPT} where reading it would give it up, too
   */
  record Damage(FailureCode code, String message) {
    boolean isLasting() {
      return code == FailureCode.CORRUPT;
    }
  }

  /** Reads an object. */
  Seen check(StoredObject object) {
    try {
      DiskFile file = files.file(object.segment);
      ExtentHeader header = header(object, file);
      if (header == null) {
        return damaged(object, FailureCode.CORRUPT, "its header is damaged");
      } else if (!header.isOf(object)) {
        return damaged(object, FailureCode.CORRUPT, "its header is that of another object");
      }
      long block = wrongBlock(object, header, file);
      if (block >= 0) {
        long begin = block * header.blockBytes();
        long end = Math.min(begin + header.blockBytes(), object.size);
        return damaged(
            object,
            FailureCode.CORRUPT,
            "its bytes from %,d to %,d are not those that were put".formatted(begin, end));
      }
      return new Seen(object, header.blockBytes() > 0 || object.size == 0, Optional.empty());
    } catch (NoSuchFileException e) {
      return damaged(object, FailureCode.CORRUPT, "its segment file is gone");
    } catch (EOFException e) {
      return damaged(object, FailureCode.CORRUPT, "its segment file ends early");
    } catch (IOException e) {
      return damaged(object, FailureCode.IO, "it cannot be read: " + e);
    }
  }

  private static Seen damaged(StoredObject object, FailureCode code, String message) {
    String where =
        " (%s, %,d bytes at %,d)"
            .formatted(FileNames.segment(object.segment), object.extentBytes(), object.offset);
    return new Seen(object, /* proven= */ false, Optional.of(new Damage(code, message + where)));
  }

  private static @Nullable ExtentHeader header(StoredObject object, DiskFile file)
      throws IOException {
    ByteBuffer bytes = BUFFER.get().clear().limit(object.headerBytes);
    file.readFully(bytes, object.offset);
    return ExtentHeader.read(bytes.flip(), object.segment, object.offset);
  }

  /** Returns the number of the first block that is not what its checksum says, or -1. */
  private static long wrongBlock(StoredObject object, ExtentHeader header, DiskFile file)
      throws IOException {
    int[] sums = header.sums();
    // Without checksums the bytes are read all the same, to see that they can be.
    long blockBytes = header.blockBytes() == 0 ? BUFFER_BYTES : header.blockBytes();
    ByteBuffer buffer = BUFFER.get();
    long done = 0;
    CRC32C sum = new CRC32C();
    while (done < object.size) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), object.size - done));
      file.readFully(buffer, object.payloadOffset() + done);
      buffer.flip();
      while (buffer.hasRemaining()) {
        long block = done / blockBytes;
        int length = (int) Math.min(buffer.remaining(), (block + 1) * blockBytes - done);
        sum.update(buffer.slice(buffer.position(), length));
        buffer.position(buffer.position() + length);
        done += length;
        if (done == Math.min((block + 1) * blockBytes, object.size)) {
          if (header.blockBytes() > 0 && sums[(int) block] != (int) sum.getValue()) {
            return block;
          }
          sum.reset();
        }
      }
    }
    return -1;
  }
}
