package io.unifiedcache.linker.rank;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankLostException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The way of a rank to rank 0. Used once, by one thread.
 *
 * @param to where rank 0 listens
 * @param by until when to try
 * @param selector for the connection
 */
record RankDial(
    InetSocketAddress to, int rank, int size, UUID session, Deadline by, Selector selector) {

  /**
   * Returns the connection, once all ranks are there.
   *
   * @throws RankLostException if they are not by the deadline, rank 0 refuses this rank, or the
   *     thread is interrupted
   */
  RankLink connect() throws RankLostException {
    while (true) {
      try {
        return attempt();
      } catch (ProtocolException e) {
        throw failed("what listens there is no rank 0: " + e.getMessage(), e);
      } catch (IOException e) {
        // Rank 0 does not listen yet, or has ended and is being started anew.
        pause("nothing listened there by the deadline: " + e.getMessage(), e);
      }
    }
  }

  private RankLink attempt() throws IOException, RankLostException {
    SocketChannel channel = SocketChannel.open();
    boolean welcome = false;
    try {
      channel.configureBlocking(false);
      channel.connect(to);
      channel.register(selector, SelectionKey.OP_CONNECT);
      while (!channel.finishConnect()) {
        pause("nothing answered by the deadline", null);
      }
      if (channel.getLocalAddress().equals(channel.getRemoteAddress())) {
        throw new IOException("the port was free, and the connection met itself");
      }
      RankLink link = new RankLink(channel, selector, session, new Untold());
      link.send(Frame.hello(rank, size));
      Frame answer = link.receive();
      while (answer == null) {
        pause("not all ranks were there by the deadline", null);
        answer = link.receive();
      }
      if (answer.kind() == Frame.Kind.LOST) {
        throw failed(answer.reason(), null);
      }
      if (answer.kind() != Frame.Kind.WELCOME) {
        throw new ProtocolException("a message " + answer.kind() + " came in place of a welcome");
      }
      welcome = true;
      return link;
    } finally {
      if (!welcome) {
        channel.close();
      }
    }
  }

  /**
   * Waits a little, or until something happens to the connection, if there is one.
   *
   * @param late what is wrong if the deadline has passed
   */
  private void pause(String late, @Nullable IOException cause) throws RankLostException {
    if (Thread.currentThread().isInterrupted()) {
      throw failed("the thread was interrupted", cause);
    }
    if (by.hasPassed()) {
      throw failed(late, cause);
    }
    try {
      selector.select(key -> {}, SocketRanks.napMillis(by));
    } catch (IOException e) {
      throw failed(e.toString(), e);
    }
  }

  private RankLostException failed(String why, @Nullable Throwable cause) {
    return new RankLostException(
        "rank %d of %d could not join rank 0 at %s: %s".formatted(rank, size, to, why), cause);
  }
}
