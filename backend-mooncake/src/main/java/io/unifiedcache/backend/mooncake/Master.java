package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
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

  private static final Pattern TENANT_BYTES = Pattern.compile("\"charged_bytes\"\\s*:\\s*(\\d+)");

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
   * Requires that the master can be joined, as far as can be told without Mooncake's client: that
   * waits half a minute for one that hangs, with the lock of Python's interpreter in its hands, and
   * answers one that is away with the number of a wrong argument.
   *
   * @throws CacheException with code {@code UNREACHABLE} if nothing listens where the master
   *     should, or if its HTTP interface takes connections and does not answer
   */
  void requireServing() {
    InetSocketAddress socket = socket();
    if (socket == null) {
      return;
    }
    if (socket.isUnresolved()) {
      throw new CacheException(
          FailureCode.UNREACHABLE,
          "the host of the master " + address + " (master_server_address) is not known");
    }
    try (Socket connection = new Socket()) {
      connection.connect(socket, (int) TIMEOUT.toMillis());
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.UNREACHABLE,
          "no master of Mooncake listens at "
              + address
              + " (master_server_address); start mooncake_master there: "
              + e,
          e);
    }
    requireAnswering(socket);
  }

  /** Requires an answer of any kind from the HTTP interface, if that can be connected to. */
  private void requireAnswering(InetSocketAddress socket) {
    try {
      HttpURLConnection http = connection(socket, "/health");
      http.connect();
      try {
        LOG.debug("the health of the master {} is {}", address, http.getResponseCode());
      } catch (SocketTimeoutException e) {
        throw new CacheException(
            FailureCode.UNREACHABLE,
            ("the master of Mooncake at %s hangs: it takes connections, and its HTTP interface at"
                    + " port %d (master_metrics_port) does not answer within %d s")
                .formatted(address, httpPort, TIMEOUT.toSeconds()),
            e);
      } finally {
        http.disconnect();
      }
    } catch (IOException e) {
      // Nobody has to run that interface, or let it be reached from here.
      LOG.debug("the master {} cannot be asked for its health", address, e);
    }
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
      try (InputStream lines = connect("/get_all_keys").getInputStream()) {
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
        String text = new String(body.readAllBytes(), StandardCharsets.UTF_8);
        Matcher bytes = TENANT_BYTES.matcher(text);
        if (bytes.find()) {
          return OptionalLong.of(Long.parseLong(bytes.group(1)));
        }
        throw new IOException("it does not say what tenant " + tenant + " has: " + text);
      }
    }
    try (InputStream body = connection.getErrorStream()) {
      String text = body == null ? "" : new String(body.readAllBytes(), StandardCharsets.UTF_8);
      // A tenant that is not registered has nothing; otherwise it knows no tenants, or of none now.
      return text.contains("OBJECT_NOT_FOUND") ? OptionalLong.of(0) : OptionalLong.empty();
    }
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
