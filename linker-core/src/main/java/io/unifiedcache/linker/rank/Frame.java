package io.unifiedcache.linker.rank;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.UUID;

/**
 * One message between ranks: a head of 40 bytes, and a payload.
 *
 * <p>The wire form is this project's own. All numbers are big-endian. The head is the magic number
 * {@code UCRK} (4 bytes), the version (2), the kind (2), the rank of the sender (4), the session
 * (16), the number of the operation, counted from 0 (8), and the length of the payload in bytes
 * (4). Magic number and version keep their places in every version.
 *
 * @param payload between its position and its limit
 */
record Frame(Kind kind, int rank, long operation, ByteBuffer payload) {
  /** What a message says. */
  enum Kind {
    /** A rank is here; the payload is the number of ranks that it expects, 4 bytes. */
    HELLO(0, Integer.BYTES),
    /** All ranks are there. */
    WELCOME(1, 0),
    /** The bits of a rank, or from rank 0 those of all: bit 0 is the lowest of the first byte. */
    BITS(2, 4 << 20),
    /** There is no agreement any more; the payload is the reason in UTF-8. */
    LOST(3, 1 << 10);

    private final int number;
    private final int mostBytes;

    Kind(int number, int mostBytes) {
      this.number = number;
      this.mostBytes = mostBytes;
    }

    static Kind of(int number) throws ProtocolException {
      for (Kind kind : values()) {
        if (kind.number == number) {
          return kind;
        }
      }
      throw new ProtocolException("a message is of the unknown kind " + number);
    }
  }

  static final int HEAD_BYTES = 3 * Integer.BYTES + 2 * Short.BYTES + 3 * Long.BYTES;

  /** The most bits that ranks can agree on at once. */
  static final int MOST_BITS = Kind.BITS.mostBytes * Byte.SIZE;

  static final short VERSION = 1;

  private static final int MAGIC = 0x5543524b;

  static Frame hello(int rank, int size) {
    return new Frame(Kind.HELLO, rank, 0, ByteBuffer.allocate(Integer.BYTES).putInt(0, size));
  }

  static Frame welcome() {
    return new Frame(Kind.WELCOME, 0, 0, ByteBuffer.allocate(0));
  }

  static Frame bits(int rank, long operation, BitSet bits) {
    return new Frame(Kind.BITS, rank, operation, ByteBuffer.wrap(bits.toByteArray()));
  }

  static Frame lost(int rank, String why) {
    byte[] text = why.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(text.length, Kind.LOST.mostBytes);
    return new Frame(Kind.LOST, rank, 0, ByteBuffer.wrap(text, 0, length));
  }

  /** Returns the message as it is sent. */
  ByteBuffer encode(UUID session) {
    ByteBuffer encoded = ByteBuffer.allocate(HEAD_BYTES + payload.remaining());
    encoded.putInt(MAGIC).putShort(VERSION).putShort((short) kind.number).putInt(rank);
    encoded.putLong(session.getMostSignificantBits()).putLong(session.getLeastSignificantBits());
    encoded.putLong(operation).putInt(payload.remaining()).put(payload.duplicate());
    return encoded.flip();
  }

  /**
   * Reads a head.
   *
   * @return the message with a payload that is still to be filled
   * @throws ProtocolException if it is not of this protocol, version or session, before anything is
   *     allocated
   */
  static Frame ofHead(ByteBuffer head, UUID session) throws ProtocolException {
    int magic = head.getInt();
    if (magic != MAGIC) {
      throw new ProtocolException(
          "what came is no message of a rank, but begins with 0x%08x".formatted(magic));
    }
    short version = head.getShort();
    if (version != VERSION) {
      throw new ProtocolException(
          "version %d of the protocol of ranks meets version %d".formatted(VERSION, version));
    }
    short kindNumber = head.getShort();
    int rank = head.getInt();
    if (!session.equals(new UUID(head.getLong(), head.getLong()))) {
      throw new ProtocolException("a message is of another session");
    }
    long operation = head.getLong();
    int length = head.getInt();
    Kind kind = Kind.of(kindNumber);
    if (length < 0 || length > kind.mostBytes || (kind == Kind.HELLO && length != Integer.BYTES)) {
      throw new ProtocolException(
          "a message of the kind %s has %d bytes, not at most %d"
              .formatted(kind, length, kind.mostBytes));
    }
    return new Frame(kind, rank, operation, ByteBuffer.allocate(length));
  }

  /** Returns the number of ranks of a HELLO. */
  int expectedSize() {
    return payload.getInt(payload.position());
  }

  /** Returns the bits of BITS. */
  BitSet bits() {
    return BitSet.valueOf(payload);
  }

  /** Returns the reason of LOST. */
  String reason() {
    return StandardCharsets.UTF_8.decode(payload.duplicate()).toString();
  }
}
