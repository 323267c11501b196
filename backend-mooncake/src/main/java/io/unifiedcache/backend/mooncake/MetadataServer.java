package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.MalformedURLException;
import java.net.Proxy;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The server where the clients of a cluster find each other, asked without Mooncake's client. */
final class MetadataServer {
  private static final Logger LOG = LoggerFactory.getLogger(MetadataServer.class);

  /** What is written instead of a server where clients find each other without one. */
  static final String NONE = "P2PHANDSHAKE";

  /** What Mooncake's packages know; all else ends the process. */
  private static final Pattern HTTP = Pattern.compile("https?://[^\\s/].*");

  private static final String ETCD = "etcd://";
  private static final Pattern SEPARATOR = Pattern.compile("[,;]");

  /** What a metadata server says of a key that it does not have. */
  private static final String NOT_FOUND = "metadata not found";

  private static final int ANSWER_BYTES = 4096;
  private static final int MAX_PORT = 65_535;

  private MetadataServer() {}

  /** Returns whether Mooncake's client takes an address, and does not end the process at it. */
  static boolean isAddress(String text) {
    String address = text.strip();
    return address.equals(NONE)
        || (HTTP.matcher(address).matches() && isUrl(address))
        || !endpoints(address).isEmpty();
  }

  /** Returns whether a host, and what may be asked of it, can be told. */
  private static boolean isUrl(String address) {
    try {
      // Names of hosts may have an underscore, which those in a URI may not.
      URL url = URI.create(address).toURL();
      return !url.getHost().isEmpty()
          && url.getPort() != 0
          && url.getPort() <= MAX_PORT
          && url.getRef() == null;
    } catch (IllegalArgumentException | MalformedURLException e) {
      return false;
    }
  }

  /** Returns the hosts of an address of etcd; none if it is none. */
  private static List<HostPort> endpoints(String address) {
    String list = address.startsWith(ETCD) ? address.substring(ETCD.length()) : address;
    List<HostPort> endpoints = new ArrayList<>();
    for (String each : SEPARATOR.split(list, -1)) {
      HostPort parsed = HostPort.parse(each.strip());
      if (parsed == null) {
        return List.of();
      }
      endpoints.add(parsed);
    }
    return endpoints;
  }

  /**
   * Requires that the server answers.
   *
   * @throws CacheException with code {@code UNREACHABLE}
   */
  static void requireAnswering(String address, Duration time) {
    if (HTTP.matcher(address).matches()) {
      requireHttp(address, time);
    } else if (!address.equals(NONE)) {
      requireOneOf("the metadata server " + address + " (metadata_server)", address, time);
    }
  }

  /** Returns what is asked of a server: a key that it does not have. */
  static URI question(String address) {
    return URI.create(address + (address.indexOf('?') < 0 ? "?" : "&") + "key=unified-cache-probe");
  }

  private static void requireHttp(String address, Duration time) {
    try {
      var connection = (HttpURLConnection) question(address).toURL().openConnection(Proxy.NO_PROXY);
      connection.setConnectTimeout((int) time.toMillis());
      connection.setReadTimeout((int) time.toMillis());
      connection.setInstanceFollowRedirects(false);
      try {
        int status = connection.getResponseCode();
        if (status == HttpURLConnection.HTTP_NOT_FOUND) {
          String text = textOf(connection);
          if (!text.contains(NOT_FOUND)) {
            throw unreachable(
                address,
                "answers 404 as a web server does that is none, or has another path; it is usually"
                    + " http://host:8080/metadata",
                null);
          }
        } else if (status != HttpURLConnection.HTTP_OK) {
          throw unreachable(address, "answers " + status + " where 200 or 404 is expected", null);
        }
      } finally {
        connection.disconnect();
      }
    } catch (SocketTimeoutException e) {
      throw unreachable(address, "does not answer within " + time.toSeconds() + " s", e);
    } catch (SSLHandshakeException e) {
      // It is there. Whom Mooncake trusts, its own library says.
      LOG.debug("the metadata server {} is not one that the JVM trusts", address, e);
    } catch (IOException e) {
      throw unreachable(address, "cannot be reached (" + e + "); start it", e);
    }
  }

  private static String textOf(HttpURLConnection connection) throws IOException {
    try (InputStream body = connection.getErrorStream()) {
      return body == null ? "" : new String(body.readNBytes(ANSWER_BYTES), StandardCharsets.UTF_8);
    }
  }

  /** Requires that one of several servers takes connections and is not silent. */
  static void requireOneOf(String what, String address, Duration time) {
    List<String> problems = new ArrayList<>();
    IOException last = null;
    for (HostPort endpoint : endpoints(address)) {
      try {
        RpcPort answer = RpcPort.ask(new InetSocketAddress(endpoint.host(), endpoint.port()), time);
        if (answer.kind() != RpcPort.Kind.SILENT) {
          return;
        }
        problems.add(endpoint + " does not answer within " + time.toSeconds() + " s");
      } catch (IOException e) {
        problems.add(endpoint + ": " + e);
        last = e;
      }
    }
    throw failure(what + " cannot be reached: " + String.join("; ", problems), last);
  }

  private static CacheException unreachable(
      String address, String problem, @Nullable IOException cause) {
    return failure("the metadata server " + address + " (metadata_server) " + problem, cause);
  }

  private static CacheException failure(String message, @Nullable IOException cause) {
    return cause == null
        ? new CacheException(FailureCode.UNREACHABLE, message)
        : new CacheException(FailureCode.UNREACHABLE, message, cause);
  }
}
