package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A master that is played by sockets, whose ports take connections even if nobody serves them. */
class MasterTest {
  private final List<ServerSocket> sockets = new ArrayList<>();

  @AfterEach
  void close() throws IOException {
    for (ServerSocket socket : sockets) {
      socket.close();
    }
  }

  @Test
  void requireServing_nothingListens_isUnreachable() throws IOException {
    Master master = master("127.0.0.1:" + MooncakeCluster.freePort(), listen());
    assertUnreachable(master::requireServing, "no master of Mooncake listens at " + master);
  }

  @Test
  void requireServing_hostOfANameThatUrisDoNotAllow_isLookedUp() {
    Master master = master("no_such_host.invalid:50051", 9003);
    assertUnreachable(
        master::requireServing, "the host of the master no_such_host.invalid:50051 (master_server");
    assertThat(Master.withPort(master.localHost(""))).matches("localhost:[0-9]+");
    assertThatThrownBy(() -> master.countKeys("")).hasMessageContaining("no_such_host.invalid");
  }

  @Test
  void requireServing_httpNeverAnswers_hangs() throws IOException {
    int http = listen();
    Master master = master("127.0.0.1:" + listen(), http);
    assertUnreachable(
        master::requireServing,
        "the master of Mooncake at " + master + " hangs",
        "port " + http + " (master_metrics_port)");
  }

  @Test
  void requireServing_noHttp_goesOn() throws IOException {
    Master master = master("127.0.0.1:" + listen(), MooncakeCluster.freePort());
    assertThatCode(master::requireServing).doesNotThrowAnyException();
  }

  @Test
  void requireServing_httpOfAnyAnswer_goesOn() throws IOException {
    for (String answer :
        List.of("", "SSH-2.0\r\n", "HTTP/1.1 503 no\r\nContent-Length: 0\r\n\r\n")) {
      Master master = master("127.0.0.1:" + listen(), answering(answer));
      assertThatCode(master::requireServing).as(answer).doesNotThrowAnyException();
    }
  }

  @Test
  void requireServing_addressOfAnotherKind_goesOn() throws IOException {
    Master master = master("etcd://127.0.0.1:" + MooncakeCluster.freePort(), listen());
    assertThatCode(master::requireServing).doesNotThrowAnyException();
  }

  @Test
  void localHost_isWhatWasSetOrWhatFacesTheMaster() {
    Master master = master("127.0.0.1:1", 1);
    assertThat(master.localHost("")).isEqualTo("127.0.0.1");
    assertThat(master.localHost("other_host")).isEqualTo("other_host");
    assertThat(Master.withPort("other_host")).matches("other_host:[0-9]+");
    assertThat(Master.withPort("other_host:7")).isEqualTo("other_host:7");
    assertThat(Master.withPort("[::1]:7")).isEqualTo("[::1]:7");
    assertThat(Master.withPort("fe80:0:0:0:0:0:0:1")).matches("\\[fe80:0:0:0:0:0:0:1]:[0-9]+");
  }

  private static Master master(String address, int httpPort) {
    return new Master(address, httpPort, "default");
  }

  private static void assertUnreachable(ThrowingCallable code, String... texts) {
    assertThatThrownBy(code)
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.UNREACHABLE))
        .hasMessageContainingAll(texts);
  }

  /** Returns a port that takes connections, and is all that a process that hangs still has. */
  private int listen() throws IOException {
    return socket().getLocalPort();
  }

  /** Returns a port whose connections end with an answer. */
  private int answering(String answer) throws IOException {
    ServerSocket socket = socket();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              while (!socket.isClosed()) {
                try (Socket connection = socket.accept();
                    OutputStream output = connection.getOutputStream()) {
                  int unused = connection.getInputStream().read(new byte[8192]);
                  output.write(answer.getBytes(StandardCharsets.UTF_8));
                } catch (IOException e) {
                  if (!socket.isClosed()) {
                    throw new UncheckedIOException(e);
                  }
                }
              }
            });
    return socket.getLocalPort();
  }

  private ServerSocket socket() throws IOException {
    ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    sockets.add(socket);
    return socket;
  }
}
