package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The master of a cluster, as far as it can be asked without Mooncake's client. */
final class Master {
  private static final Logger LOG = LoggerFactory.getLogger(Master.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** The tenant whose keys the HTTP interface lists, where a master keeps tenants apart. */
  private static final String LISTED_TENANT = "default";

  /** How much of the listed keys is looked at together. */
  private static final int WINDOW_BYTES = 1 << 16;

  /** What an address has that is neither a host nor a port. */
  private static final Pattern OTHER_KIND = Pattern.compile("://|[,;]");

  /** How long an answer may take in all. */
  private static final Duration LONGEST_ANSWER = Duration.ofSeconds(60);

  /** How often to look whether there is memory. */
  private static final Duration LOOK_PAUSE = Duration.ofMillis(200);

  /** How much of an answer is shown in a message. */
  private static final int SHOWN_CHARS = 200;

  private static final Pattern TENANT_BYTES =
      Pattern.compile("\"charged_bytes\"\\s*:\\s*(\\d{1,18})(?!\\d)");

  private final String address;
  private final int httpPort;
  private final String tenant;

  /**
   * Creates it; nothing is asked yet.
   *
   * @param address the host and port, or whatever else Mooncake takes
   * @param httpPort the port of its HTTP interface
   * @param tenant the tenant whose keys are meant, or empty for Mooncake's default
   */
  Master(String address, int httpPort, String tenant) {
    this.address = address;
    this.httpPort = httpPort;
    this.tenant = tenant.isEmpty() ? LISTED_TENANT : tenant;
  }

  /**
   * Tells whether an address may be one that Mooncake takes: a host with a port, or something of
   * another kind, such as {@code etcd://} and a list of hosts.
   */
  static boolean isAddress(String text) {
    String address = text.strip();
    return HostPort.parse(address) != null || OTHER_KIND.matcher(address).find();
  }

  /** Returns the address as one of a socket; null if it is of another kind, such as etcd's. */
  private @Nullable InetSocketAddress socket() {
    HostPort parsed = HostPort.parse(address);
    return parsed == null ? null : new InetSocketAddress(parsed.host(), parsed.port());
  }

  /**
   * Requires that a master of Mooncake answers, as far as can be told without Mooncake's client:
   * that waits half a minute for one that hangs, with the lock of Python's interpreter in its
   * hands, and has the same number for all that is wrong.
   *
   * @throws CacheException with code {@code UNREACHABLE} that says what answers instead
   */
  void requireServing() {
    InetSocketAddress socket = socket();
    if (socket == null) {
      requireElection();
      return;
    }
    if (socket.isUnresolved()) {
      throw unreachable(
          "the host of the master " + address + " (master_server_address) is not known");
    }
    RpcPort answer;
    try {
      answer = RpcPort.ask(socket, TIMEOUT);
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.UNREACHABLE,
          "no master of Mooncake listens at "
              + address
              + " (master_server_address); start mooncake_master there: "
              + e,
          e);
    }
    String problem = problem(answer);
    if (problem != null) {
      throw unreachable(problem);
    }
    LOG.debug("what answers at {} is {}", address, answer);
  }

  /** Returns why what answers at the port cannot be joined; null if it can. */
  private @Nullable String problem(RpcPort answer) {
    String there = "at " + address + " (master_server_address) ";
    return switch (answer.kind()) {
      case MASTER -> null;
      case OTHER_SERVER ->
          there
              + "a server of Mooncake answers that is no master, or one of a version that this"
              + " backend does not know; name the rpc_port of mooncake_master, which is usually"
              + " 50051";
      case HTTP ->
          there
              + "a web server answers, where the master's RPC port is expected: that is the"
              + " rpc_port of mooncake_master, usually 50051, and not its metrics_port";
      case OTHER_PROTOCOL ->
          there
              + "something answers that does not speak Mooncake's protocol; name the rpc_port of"
              + " mooncake_master, usually 50051";
      case DROPS ->
          there
              + "connections are taken and dropped, as by a proxy without a master behind it; look"
              + " after the master";
      case SILENT ->
          "the master of Mooncake at %s hangs: it takes connections and does not answer within %d s"
              .formatted(address, TIMEOUT.toSeconds());
    };
  }

  /** Returns what a master of this address says now of itself, for a message. */
  String described() {
    InetSocketAddress socket = socket();
    if (socket == null || socket.isUnresolved()) {
      return "it is not known which master serves " + address;
    }
    try {
      RpcPort answer = RpcPort.ask(socket, TIMEOUT);
      String problem = problem(answer);
      return problem != null
          ? problem
          : "the master at %s answers, and has version %s: if it stays so, the client loaded here"
                  .formatted(address, answer.version().isEmpty() ? "unknown" : answer.version())
              + " is of another version";
    } catch (IOException e) {
      return "no master of Mooncake listens at " + address + ": " + e;
    }
  }

  /** Requires that where masters are elected takes connections, if its hosts can be told. */
  private void requireElection() {
    int scheme = address.indexOf("://");
    String list = scheme < 0 ? address : address.substring(scheme + "://".length());
    if (MetadataServer.isAddress(list)) {
      MetadataServer.requireOneOf(
          "the servers " + address + " (master_server_address)", list, TIMEOUT);
    }
  }

  /** Requires that the metadata server of a cluster answers. */
  static void requireMetadata(String metadataServer) {
    MetadataServer.requireAnswering(metadataServer, TIMEOUT);
  }

  /** Returns whether the master lists no memory; false if it does not tell. */
  boolean isWithoutMemory() {
    try {
      return !listsMemory();
    } catch (IOException e) {
      LOG.debug("the master {} does not list its memory", address, e);
      return false;
    }
  }

  private boolean listsMemory() throws IOException {
    try (InputStream body = connect("/get_all_segments").getInputStream()) {
      return !textOf(body).isBlank();
    }
  }

  /**
   * Waits until the master lists memory, as SGLang does with {@code check_server}.
   *
   * @param givenUp whether nobody waits for it any more
   * @param longest how long to wait at most
   * @throws CacheException with code {@code CANCELLED} if it was given up; with {@code UNREACHABLE}
   *     if the master does not list any in time
   */
  void awaitMemory(BooleanSupplier givenUp, Duration longest) {
    long end = System.nanoTime() + longest.toNanos();
    while (!givenUp.getAsBoolean()) {
      String problem = "it lists none";
      try {
        if (listsMemory()) {
          return;
        }
      } catch (IOException e) {
        problem = e.toString();
      }
      if (System.nanoTime() - end >= 0) {
        throw unreachable(
            ("the cluster of %s has no memory after %d s (check_server), as its master tells by the"
                 + " HTTP interface at port %d (master_metrics_port): %s; start a mooncake_client,"
                 + " or correct the port")
                .formatted(address, longest.toSeconds(), httpPort, problem));
      }
      LOG.debug("waiting for memory in the cluster of {}: {}", address, problem);
      LockSupport.parkNanos(this, LOOK_PAUSE.toNanos());
    }
    throw new CacheException(FailureCode.CANCELLED, "the wait for memory was given up");
  }

  private static CacheException unreachable(String message) {
    return new CacheException(FailureCode.UNREACHABLE, message);
  }

  /**
   * Returns the host by which others reach this process, and the port if it was set: what was set,
   * or else the address that faces the master.
   */
  String localHost(String configured) {
    return configured.isEmpty() ? facingAddress() : configured;
  }

  /**
   * Returns a host with a port, which is a free one if it has none: Mooncake would try ports of its
   * own.
   */
  static String withPort(String host) {
    if (HostPort.parse(host) != null) {
      return host;
    }
    try (ServerSocket free = new ServerSocket(0)) {
      return HostPort.written(host) + ":" + free.getLocalPort();
    } catch (IOException e) {
      throw new CacheException(FailureCode.IO, "no port is free for Mooncake's client: " + e, e);
    }
  }

  /** Returns the address of this machine from which the master is reached; sends nothing. */
  private String facingAddress() {
    InetSocketAddress socket = socket();
    if (socket == null || socket.isUnresolved()) {
      return "localhost";
    }
    try (DatagramSocket probe = new DatagramSocket()) {
      probe.connect(socket);
      return probe.getLocalAddress().getHostAddress();
    } catch (IOException | UncheckedIOException e) {
      return "localhost";
    }
  }

  /**
   * Counts the keys of the tenant that begin with a prefix, by the master's HTTP interface. Keys
   * that contain line breaks may count more than once.
   *
   * @throws IOException if the interface does not answer, or does not tell of this tenant's keys
   */
  long countKeys(String prefix) throws IOException {
    OptionalLong tenantBytes = tenant.equals(LISTED_TENANT) ? OptionalLong.empty() : tenantBytes();
    if (tenantBytes.isEmpty()) {
      try (InputStream lines = ending(connect("/get_all_keys").getInputStream())) {
        return countLines(lines, prefix.getBytes(StandardCharsets.UTF_8));
      }
    } else if (tenantBytes.getAsLong() == 0) {
      return 0;
    }
    throw new IOException(
        "it lists the keys of no tenant but %s, and %s (tenant_id) has objects of %d bytes"
            .formatted(LISTED_TENANT, tenant, tenantBytes.getAsLong()));
  }

  /** Returns the bytes of all objects of the tenant; empty if the master keeps none apart. */
  private OptionalLong tenantBytes() throws IOException {
    HttpURLConnection connection =
        connect(
            "/api/v1/tenant_quotas?tenant_id=" + URLEncoder.encode(tenant, StandardCharsets.UTF_8));
    if (connection.getResponseCode() == HttpURLConnection.HTTP_OK) {
      try (InputStream body = connection.getInputStream()) {
        return OptionalLong.of(chargedBytes(textOf(body)));
      }
    }
    try (InputStream body = connection.getErrorStream()) {
      String text = body == null ? "" : textOf(body);
      // A tenant that is not registered has nothing; otherwise it knows no tenants, or of none now.
      return text.contains("OBJECT_NOT_FOUND") ? OptionalLong.of(0) : OptionalLong.empty();
    }
  }

  private static String textOf(InputStream body) throws IOException {
    return new String(ending(body).readNBytes(WINDOW_BYTES), StandardCharsets.UTF_8);
  }

  /**
   * Returns what the master says a tenant has.
   *
   * @param text its answer
   * @throws IOException if it says nothing of that
   */
  static long chargedBytes(String text) throws IOException {
    Matcher bytes = TENANT_BYTES.matcher(text);
    if (!bytes.find()) {
      throw new IOException(
          "it does not say what the tenant (tenant_id) has: "
              + text.substring(0, Math.min(text.length(), SHOWN_CHARS)));
    }
    return Long.parseLong(bytes.group(1));
  }

  /** Returns a stream that fails when reading from it has taken too long in all. */
  private static InputStream ending(InputStream input) {
    long end = System.nanoTime() + LONGEST_ANSWER.toNanos();
    return new FilterInputStream(input) {
      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        if (System.nanoTime() - end > 0) {
          throw new IOException(
              "its answer takes longer than " + LONGEST_ANSWER.toSeconds() + " s");
        }
        return in.read(bytes, offset, length);
      }
    };
  }

  private HttpURLConnection connect(String path) throws IOException {
    InetSocketAddress socket = socket();
    if (socket == null) {
      throw new IOException("no host is known of the master " + address);
    }
    return connection(socket, path);
  }

  /** Returns a connection that is yet to be made, and not by way of a proxy. */
  private HttpURLConnection connection(InetSocketAddress socket, String path) throws IOException {
    var connection =
        (HttpURLConnection)
            URI.create("http://" + new HostPort(socket.getHostString(), httpPort) + path)
                .toURL()
                .openConnection(Proxy.NO_PROXY);
    connection.setConnectTimeout((int) TIMEOUT.toMillis());
    connection.setReadTimeout((int) TIMEOUT.toMillis());
    return connection;
  }

  /** Counts the places at the begin of a line where the prefix is. */
  static long countLines(InputStream lines, byte[] prefix) throws IOException {
    byte[] window = new byte[WINDOW_BYTES + prefix.length];
    int filled = 0;
    boolean atBegin = true;
    boolean isLast = false;
    long count = 0;
    while (!isLast) {
      filled += lines.readNBytes(window, filled, window.length - filled);
      isLast = filled < window.length;
      // What begins after that may go on beyond the window.
      int end = isLast ? filled : WINDOW_BYTES;
      for (int at = 0; at < end; at++) {
        if (atBegin && beginsWith(window, at, filled, prefix)) {
          count++;
        }
        atBegin = window[at] == '\n';
      }
      filled -= end;
      System.arraycopy(window, end, window, 0, filled);
    }
    return count;
  }

  private static boolean beginsWith(byte[] text, int from, int to, byte[] prefix) {
    return to - from >= prefix.length
        && Arrays.equals(text, from, from + prefix.length, prefix, 0, prefix.length);
  }

  @Override
  public String toString() {
    return address;
  }
}
