package io.unifiedcache.linker.rank;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection to another rank. Nothing here waits: what has not arrived in whole is asked for
 * again, and what does not go out at once waits for {@link #flush}.
 *
 * <p>Not thread-safe.
 */
final class RankLink {
  private static final Logger LOG = LoggerFactory.getLogger(RankLink.class);

  private final SocketChannel channel;
  private final SelectionKey key;
  private final UUID session;
  private final Untold untold;
  private final String name;
  private final ByteBuffer head = ByteBuffer.allocate(Frame.HEAD_BYTES);

  /** The message of which the head has arrived. */
  private @Nullable Frame arriving;

  private final Deque<ByteBuffer> unsent = new ArrayDeque<>();

  /**
   * Begins to listen to a connection.
   *
   * @param channel a connected channel that does not block
   * @param untold takes what is to be logged
   */
  RankLink(SocketChannel channel, Selector selector, UUID session, Untold untold)
      throws IOException {
    this.channel = channel;
    this.session = session;
    this.untold = untold;
    this.name = String.valueOf(channel.getRemoteAddress());
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    this.key = channel.register(selector, SelectionKey.OP_READ, this);
  }

  /**
   * Returns the next message, or null if it has not arrived.
   *
   * @throws java.net.ProtocolException if what arrives is not of this protocol and session
   * @throws EOFException if the other end is closed
   */
  @Nullable Frame receive() throws IOException {
    if (arriving == null) {
      if (!fill(head)) {
        return null;
      }
      arriving = Frame.ofHead(head.flip(), session);
      head.clear();
    }
    Frame frame = arriving;
    if (!fill(frame.payload())) {
      return null;
    }
    frame.payload().flip();
    arriving = null;
    return frame;
  }

  private boolean fill(ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      int count = channel.read(buffer);
      if (count < 0) {
        throw new EOFException("the connection is closed");
      }
      if (count == 0) {
        return false;
      }
    }
    return true;
  }

  /** Sends a message, now as far as it goes. */
  void send(Frame frame) throws IOException {
    unsent.add(frame.encode(session));
    flush();
  }

  /** Goes on to send what {@link #send} has left. */
  void flush() throws IOException {
    while (!unsent.isEmpty()) {
      ByteBuffer next = unsent.getFirst();
      channel.write(next);
      if (next.hasRemaining()) {
        key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        return;
      }
      unsent.removeFirst();
    }
    key.interestOps(SelectionKey.OP_READ);
  }

  /** Tells whether something is to be sent and can be. */
  boolean hasUnsent() {
    return isOpen() && !unsent.isEmpty();
  }

  /** Tells the other end that there is no agreement any more, as far as that goes. */
  void sendLost(int rank, String why) {
    if (isOpen()) {
      try {
        send(Frame.lost(rank, why));
      } catch (IOException e) {
        untold.add(() -> LOG.debug("{} cannot be told that \"{}\"", this, why, e));
        close();
      }
    }
  }

  /** Returns where the link puts what is to be logged. */
  Untold untold() {
    return untold;
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  /** Closes the connection. Idempotent. */
  void close() {
    try {
      channel.close();
    } catch (IOException e) {
      untold.add(() -> LOG.debug("{} does not close cleanly", this, e));
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
