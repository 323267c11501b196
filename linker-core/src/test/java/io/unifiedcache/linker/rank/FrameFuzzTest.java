package io.unifiedcache.linker.rank;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever another rank sends is a message within its bounds, or is refused. */
class FrameFuzzTest {
  private static final UUID SESSION = new UUID(17, 42);

  /** No message is longer than the bits that ranks agree on at once. */
  private static final int MAX_PAYLOAD = Frame.MOST_BITS / Byte.SIZE;

  /** Where the head names the session. */
  private static final int SESSION_PLACE = 12;

  /** Reads the bytes as they are, and as the message of a rank that knows the session. */
  @MethodSource("messages")
  @FuzzTest
  void ofHead_anyBytes_isAMessageOrRefused(byte[] bytes) {
    byte[] head = Arrays.copyOf(bytes, Frame.HEAD_BYTES);
    byte[] rest = Arrays.copyOfRange(bytes, Math.min(bytes.length, head.length), bytes.length);
    read(head, rest);
    ByteBuffer.wrap(head)
        .putLong(SESSION_PLACE, SESSION.getMostSignificantBits())
        .putLong(SESSION_PLACE + Long.BYTES, SESSION.getLeastSignificantBits());
    read(head, rest);
  }

  private static void read(byte[] head, byte[] rest) {
    Frame frame;
    try {
      frame = Frame.ofHead(ByteBuffer.wrap(head), SESSION);
    } catch (ProtocolException e) {
      assertThat(e).hasMessageMatching("(?s).+");
      return;
    }
    int length = frame.payload().remaining();
    assertThat(length).isBetween(0, MAX_PAYLOAD);
    frame.payload().put(Arrays.copyOf(rest, length)).flip();

    assertThat(frame.encode(SESSION).array()).startsWith(head);
    switch (frame.kind()) {
      case HELLO -> assertThat(frame.payload().getInt(0)).isEqualTo(frame.expectedSize());
      case WELCOME -> assertThat(length).isZero();
      case BITS -> assertThat(frame.bits().length()).isLessThanOrEqualTo(Byte.SIZE * length);
      case LOST -> assertThat(frame.reason().length()).isLessThanOrEqualTo(length);
    }
  }

  /** Returns a message of each kind. */
  static List<byte[]> messages() {
    return List.of(
            Frame.hello(1, 2),
            Frame.welcome(),
            Frame.bits(1, 7, BitSet.valueOf(new long[] {0b101, 1})),
            Frame.lost(0, "rank 1 was closed, ä"))
        .stream()
        .map(frame -> frame.encode(SESSION).array())
        .toList();
  }
}
