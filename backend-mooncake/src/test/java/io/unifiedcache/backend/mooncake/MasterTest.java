package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A master that is played by sockets, whose ports take connections even if nobody serves them. */
class MasterTest {
  private static final Logger LOG = LoggerFactory.getLogger(MasterTest.class);

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
  void requireServing_silentPort_hangs() throws IOException {
    Master master = master("127.0.0.1:" + listen(), 1);
    assertUnreachable(
        master::requireServing,
        "the master of Mooncake at " + master + " hangs",
        "does not answer within 2 s");
  }

  @Test
  void requireServing_webServer_namesThePortThatIsMeant() throws IOException {
    // As Mooncake's own does, it waits for the end of a line.
    Master patient = master("127.0.0.1:" + web(), 1);
    assertUnreachable(patient::requireServing, "a web server answers", "rpc_port");
    Master eager = master("127.0.0.1:" + answering("HTTP/1.1 400 Bad Request\r\n\r\n"), 1);
    assertUnreachable(eager::requireServing, "a web server answers", "rpc_port");
  }

  @Test
  void requireServing_dropsConnections_isNamed() throws IOException {
    Master master = master("127.0.0.1:" + answering(""), 1);
    assertUnreachable(master::requireServing, "connections are taken and dropped");
  }

  @Test
  void requireServing_otherProtocol_isNamed() throws IOException {
    Master master = master("127.0.0.1:" + answering("SSH-2.0\r\n"), 1);
    assertUnreachable(master::requireServing, "does not speak Mooncake's protocol");
  }

  @Test
  void requireServing_serverThatIsNoMaster_isNamed() throws IOException {
    Master master = master("127.0.0.1:" + answering(message(11, "not registered")), 1);
    assertUnreachable(master::requireServing, "a server of Mooncake answers that is no master");
  }

  @Test
  void requireServing_master_goesOnAndTellsItsVersion() throws IOException {
    Master master = master("127.0.0.1:" + answering(message(0, "\u00052.0.0")), 1);
    assertThatCode(master::requireServing).doesNotThrowAnyException();
    assertThat(master.described()).contains("has version 2.0.0");
  }

  @Test
  void requireServing_addressOfAnotherKind_asksThoseThatCanBeTold() throws IOException {
    int nobody = MooncakeCluster.freePort();
    Master away = master("etcd://127.0.0.1:" + nobody, 1);
    assertUnreachable(away::requireServing, "127.0.0.1:" + nobody, "(master_server_address)");
    Master oneIsThere = master("etcd://127.0.0.1:%d;127.0.0.1:%d".formatted(nobody, web()), 1);
    assertThatCode(oneIsThere::requireServing).doesNotThrowAnyException();
    assertThatCode(master("k8s://lease", 1)::requireServing).doesNotThrowAnyException();
  }

  @Test
  void requireMetadata_none_goesOn() {
    assertThatCode(() -> Master.requireMetadata("P2PHANDSHAKE")).doesNotThrowAnyException();
  }

  @Test
  void requireMetadata_http_isWhatAnswersAsOne() throws IOException {
    String found = "HTTP/1.1 404 no\r\nContent-Length: 18\r\n\r\nmetadata not found";
    String other = "HTTP/1.1 404 no\r\nContent-Length: 2\r\n\r\nno";
    String broken = "HTTP/1.1 503 no\r\nContent-Length: 0\r\n\r\n";
    assertThatCode(() -> Master.requireMetadata(metadata(answering(found))))
        .doesNotThrowAnyException();
    assertUnreachable(
        () -> Master.requireMetadata(metadata(answering(other))), "(metadata_server) answers 404");
    assertUnreachable(
        () -> Master.requireMetadata(metadata(answering(broken))), "(metadata_server) answers 503");
    assertUnreachable(
        () -> Master.requireMetadata(metadata(MooncakeCluster.freePort())),
        "(metadata_server) cannot be reached");
    assertUnreachable(
        () -> Master.requireMetadata(metadata(listen())),
        "(metadata_server) does not answer within 2 s");
  }

  @Test
  void requireMetadata_etcd_isOneThatIsNotSilent() throws IOException {
    String silent = "etcd://127.0.0.1:" + listen();
    assertUnreachable(() -> Master.requireMetadata(silent), "does not answer within 2 s");
    String away = "127.0.0.1:" + MooncakeCluster.freePort();
    assertUnreachable(() -> Master.requireMetadata(away), away, "(metadata_server)");
    String either = away + ";127.0.0.1:" + web();
    assertThatCode(() -> Master.requireMetadata(either)).doesNotThrowAnyException();
  }

  @Test
  void metadataAddress_thatWouldEndTheProcess_isNone() {
    for (String good :
        List.of(
            "P2PHANDSHAKE",
            "http://h:8080/metadata",
            "http://of_a_container:8080/metadata",
            "http://[::1]:8080/metadata",
            "https://h",
            "etcd://a:1;b:2",
            "a:1")) {
      assertThat(MetadataServer.isAddress(good)).as(good).isTrue();
    }
    for (String bad :
        List.of(
            "",
            "P2P",
            "redis://h:6379",
            "foo://x",
            "http://",
            "http://a b/",
            "http://h:65536/metadata",
            "http://h/#m")) {
      assertThat(MetadataServer.isAddress(bad)).as(bad).isFalse();
    }
  }

  @Test
  void chargedBytes_isANumberOrAFailureThatIsForeseen() throws IOException {
    assertThat(Master.chargedBytes("{\"charged_bytes\" : 12}")).isEqualTo(12);
    for (String bad : List.of("", "{}", "{\"charged_bytes\":99999999999999999999}")) {
      assertThatThrownBy(() -> Master.chargedBytes(bad))
          .as(bad)
          .isInstanceOf(IOException.class)
          .hasMessageContaining("it does not say");
    }
  }

  @Test
  void awaitMemory_waitsUntilSomeIsListed() throws IOException {
    AtomicInteger asked = new AtomicInteger();
    Master master =
        master("127.0.0.1:1", answeringWith(() -> http(asked.incrementAndGet() < 3 ? " " : "s")));
    master.awaitMemory(() -> false, Duration.ofMinutes(1));
    assertThat(asked.get()).isEqualTo(3);
  }

  @Test
  void awaitMemory_noneInTime_namesTheSettingAndWhatWasSaid() throws IOException {
    Master bare = master("127.0.0.1:1", answering(http(" ")));
    assertUnreachable(
        () -> bare.awaitMemory(() -> false, Duration.ZERO), "(check_server)", "it lists none");
    Master away = master("127.0.0.1:1", MooncakeCluster.freePort());
    assertUnreachable(
        () -> away.awaitMemory(() -> false, Duration.ZERO),
        "(master_metrics_port)",
        "ConnectException");
  }

  @Test
  void awaitMemory_givenUp_ends() throws IOException {
    AtomicInteger asked = new AtomicInteger();
    Master bare =
        master(
            "127.0.0.1:1",
            answeringWith(
                () -> {
                  asked.incrementAndGet();
                  return http(" ");
                }));
    assertThatThrownBy(() -> bare.awaitMemory(() -> asked.get() > 0, Duration.ofMinutes(1)))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CANCELLED));
  }

  private static String http(String body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s".formatted(body.length(), body);
  }

  private static String metadata(int port) {
    return "http://127.0.0.1:" + port + "/metadata";
  }

  /** Returns an answer of Mooncake's protocol. */
  private static String message(int problem, String body) {
    return "\u0015\0%c\0\1\0\0\0%c\0\0\0\0\0\0\0%s"
        .formatted((char) problem, (char) body.length(), body);
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

  /** Returns a port whose connections end with an answer to a line. */
  private int web() throws IOException {
    return serving(
        input ->
            new BufferedReader(new InputStreamReader(input, StandardCharsets.US_ASCII)).readLine(),
        () -> "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  }

  /** Returns a port whose connections end with an answer. */
  private int answering(String answer) throws IOException {
    return answeringWith(() -> answer);
  }

  private int answeringWith(Supplier<String> answer) throws IOException {
    return serving(input -> input.read(new byte[8192]), answer);
  }

  /** Reads what a server waits for. */
  private interface Reading {
    @Nullable Object read(InputStream input) throws IOException;
  }

  private int serving(Reading reading, Supplier<String> answer) throws IOException {
    ServerSocket socket = socket();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              while (!socket.isClosed()) {
                try (Socket connection = socket.accept();
                    OutputStream output = connection.getOutputStream()) {
                  Object unused = reading.read(connection.getInputStream());
                  output.write(answer.get().getBytes(StandardCharsets.UTF_8));
                } catch (IOException e) {
                  LOG.debug("the other side has gone, or the test is over", e);
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
