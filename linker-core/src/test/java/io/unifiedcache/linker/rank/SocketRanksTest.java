package io.unifiedcache.linker.rank;

import static io.unifiedcache.linker.rank.SocketRig.LONG;
import static io.unifiedcache.linker.rank.SocketRig.SESSION;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankLostException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks over sockets that meet what they must not, at deadlines that would outlast the test. */
@Timeout(60)
class SocketRanksTest {
  private static final Duration SHORT = Duration.ofMillis(20);
  private static final int VERSION_AT = 4;
  private static final int LENGTH_AT = 36;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<AutoCloseable> open = new CopyOnWriteArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open) {
      each.close();
    }
    threads.close();
  }

  private <T extends AutoCloseable> T closing(T resource) {
    open.add(resource);
    return resource;
  }

  private RankListener listen(int size) throws Exception {
    return closing(SocketRig.listen(size));
  }

  private Future<SocketRanks> accepting(RankListener listener) {
    return threads.submit(() -> closing(listener.accept(Deadline.after(LONG))));
  }

  private Future<SocketRanks> connecting(RankListener to, int rank, int size) {
    return threads.submit(() -> closing(SocketRig.connect(to, rank, size)));
  }

  private Future<BitSet> and(SocketRanks rank) {
    return threads.submit(() -> rank.and(new BitSet(), Deadline.after(LONG)));
  }

  /** Returns a connection that is not made by the code under test. */
  private Socket dial(RankListener to) throws IOException {
    return closing(new Socket(to.address().getAddress(), to.address().getPort()));
  }

  private static void send(Socket socket, Frame frame, Consumer<ByteBuffer> change)
      throws IOException {
    ByteBuffer encoded = frame.encode(SESSION);
    change.accept(encoded);
    byte[] bytes = new byte[encoded.remaining()];
    encoded.get(bytes);
    socket.getOutputStream().write(bytes);
  }

  private static void send(Socket socket, Frame frame) throws IOException {
    send(socket, frame, encoded -> {});
  }

  private static Frame receive(Socket socket) throws IOException {
    ByteBuffer head = ByteBuffer.wrap(socket.getInputStream().readNBytes(Frame.HEAD_BYTES));
    Frame frame = Frame.ofHead(head, SESSION);
    frame.payload().put(socket.getInputStream().readNBytes(frame.payload().remaining())).flip();
    return frame;
  }

  private static void assertLost(Future<?> call, String message) {
    assertThatThrownBy(call::get)
        .hasCauseInstanceOf(RankLostException.class)
        .hasMessageContaining(message);
  }

  /** Three ranks, of which the test itself is rank 1. */
  private final class Three {
    private final SocketRanks first;
    private final Socket second;
    private final SocketRanks third;

    private Three() throws Exception {
      RankListener listener = listen(3);
      Future<SocketRanks> accepting = accepting(listener);
      Future<SocketRanks> connecting = connecting(listener, 2, 3);
      second = dial(listener);
      send(second, Frame.hello(1, 3));
      first = accepting.get();
      third = connecting.get();
      assertThat(receive(second).kind()).isEqualTo(Frame.Kind.WELCOME);
    }

    /** Lets the others wait for rank 1, which does something wrong. */
    private void assertLostIf(Wrong wrong, String message) throws Exception {
      Future<BitSet> firstCall = and(first);
      Future<BitSet> thirdCall = and(third);
      wrong.act(second);
      assertLost(firstCall, message);
      assertLost(thirdCall, message);
      assertLost(and(first), message);
      assertLost(and(third), message);
    }
  }

  /** Something that a rank must not do. */
  private interface Wrong {
    void act(Socket rank) throws IOException;
  }

  @Test
  void and_bitsOnTheWire_areThoseOfTheDocumentedForm() throws Exception {
    Three three = new Three();
    Future<BitSet> first =
        threads.submit(
            () -> three.first.and(BitSet.valueOf(new long[] {0x1ff}), Deadline.after(LONG)));
    Future<BitSet> third =
        threads.submit(
            () -> three.third.and(BitSet.valueOf(new long[] {0x1f1}), Deadline.after(LONG)));
    byte[] message =
        ByteBuffer.allocate(42)
            .put("UCRK".getBytes(UTF_8))
            .putShort((short) 1)
            .putShort((short) 2)
            .putInt(1)
            .putLong(17)
            .putLong(42)
            .putLong(0)
            .putInt(2)
            .put(new byte[] {(byte) 0x81, 1})
            .array();
    three.second.getOutputStream().write(message);
    BitSet common = BitSet.valueOf(new long[] {0x181});
    assertThat(first.get()).isEqualTo(common);
    assertThat(third.get()).isEqualTo(common);
    Frame answer = receive(three.second);
    assertThat(answer.rank()).isZero();
    assertThat(answer.bits()).isEqualTo(common);
  }

  @Test
  void and_peerIsKilled_isLostAtOnceForAll() throws Exception {
    new Three().assertLostIf(Socket::close, "rank 1 of 3 is gone");
  }

  @Test
  void and_peerIsKilledHavingSentItsBits_isLostAtOnceForAll() throws Exception {
    Three three = new Three();
    Future<BitSet> first = and(three.first);
    // Rank 2 does not come; nothing but the end of rank 1 can end the wait.
    send(three.second, Frame.bits(1, 0, new BitSet()));
    three.second.setSoLinger(true, 0);
    three.second.close();
    assertLost(first, "rank 1 of 3 is gone");
    assertLost(and(three.third), "rank 1 of 3 is gone");
  }

  @Test
  void and_peerIsKilledBetweenOperations_isLostAtOnceForAll() throws Exception {
    Three three = new Three();
    Future<BitSet> first = and(three.first);
    Future<BitSet> third = and(three.third);
    send(three.second, Frame.bits(1, 0, new BitSet()));
    first.get();
    third.get();
    three.second.close();
    Future<BitSet> next = and(three.third);
    assertLost(and(three.first), "rank 1 of 3 is gone");
    assertLost(next, "rank 1 of 3 is gone");
  }

  @Test
  void and_garbage_isLostForAll() throws Exception {
    new Three()
        .assertLostIf(
            rank -> rank.getOutputStream().write(new byte[100]),
            "rank 1 of 3 is not understood: what came is no message of a rank, but begins with"
                + " 0x00000000");
  }

  @Test
  void and_endOfAMessageMissing_isLostForAll() throws Exception {
    new Three()
        .assertLostIf(
            rank -> {
              send(rank, Frame.bits(1, 0, new BitSet()), encoded -> encoded.limit(10));
              rank.shutdownOutput();
            },
            "rank 1 of 3 is gone");
  }

  @ParameterizedTest
  @CsvSource({
    "4, 2, 2, version 1 of the protocol of ranks meets version 2",
    "6, 2, 9, unknown kind 9",
    "6, 2, -1, unknown kind -1",
    "6, 2, 0, kind HELLO",
    "6, 2, 1, WELCOME came after the welcome",
    "8, 4, 2, it calls itself rank 2",
    "12, 4, 1, another session",
    "28, 8, 7, 'it is at operation 7, not 0'",
    "36, 4, 2147483647, 'BITS has 2147483647 bytes, not at most 4194304'",
    "36, 4, 4194305, 'BITS has 4194305 bytes, not at most 4194304'",
    "36, 4, -1, BITS has -1 bytes",
  })
  void and_badField_isLostForAllBeforeAnythingIsAllocated(
      int at, int bytes, long value, String message) throws Exception {
    new Three()
        .assertLostIf(
            rank ->
                send(
                    rank,
                    Frame.bits(1, 0, new BitSet()),
                    encoded -> {
                      switch (bytes) {
                        case Short.BYTES -> encoded.putShort(at, (short) value);
                        case Integer.BYTES -> encoded.putInt(at, (int) value);
                        default -> encoded.putLong(at, value);
                      }
                    }),
            message);
  }

  @Test
  void and_bitsTwice_isLostForAll() throws Exception {
    Three three = new Three();
    Future<BitSet> first = and(three.first);
    send(three.second, Frame.bits(1, 0, new BitSet()));
    send(three.second, Frame.bits(1, 0, new BitSet()));
    assertLost(first, "rank 1 of 3 is not understood");
    assertLost(and(three.third), "rank 1 of 3 is not understood");
  }

  @Test
  void and_tooManyBits_isRefused() throws Exception {
    SocketRanks rank = closing(SocketRig.connected(1).getFirst());
    BitSet bits = new BitSet();
    bits.set(Frame.MOST_BITS);
    assertThatThrownBy(() -> rank.and(bits, Deadline.never()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("33554433");
    bits.clear(Frame.MOST_BITS);
    bits.set(Frame.MOST_BITS - 1);
    assertThat(rank.and(bits, Deadline.never())).isEqualTo(bits);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void close_whileOneWaits_endsItAndIsLostForAll(int closed) throws Exception {
    List<SocketRanks> ranks = SocketRig.connected(2);
    ranks.forEach(this::closing);
    Future<BitSet> waiting = and(ranks.get(closed));
    ranks.get(closed).close();
    ranks.get(closed).close();
    assertLost(waiting, "rank %d of 2 was closed".formatted(closed));
    assertLost(and(ranks.get(closed)), "rank %d of 2 was closed".formatted(closed));
    assertLost(and(ranks.get(1 - closed)), "rank %d of 2 ".formatted(closed));
  }

  @Test
  void close_ofAnotherRank_endsTheWaitOfAll() throws Exception {
    List<SocketRanks> ranks = SocketRig.connected(4);
    ranks.forEach(this::closing);
    List<Future<BitSet>> waiting = ranks.subList(0, 3).stream().map(this::and).toList();
    ranks.get(3).close();
    waiting.forEach(call -> assertLost(call, "rank 3 of 4 was closed"));
  }

  @Test
  void accept_strangers_doNotKeepTheRanksFromMeeting() throws Exception {
    RankListener listener = listen(3);
    Future<SocketRanks> first = accepting(listener);
    dial(listener);
    dial(listener).close();
    Socket browser = dial(listener);
    browser.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".repeat(9).getBytes(UTF_8));
    Socket huge = dial(listener);
    send(huge, Frame.hello(1, 3), encoded -> encoded.putInt(LENGTH_AT, Integer.MAX_VALUE));
    assertThat(receive(huge).reason()).contains("2147483647 bytes");
    Socket early = dial(listener);
    send(early, Frame.bits(1, 0, new BitSet()));
    assertThat(receive(early).reason()).contains("BITS");
    assertMeet(first, connecting(listener, 1, 3), connecting(listener, 2, 3));
  }

  @Test
  void accept_moreStrangersThanAreKept_ranksStillMeet() throws Exception {
    RankListener listener = listen(2);
    Future<SocketRanks> first = accepting(listener);
    List<Socket> strangers = new ArrayList<>();
    for (int i = 0; i <= RankListener.MOST_STRANGERS; i++) {
      strangers.add(dial(listener));
    }
    assertThat(strangers.getFirst().getInputStream().read()).isEqualTo(-1);
    assertMeet(first, connecting(listener, 1, 2));
  }

  @Test
  void connect_otherSession_isRefusedAndTheOthersMeet() throws Exception {
    RankListener listener = listen(2);
    Future<SocketRanks> first = accepting(listener);
    assertThatThrownBy(
            () ->
                SocketRanks.connect(
                    listener.address(), 1, 2, UUID.randomUUID(), Deadline.after(LONG)))
        .isInstanceOf(RankLostException.class)
        .hasMessageContaining("another session");
    assertMeet(first, connecting(listener, 1, 2));
  }

  @Test
  void connect_numberThatIsThere_isRefusedAndTheOthersMeet() throws Exception {
    RankListener listener = listen(3);
    Future<SocketRanks> first = accepting(listener);
    Socket twin = dial(listener);
    send(twin, Frame.hello(1, 3));
    Socket other = dial(listener);
    send(other, Frame.hello(1, 3));
    // Which of them came first is not known, but one is refused, and only one.
    Future<Frame> ofTwin = threads.submit(() -> receive(twin));
    Future<Frame> ofOther = threads.submit(() -> receive(other));
    Future<SocketRanks> third = connecting(listener, 2, 3);
    assertThat(first.get().size()).isEqualTo(3);
    assertThat(third.get().size()).isEqualTo(3);
    assertThat(List.of(ofTwin.get().kind(), ofOther.get().kind()))
        .containsExactlyInAnyOrder(Frame.Kind.WELCOME, Frame.Kind.LOST);
    Frame refusal = ofTwin.get().kind() == Frame.Kind.LOST ? ofTwin.get() : ofOther.get();
    assertThat(refusal.reason()).isEqualTo("rank 1 of 3 is there already");
  }

  @Test
  void connect_otherNumberOfRanks_isRefusedAndTheOthersMeet() throws Exception {
    RankListener listener = listen(2);
    Future<SocketRanks> first = accepting(listener);
    assertLost(connecting(listener, 1, 4), "rank 1 of 4 is none of the other ranks of 2");
    assertMeet(first, connecting(listener, 1, 2));
  }

  @Test
  void accept_rankOfAnotherVersion_isToldSo() throws Exception {
    RankListener listener = listen(2);
    Future<SocketRanks> first = accepting(listener);
    Socket newer = dial(listener);
    send(newer, Frame.hello(1, 2), encoded -> encoded.putShort(VERSION_AT, (short) 2));
    assertThat(receive(newer).reason()).contains("version 1").contains("version 2");
    assertMeet(first, connecting(listener, 1, 2));
  }

  @Test
  void connect_rankZeroOfAnotherVersion_isRefused() throws Exception {
    assertRefuses(
        "version 1 of the protocol of ranks meets version 2",
        rankZero ->
            send(
                rankZero,
                Frame.lost(0, "whatever"),
                encoded -> encoded.putShort(VERSION_AT, (short) 2)));
  }

  @Test
  void connect_anotherServer_isRefused() throws Exception {
    assertRefuses(
        "what listens there is no rank 0",
        server ->
            server
                .getOutputStream()
                .write("220 mail.example ESMTP ready, and more text\r\n".getBytes(UTF_8)));
    assertRefuses("what listens there is no rank 0", server -> send(server, Frame.hello(0, 2)));
  }

  private void assertRefuses(String message, Wrong answer) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, SocketRig.freePort().getAddress())) {
      Future<SocketRanks> connecting =
          threads.submit(
              () ->
                  SocketRanks.connect(
                      (InetSocketAddress) server.getLocalSocketAddress(),
                      1,
                      2,
                      SESSION,
                      Deadline.after(LONG)));
      answer.act(closing(server.accept()));
      assertLost(connecting, message);
    }
  }

  @Test
  void connect_nobodyListens_isLostByTheDeadlineAndRetriedUntilThen() throws Exception {
    InetSocketAddress address;
    try (RankListener listener = SocketRig.listen(2)) {
      address = listener.address();
    }
    assertThatThrownBy(() -> SocketRanks.connect(address, 1, 2, SESSION, Deadline.after(SHORT)))
        .isInstanceOf(RankLostException.class)
        .hasMessageContaining("nothing listened there by the deadline")
        .hasMessageContaining(String.valueOf(address.getPort()));
    Future<SocketRanks> early =
        threads.submit(
            () -> closing(SocketRanks.connect(address, 1, 2, SESSION, Deadline.after(LONG))));
    RankListener listener = closing(SocketRanks.listen(address, 2, SESSION));
    assertMeet(accepting(listener), early);
  }

  @Test
  void connect_rankZeroEndsBeforeAllAreThere_isRetried() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 9, SocketRig.freePort().getAddress())) {
      Future<SocketRanks> connecting =
          threads.submit(
              () ->
                  closing(
                      SocketRanks.connect(
                          (InetSocketAddress) server.getLocalSocketAddress(),
                          1,
                          2,
                          SESSION,
                          Deadline.after(LONG))));
      server.accept().close();
      Socket again = closing(server.accept());
      assertThat(receive(again).rank()).isEqualTo(1);
      send(again, Frame.welcome());
      assertThat(connecting.get().rank()).isEqualTo(1);
    }
  }

  @Test
  void accept_rankGoesAwayBeforeAllAreThere_mayComeAgain() throws Exception {
    RankListener listener = listen(3);
    Future<SocketRanks> first = accepting(listener);
    Socket early = dial(listener);
    send(early, Frame.hello(1, 3));
    send(early, Frame.hello(1, 3));
    assertThat(receive(early).reason()).contains("before all ranks were there");
    assertMeet(first, connecting(listener, 1, 3), connecting(listener, 2, 3));
  }

  @Test
  void accept_rankMissing_isNamedToAllAtTheDeadline() throws Exception {
    RankListener listener = listen(4);
    Socket present = dial(listener);
    send(present, Frame.hello(2, 4));
    // The connection is there, so that the rank is seen before the deadline is looked at again.
    Deadline soon = Deadline.after(Duration.ofSeconds(1));
    assertThatThrownBy(() -> listener.accept(soon))
        .isInstanceOf(RankLostException.class)
        .hasMessage("of 4 ranks, these did not come by the deadline: {1, 3}");
    assertThat(receive(present).reason()).contains("{1, 3}");
    assertThatThrownBy(() -> listener.accept(Deadline.after(LONG)))
        .isInstanceOf(RankLostException.class);
  }

  @Test
  void accept_closed_ends() throws Exception {
    RankListener listener = listen(2);
    Future<SocketRanks> accepting = accepting(listener);
    listener.close();
    listener.close();
    assertLost(accepting, "rank 0 of 2 was closed");
  }

  @Test
  void accept_twice_isRefused() throws Exception {
    RankListener listener = listen(1);
    closing(listener.accept(Deadline.after(LONG)));
    assertThatThrownBy(() -> listener.accept(Deadline.after(LONG)))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void acceptAndConnect_interrupted_endAndStayInterrupted() throws Exception {
    RankListener listener = listen(2);
    Future<Boolean> connecting =
        threads.submit(
            () -> {
              Thread.currentThread().interrupt();
              assertThatThrownBy(() -> SocketRig.connect(listener, 1, 2))
                  .isInstanceOf(RankLostException.class)
                  .hasMessageContaining("interrupted");
              return Thread.interrupted();
            });
    assertThat(connecting.get()).isTrue();
    Future<Boolean> accepting =
        threads.submit(
            () -> {
              Thread.currentThread().interrupt();
              assertThatThrownBy(() -> listener.accept(Deadline.after(LONG)))
                  .isInstanceOf(RankLostException.class)
                  .hasMessageContaining("interrupted");
              return Thread.interrupted();
            });
    assertThat(accepting.get()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"0, 2", "2, 2", "-1, 2"})
  void connect_numberThatIsNone_isRefused(int rank, int size) throws Exception {
    RankListener listener = listen(2);
    assertThatThrownBy(() -> SocketRig.connect(listener, rank, size))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("rank " + rank + " of " + size);
  }

  @SafeVarargs
  private void assertMeet(Future<SocketRanks>... ranks) throws Exception {
    BitSet bits = BitSet.valueOf(new long[] {0b11});
    List<Future<BitSet>> calls = new ArrayList<>();
    for (Future<SocketRanks> rank : ranks) {
      SocketRanks met = rank.get();
      calls.add(threads.submit(() -> met.and(bits, Deadline.after(LONG))));
    }
    for (Future<BitSet> call : calls) {
      assertThat(call.get()).isEqualTo(bits);
    }
  }

  @Test
  void accept_allAreThere_listensNoMore() throws Exception {
    try (RankListener listener = SocketRig.listen(2);
        ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<SocketRanks> other = threads.submit(() -> SocketRig.connect(listener, 1, 2));
      try (SocketRanks first = listener.accept(Deadline.after(SocketRig.LONG));
          SocketRanks second = other.get()) {
        // At once, before anything is agreed on.
        assertThatThrownBy(() -> SocketChannel.open(listener.address()))
            .isInstanceOf(ConnectException.class);
        assertThat(first.size()).isEqualTo(second.size());
      }
    }
  }
}
