package io.unifiedcache.linker.rank;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A rank of several processes, which agree over TCP connections.
 *
 * <p>Rank 0 {@linkplain #listen listens}, and each other rank {@linkplain #connect connects} to it.
 * In an operation, each of them sends its bits to rank 0, which answers with those that all have in
 * common. There are no threads: bytes move while {@link #and} is called.
 *
 * <p>A rank is lost, for all and for good, if it does not come by the deadline of another, at once
 * if its process ends, it leaves, its collective is closed or it sends what it must not, and if its
 * deadline passes while it waits. Rank 0 tells the others, once it comes itself. What rank 0 has
 * sent to one, though, stands: a rank that gives up in the moment in which its answer is under way
 * is lost to the others only in the operation after.
 *
 * <p>The session, a random number that all ranks are given, keeps apart what does not belong
 * together. It is sent in the clear, and so is all else: this is for networks that are trusted.
 *
 * <p>Operations are called by one thread at a time; {@link #leave} and {@link #close} are safe from
 * any thread and end one that waits.
 */
public final class SocketRanks implements RankCollective, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SocketRanks.class);

  /** How long to sleep at most before looking again at a deadline whose clock is not the JVM's. */
  private static final long LONGEST_NAP_MILLIS = 50;

  private final int rank;
  private final int size;
  private final Selector selector;

  /** Of rank 0, the others, by rank from 1 on; of another rank, rank 0 alone. */
  private final List<RankLink> links;

  /** Is held during an operation, and to close. */
  private final ReentrantLock lock = new ReentrantLock();

  /** What the other ends have sent for the operation that is under way. */
  private final Map<RankLink, Frame> arrived = new HashMap<>();

  private long operation;
  private @Nullable String lost;

  /** Whether the thread was interrupted while it waited. */
  private boolean interrupted;

  /** Why this rank leaves the others, once it does. */
  private volatile @Nullable String leaving;

  /** What the links have to log, too. */
  private final Untold untold;

  SocketRanks(int rank, int size, Selector selector, List<RankLink> links, Untold untold) {
    this.untold = untold;
    this.rank = rank;
    this.size = size;
    this.selector = selector;
    this.links = links;
  }

  /**
   * Lets rank 0 listen.
   *
   * @param at where to listen; port 0 finds a free one
   * @param size the number of ranks
   * @throws IOException if that address cannot be listened at
   * @throws IllegalArgumentException if there is not at least one rank
   */
  public static RankListener listen(InetSocketAddress at, int size, UUID session)
      throws IOException {
    return RankListener.open(at, size, session);
  }

  /**
   * Connects to rank 0, again and again while it does not listen, and waits until all ranks are
   * there.
   *
   * @param to where rank 0 listens
   * @param rank from 1 to {@code size - 1}
   * @throws RankLostException if not all ranks are there by the deadline, rank 0 refuses this one,
   *     or the thread is interrupted, which it then still is
   * @throws IllegalArgumentException if there is no such rank beside rank 0, or the address is not
   *     resolved
   */
  public static SocketRanks connect(
      InetSocketAddress to, int rank, int size, UUID session, Deadline by)
      throws RankLostException {
    if (rank < 1 || rank >= size) {
      throw new IllegalArgumentException(
          "rank %d of %d is none that connects to rank 0".formatted(rank, size));
    }
    if (to.isUnresolved()) {
      throw new IllegalArgumentException("the address of rank 0 is not resolved: " + to);
    }
    try {
      Selector selector = Selector.open();
      boolean connected = false;
      try {
        RankLink link = new RankDial(to, rank, size, session, by, selector).connect();
        connected = true;
        return new SocketRanks(rank, size, selector, List.of(link), link.untold());
      } finally {
        if (!connected) {
          selector.close();
        }
      }
    } catch (IOException e) {
      throw new RankLostException("rank %d of %d has no selector".formatted(rank, size), e);
    }
  }

  static long napMillis(Deadline by) {
    long millis = TimeUnit.NANOSECONDS.toMillis(by.remainingNanos());
    return Math.min(millis + 1, LONGEST_NAP_MILLIS);
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return size;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if there are more than 2^25 bits
   */
  @Override
  public BitSet and(BitSet bits, Deadline by) throws RankLostException {
    if (bits.length() > Frame.MOST_BITS) {
      throw new IllegalArgumentException(
          "ranks agree on at most %d bits at once, not %d"
              .formatted(Frame.MOST_BITS, bits.length()));
    }
    lock.lock();
    try {
      if (lost != null) {
        throw new RankLostException(lost);
      }
      return rank == 0 ? gather(bits, by) : ask(bits, by);
    } finally {
      if (interrupted) {
        interrupted = false;
        Thread.currentThread().interrupt();
      }
      lock.unlock();
      untold.tell();
    }
  }

  /** Rank 0: once every rank has come, the operation is decided, whatever happens then. */
  private BitSet gather(BitSet bits, Deadline by) throws RankLostException {
    while (lost == null && arrived.size() < links.size()) {
      await(by);
    }
    throwIfLost();
    BitSet common = (BitSet) bits.clone();
    arrived.values().forEach(frame -> common.and(frame.bits()));
    Frame answer = Frame.bits(rank, operation, common);
    nextOperation();
    links.forEach(link -> send(link, answer));
    boolean inTime = true;
    while (inTime && links.stream().anyMatch(RankLink::hasUnsent)) {
      inTime = await(by);
    }
    if (lost != null) {
      tellLost(lost);
    }
    return common;
  }

  /** Another rank. */
  private BitSet ask(BitSet bits, Deadline by) throws RankLostException {
    RankLink first = links.getFirst();
    send(first, Frame.bits(rank, operation, bits));
    while (lost == null && arrived.isEmpty()) {
      await(by);
    }
    Frame answer = arrived.get(first);
    if (answer == null) {
      throwIfLost();
      throw new IllegalStateException("neither an answer nor a loss");
    }
    nextOperation();
    return answer.bits();
  }

  private void nextOperation() {
    operation++;
    arrived.clear();
  }

  private void send(RankLink link, Frame frame) {
    try {
      if (link.isOpen()) {
        link.send(frame);
      }
    } catch (IOException e) {
      gone(link, e);
    }
  }

  /**
   * Waits until something arrives or can go on, and deals with it.
   *
   * @return false if there is nothing more to wait for: then this rank is lost
   */
  private boolean await(Deadline by) {
    try {
      interrupted |= Thread.interrupted();
      if (selector.selectNow(this::handle) > 0) {
        return true;
      }
      String why = leaving;
      if (why != null) {
        lose(why);
        return false;
      }
      if (by.hasPassed()) {
        lose(missing());
        return false;
      }
      selector.select(this::handle, napMillis(by));
      return true;
    } catch (IOException e) {
      lose(this + " cannot wait for the others: " + e);
      return false;
    }
  }

  private String missing() {
    if (rank != 0) {
      return this + " had no answer of rank 0 by its deadline";
    }
    BitSet missing = new BitSet();
    for (int other = 1; other < size; other++) {
      missing.set(other, !arrived.containsKey(links.get(other - 1)));
    }
    return "of %d ranks, these did not come by the deadline: %s".formatted(size, missing);
  }

  private void handle(SelectionKey key) {
    RankLink link = (RankLink) key.attachment();
    try {
      if (key.isWritable()) {
        link.flush();
      }
      for (Frame frame = link.receive(); frame != null; frame = link.receive()) {
        take(link, frame);
        if (!link.isOpen()) {
          return;
        }
      }
    } catch (ProtocolException e) {
      String why = nameOf(link) + " is not understood: " + e.getMessage();
      lose(why);
      link.sendLost(rank, why);
      link.close();
    } catch (IOException e) {
      gone(link, e);
    }
  }

  private void take(RankLink link, Frame frame) throws ProtocolException {
    int sender = rank == 0 ? links.indexOf(link) + 1 : 0;
    if (frame.rank() != sender) {
      throw new ProtocolException("it calls itself rank " + frame.rank());
    }
    switch (frame.kind()) {
      case BITS -> {
        if (frame.operation() != operation || arrived.putIfAbsent(link, frame) != null) {
          throw new ProtocolException(
              "it is at operation %d, not %d".formatted(frame.operation(), operation));
        }
      }
      case LOST -> {
        lose(frame.reason());
        link.close();
      }
      case HELLO, WELCOME ->
          throw new ProtocolException("a message " + frame.kind() + " came after the welcome");
    }
  }

  private void gone(RankLink link, IOException cause) {
    lose("%s is gone: %s".formatted(nameOf(link), cause.getMessage()));
    link.close();
  }

  private String nameOf(RankLink link) {
    return "rank %d of %d".formatted(rank == 0 ? links.indexOf(link) + 1 : 0, size);
  }

  /** Notes why there is no agreement any more; the first reason stays. */
  private void lose(String why) {
    if (lost == null) {
      lost = why;
    }
  }

  private void throwIfLost() throws RankLostException {
    if (lost != null) {
      tellLost(lost);
      throw new RankLostException(lost);
    }
  }

  private void tellLost(String why) {
    links.forEach(link -> link.sendLost(rank, why));
  }

  @Override
  public void leave(String why) {
    leave(why, /* andClose= */ false);
  }

  /** Leaves the others, unless it has, and closes the connections. Idempotent. */
  @Override
  public void close() {
    leave(this + " was closed", /* andClose= */ true);
  }

  private void leave(String why, boolean andClose) {
    if (leaving == null) {
      leaving = why;
    }
    selector.wakeup();
    lock.lock();
    try {
      if (lost == null) {
        lost = leaving;
        tellLost(lost);
      }
      if (andClose) {
        links.forEach(RankLink::close);
        selector.close();
      }
    } catch (IOException e) {
      untold.add(() -> LOG.debug("{} does not close cleanly", this, e));
    } finally {
      lock.unlock();
      untold.tell();
    }
  }

  @Override
  public String toString() {
    return "rank " + rank + " of " + size;
  }
}
