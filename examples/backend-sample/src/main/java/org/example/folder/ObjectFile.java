package org.example.folder;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;

/** The file of an object: the length of its key, its key, its bytes, and their checksum. */
final class ObjectFile {
  private static final int LENGTH_BYTES = Integer.BYTES;
  private static final int CHECKSUM_BYTES = Integer.BYTES;

  /** A view as a ByteBuffer has at most 2^31 - 1 bytes. */
  private static final long LARGEST_VIEW = 1L << 30;

  private ObjectFile() {}

  static byte[] bytes(ObjectKey key) {
    return key.value().getBytes(StandardCharsets.UTF_8);
  }

  static String name(ObjectKey key) {
    try {
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(bytes(key));
      return HexFormat.of().formatHex(hash) + ".object";
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  static void write(Path file, ObjectKey key, List<Memory> pieces) throws IOException {
    byte[] name = bytes(key);
    CRC32C checksum = new CRC32C();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      ByteBuffer head = ByteBuffer.allocate(LENGTH_BYTES + name.length);
      writeAll(channel, head.putInt(name.length).put(name).flip());
      for (Memory piece : pieces) {
        MemorySegment memory = ((HostMemory) piece).segment();
        for (long at = 0; at < memory.byteSize(); at += LARGEST_VIEW) {
          ByteBuffer view = view(memory, at);
          checksum.update(view.duplicate());
          writeAll(channel, view);
        }
      }
      ByteBuffer tail = ByteBuffer.allocate(CHECKSUM_BYTES);
      writeAll(channel, tail.putInt((int) checksum.getValue()).flip());
    }
  }

  /** Fills the pieces, which take {@code size} bytes together. */
  static void read(Path file, ObjectKey key, List<Memory> pieces, long size) throws IOException {
    byte[] name = bytes(key);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      ByteBuffer head = ByteBuffer.allocate(LENGTH_BYTES + name.length);
      long stored = channel.size() - head.capacity() - CHECKSUM_BYTES;
      if (stored < 0) {
        throw EntryException.of(FailureCode.CORRUPT, "the file of " + key + " is too short");
      }
      readAll(channel, head);
      if (head.getInt() != name.length || !head.equals(ByteBuffer.wrap(name))) {
        throw EntryException.of(FailureCode.CORRUPT, "the file of " + key + " names another key");
      }
      if (stored != size) {
        throw EntryException.of(
            FailureCode.SIZE_MISMATCH,
            "object %s has %d bytes, not %d".formatted(key, stored, size));
      }
      CRC32C checksum = new CRC32C();
      for (Memory piece : pieces) {
        MemorySegment memory = ((HostMemory) piece).segment();
        for (long at = 0; at < memory.byteSize(); at += LARGEST_VIEW) {
          ByteBuffer view = view(memory, at);
          ByteBuffer read = view.duplicate();
          readAll(channel, view);
          checksum.update(read);
        }
      }
      ByteBuffer tail = ByteBuffer.allocate(CHECKSUM_BYTES);
      readAll(channel, tail);
      if (tail.getInt() != (int) checksum.getValue()) {
        throw new EntryException(
            new StoreFailure(
                FailureCode.CORRUPT,
                "object " + key + " has another checksum than when it was put",
                false,
                MemoryState.DIRTY));
      }
    }
  }

  private static ByteBuffer view(MemorySegment memory, long at) {
    return memory.asSlice(at, Math.min(LARGEST_VIEW, memory.byteSize() - at)).asByteBuffer();
  }

  private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  private static void readAll(FileChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      if (channel.read(bytes) < 0) {
        throw new EOFException("the file ends early");
      }
    }
    bytes.flip();
  }
}
