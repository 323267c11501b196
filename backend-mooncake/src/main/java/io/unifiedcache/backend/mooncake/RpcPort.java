package io.unifiedcache.backend.mooncake;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What answers at the port of a master, asked in the protocol that Mooncake's client speaks.
 *
 * <p>The client itself waits half a minute for a port that takes connections and says nothing, with
 * the lock of Python's interpreter in its hands, so that all stores of the process wait with it.
 *
 * @param kind what it is
 * @param version the version that a master says it has; empty if it says none
 */
record RpcPort(Kind kind, String version) {
  /** What answers. */
  enum Kind {
    /** A master of Mooncake. */
    MASTER,
    /** A server of Mooncake's protocol that does not know what is asked of a master. */
    OTHER_SERVER,
    /** A web server. */
    HTTP,
    /** Something of another protocol. */
    OTHER_PROTOCOL,
    /** It ends connections without a word, as a proxy does that has no server behind it. */
    DROPS,
    /** It takes connections and is silent. */
    SILENT
  }

  /** The first byte of each message. */
  private static final byte MAGIC = 21;

  private static final int REQUEST_BYTES = 20;
  private static final int ANSWER_BYTES = 16;

  /** The most that is read of the body of an answer. */
  private static final int BODY_BYTES = 4096;

  /** The most that is read of an answer. */
  static final int MAX_HEARD_BYTES = ANSWER_BYTES + BODY_BYTES;

  /** The most characters of a version that are shown. */
  static final int MAX_VERSION_CHARS = 64;

  /**
   * The number of {@code mooncake::WrappedMasterService::ServiceReady}: the first four bytes of the
   * MD5 of that name.
   */
  static final int SERVICE_READY = 0x7b81_bb56;

  private static final byte[] HTTP_REQUEST =
      "GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private static final Pattern VERSION =
      Pattern.compile("[0-9]{1,9}\\.[0-9]{1,9}[0-9A-Za-z_.+-]{0,45}");

  /**
   * Asks, and waits no longer than twice a time.
   *
   * @throws IOException if no connection can be made
   */
  static RpcPort ask(InetSocketAddress address, Duration time) throws IOException {
    RpcPort answer = of(exchange(address, time, request()));
    if (answer.kind != Kind.SILENT) {
      return answer;
    }
    // A web server waits for the end of a line.
    byte[] http = exchange(address, time, HTTP_REQUEST).bytes;
    return startsWith(http, "HTTP/") ? new RpcPort(Kind.HTTP, "") : answer;
  }

  /** What was read from a port, until it ended or fell silent. */
  static final class Heard {
    private final byte[] bytes;
    private final boolean ended;

    Heard(byte[] bytes, boolean ended) {
      this.bytes = bytes;
      this.ended = ended;
    }
  }

  private static byte[] request() {
    return ByteBuffer.allocate(REQUEST_BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(MAGIC)
        .put(new byte[3])
        .putInt(/* number of the request */ 1)
        .putInt(SERVICE_READY)
        .array();
  }

  private static Heard exchange(InetSocketAddress address, Duration time, byte[] request)
      throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(address, (int) time.toMillis());
      try {
        socket.getOutputStream().write(request);
        return hear(socket, System.nanoTime() + time.toNanos());
      } catch (IOException e) {
        // It has reset the connection.
        return new Heard(new byte[0], /* ended= */ true);
      }
    }
  }

  private static Heard hear(Socket socket, long end) throws IOException {
    byte[] heard = new byte[MAX_HEARD_BYTES];
    int count = 0;
    InputStream input = socket.getInputStream();
    while (count < expected(heard, count)) {
      long left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return new Heard(Arrays.copyOf(heard, count), /* ended= */ false);
      }
      socket.setSoTimeout((int) left);
      try {
        int more = input.read(heard, count, heard.length - count);
        if (more < 0) {
          return new Heard(Arrays.copyOf(heard, count), /* ended= */ true);
        }
        count += more;
      } catch (SocketTimeoutException e) {
        return new Heard(Arrays.copyOf(heard, count), /* ended= */ false);
      }
    }
    return new Heard(Arrays.copyOf(heard, count), /* ended= */ false);
  }

  /** Returns how many bytes are worth waiting for, by those that are there. */
  private static int expected(byte[] heard, int count) {
    if (count < 1 || (heard[0] == MAGIC && count < ANSWER_BYTES)) {
      return ANSWER_BYTES;
    }
    return heard[0] == MAGIC ? ANSWER_BYTES + bodyBytes(heard) : 1;
  }

  private static int bodyBytes(byte[] answer) {
    int bytes = ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN).getInt(8);
    return bytes < 0 ? 0 : Math.min(bytes, BODY_BYTES);
  }

  /** Says what it is that has answered so. */
  static RpcPort of(Heard heard) {
    byte[] bytes = heard.bytes;
    if (bytes.length == 0) {
      return new RpcPort(heard.ended ? Kind.DROPS : Kind.SILENT, "");
    } else if (bytes[0] != MAGIC || bytes.length < ANSWER_BYTES) {
      return new RpcPort(startsWith(bytes, "HTTP/") ? Kind.HTTP : Kind.OTHER_PROTOCOL, "");
    } else if (bytes[2] != 0) {
      return new RpcPort(Kind.OTHER_SERVER, "");
    }
    int end = Math.min(bytes.length, ANSWER_BYTES + bodyBytes(bytes));
    Matcher version =
        VERSION.matcher(
            new String(bytes, ANSWER_BYTES, end - ANSWER_BYTES, StandardCharsets.ISO_8859_1));
    return new RpcPort(Kind.MASTER, version.find() ? version.group() : "");
  }

  private static boolean startsWith(byte[] bytes, String text) {
    byte[] wanted = text.getBytes(StandardCharsets.US_ASCII);
    return bytes.length >= wanted.length
        && Arrays.equals(bytes, 0, wanted.length, wanted, 0, wanted.length);
  }
}
