package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The master of a cluster, as far as it can be asked without Mooncake's client. */
final class Master {
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private final String address;
  private final int httpPort;

  /**
   * Creates it; nothing is asked yet.
   *
   * @param address the host and port, or whatever else Mooncake takes
   * @param httpPort the port of its HTTP interface
   */
  Master(String address, int httpPort) {
    this.address = address;
    this.httpPort = httpPort;
  }

  /** Returns the address as one of a socket; null if it is of another kind, such as etcd's. */
  private @Nullable InetSocketAddress socket() {
    try {
      URI uri = new URI("mooncake://" + address);
      if (uri.getHost() == null || uri.getPort() < 0 || !uri.getPath().isEmpty()) {
        return null;
      }
      String host = uri.getHost();
      return new InetSocketAddress(
          host.startsWith("[") ? host.substring(1, host.length() - 1) : host, uri.getPort());
    } catch (URISyntaxException e) {
      return null;
    }
  }

  /**
   * Requires that something listens where the master should: Mooncake answers a master that is away
   * with the number of a wrong argument.
   */
  void requireListening() {
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
  }

  /**
   * Returns how others reach this process: a host with a port. Without a port Mooncake tries ports
   * of its own.
   */
  String localHostname(String configured) {
    if (!configured.isEmpty() && configured.matches(".*[^:]:[0-9]+")) {
      return configured;
    }
    String host = configured.isEmpty() ? facingAddress() : configured;
    try (ServerSocket free = new ServerSocket(0)) {
      return host + ":" + free.getLocalPort();
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
      InetAddress local = probe.getLocalAddress();
      return local instanceof Inet6Address
          ? "[" + local.getHostAddress() + "]"
          : local.getHostAddress();
    } catch (IOException | UncheckedIOException e) {
      return "localhost";
    }
  }

  /**
   * Counts the keys that begin with a prefix, by the master's HTTP interface. Keys that contain
   * line breaks may count more than once.
   *
   * @throws IOException if the interface does not answer
   */
  long countKeys(String prefix) throws IOException {
    InetSocketAddress socket = socket();
    if (socket == null) {
      throw new IOException("no host is known of the master " + address);
    }
    URLConnection connection =
        URI.create("http://" + hostOf(socket) + ":" + httpPort + "/get_all_keys")
            .toURL()
            .openConnection();
    connection.setConnectTimeout((int) TIMEOUT.toMillis());
    connection.setReadTimeout((int) TIMEOUT.toMillis());
    try (InputStream lines = new BufferedInputStream(connection.getInputStream(), 1 << 16)) {
      return countLines(lines, prefix.getBytes(StandardCharsets.UTF_8));
    }
  }

  private static String hostOf(InetSocketAddress socket) {
    String host = socket.getHostString();
    return host.indexOf(':') < 0 ? host : "[" + host + "]";
  }

  /** Counts the places at the begin of a line where the prefix is. */
  static long countLines(InputStream lines, byte[] prefix) throws IOException {
    byte[] all = lines.readAllBytes();
    long count = 0;
    int at = 0;
    while (at < all.length) {
      if (all.length - at >= prefix.length
          && Arrays.equals(all, at, at + prefix.length, prefix, 0, prefix.length)) {
        count++;
      }
      while (at < all.length && all[at] != '\n') {
        at++;
      }
      at++;
    }
    return count;
  }

  @Override
  public String toString() {
    return address;
  }
}
