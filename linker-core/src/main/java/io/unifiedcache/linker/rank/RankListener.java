package io.unifiedcache.linker.rank;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankLostException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The place where rank 0 waits for the other ranks, which {@linkplain SocketRanks#connect connect}
 * to it.
 *
 * <p>Whoever does not know the session is refused, as is a rank with another version, another
 * number of ranks, or a number that has come already; the wait goes on. A rank that goes away again
 * may come again. {@link #accept} is called once; {@link #close} is safe from any thread.
 */
public final class RankListener implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RankListener.class);

  /** Connections that are no ranks, of which the oldest has to go if there are more. */
  static final int MOST_STRANGERS = 64;

  private final int size;
  private final UUID session;
  private final ServerSocketChannel server;
  private final Selector selector;
  private final InetSocketAddress address;

  /** Is held while ranks are awaited, and to close. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Untold untold = new Untold();
  private final NavigableMap<Integer, RankLink> present = new TreeMap<>();
  private final Deque<RankLink> strangers = new ArrayDeque<>();
  private @Nullable String lastRefusal;
  private boolean begun;
  private boolean ended;
  private volatile boolean closed;

  private RankListener(
      int size,
      UUID session,
      ServerSocketChannel server,
      Selector selector,
      InetSocketAddress address) {
    this.size = size;
    this.session = session;
    this.server = server;
    this.selector = selector;
    this.address = address;
  }

  static RankListener open(InetSocketAddress at, int size, UUID session) throws IOException {
    if (size < 1) {
      throw new IllegalArgumentException("there must be at least 1 rank, not " + size);
    }
    Selector selector = Selector.open();
    try {
      ServerSocketChannel server = ServerSocketChannel.open();
      try {
        server.bind(at, Math.max(size, MOST_STRANGERS));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        InetSocketAddress bound = (InetSocketAddress) server.getLocalAddress();
        return new RankListener(size, session, server, selector, bound);
      } catch (IOException | RuntimeException e) {
        server.close();
        throw e;
      }
    } catch (IOException | RuntimeException e) {
      selector.close();
      throw e;
    }
  }

  /** Returns where the others are to connect to; its port is the one that was found free. */
  public InetSocketAddress address() {
    return address;
  }

  /**
   * Waits until all other ranks are there, and listens no more.
   *
   * @return the collective of rank 0
   * @throws RankLostException if a rank is missing at the deadline, the thread is interrupted,
   *     which it then still is, or the listener is closed; the ranks that are there are told
   * @throws IllegalStateException if it has been called before
   */
  public SocketRanks accept(Deadline by) throws RankLostException {
    begin();
    SocketRanks ranks = null;
    while (ranks == null) {
      lock.lock();
      try {
        ranks = acceptSome(by);
      } catch (IOException e) {
        throw giveUp("rank 0 cannot wait for the others: " + e, e);
      } finally {
        lock.unlock();
        untold.tell();
      }
    }
    return ranks;
  }

  private void begin() {
    lock.lock();
    try {
      if (begun && !closed) {
        throw new IllegalStateException("ranks were accepted before");
      }
      begun = true;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the collective if all are there; otherwise waits for something to happen. */
  private @Nullable SocketRanks acceptSome(Deadline by) throws IOException, RankLostException {
    if (present.size() < size - 1) {
      awaitEvents(by);
      return null;
    }
    throwIfClosed();
    ended = true;
    strangers.forEach(RankLink::close);
    server.close();
    // A channel that a selector knows listens on until the selector looks at it the next time.
    selector.selectNow(key -> {});
    for (RankLink link : present.values()) {
      welcome(link);
    }
    return new SocketRanks(0, size, selector, List.copyOf(present.values()), untold);
  }

  private void throwIfClosed() throws RankLostException {
    if (closed) {
      throw giveUp("rank 0 of " + size + " was closed", null);
    }
  }

  private void awaitEvents(Deadline by) throws IOException, RankLostException {
    throwIfClosed();
    if (Thread.currentThread().isInterrupted()) {
      throw giveUp("rank 0 of " + size + " was interrupted while it waited for the others", null);
    }
    if (by.hasPassed()) {
      BitSet missing = new BitSet();
      missing.set(1, size);
      present.keySet().forEach(missing::clear);
      throw giveUp(
          "of %d ranks, these did not come by the deadline: %s%s"
              .formatted(size, missing, lastRefusal == null ? "" : "; refused: " + lastRefusal),
          null);
    }
    selector.select(this::handle, SocketRanks.napMillis(by));
  }

  private void handle(SelectionKey key) {
    if (key.attachment() instanceof RankLink link) {
      receive(link);
    } else {
      acceptConnections();
    }
  }

  private void acceptConnections() {
    try {
      for (SocketChannel channel = server.accept(); channel != null; channel = server.accept()) {
        channel.configureBlocking(false);
        strangers.add(new RankLink(channel, selector, session, untold));
        if (strangers.size() > MOST_STRANGERS) {
          strangers.removeFirst().close();
        }
      }
    } catch (IOException e) {
      untold.add(() -> LOG.warn("rank 0 cannot accept a connection", e));
    }
  }

  private void receive(RankLink link) {
    try {
      Frame frame = link.receive();
      if (frame != null) {
        meet(link, frame);
      }
    } catch (ProtocolException e) {
      refuse(link, String.valueOf(e.getMessage()));
    } catch (IOException e) {
      untold.add(() -> LOG.debug("{} has gone", link, e));
      forget(link);
    }
  }

  private void meet(RankLink link, Frame hello) throws ProtocolException {
    if (hello.kind() != Frame.Kind.HELLO || present.containsValue(link)) {
      throw new ProtocolException(
          "a message " + hello.kind() + " came before all ranks were there");
    }
    int rank = hello.rank();
    if (hello.expectedSize() != size || rank < 1 || rank >= size) {
      throw new ProtocolException(
          "rank %d of %d is none of the other ranks of %d"
              .formatted(rank, hello.expectedSize(), size));
    }
    if (present.containsKey(rank)) {
      throw new ProtocolException("rank %d of %d is there already".formatted(rank, size));
    }
    strangers.remove(link);
    present.put(rank, link);
  }

  private void refuse(RankLink link, String why) {
    String refusal = link + ": " + why;
    lastRefusal = refusal;
    untold.add(() -> LOG.warn("rank 0 refuses {}", refusal));
    link.sendLost(0, why);
    forget(link);
  }

  private void forget(RankLink link) {
    present.values().remove(link);
    strangers.remove(link);
    link.close();
  }

  private void welcome(RankLink link) {
    try {
      link.send(Frame.welcome());
    } catch (IOException e) {
      // The first operation will find that rank lost.
      untold.add(() -> LOG.debug("{} has gone", link, e));
    }
  }

  private RankLostException giveUp(String why, @Nullable Throwable cause) {
    present.values().forEach(link -> link.sendLost(0, why));
    release();
    return new RankLostException(why, cause);
  }

  private void release() {
    ended = true;
    closed = true;
    present.values().forEach(RankLink::close);
    strangers.forEach(RankLink::close);
    try {
      server.close();
      selector.close();
    } catch (IOException e) {
      untold.add(() -> LOG.debug("the listener of rank 0 does not close cleanly", e));
    }
  }

  /**
   * Stops waiting for ranks, and leaves a collective alone that was returned. Idempotent; wakes
   * {@link #accept}.
   */
  @Override
  public void close() {
    closed = true;
    selector.wakeup();
    lock.lock();
    try {
      if (!ended) {
        release();
      }
    } finally {
      lock.unlock();
      untold.tell();
    }
  }
}
