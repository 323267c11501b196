package io.unifiedcache.backend.mooncake;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A host and a port, written as Mooncake takes them.
 *
 * @param host a name or an address; one of IPv6 without its brackets
 * @param port from 1 to 65535
 */
record HostPort(String host, int port) {
  private static final int PORTS = 1 << 16;

  /**
   * Names may have an underscore, which those in a URI may not: networks of containers have such.
   */
  private static final Pattern FORM =
      Pattern.compile("(?:\\[([0-9A-Fa-f:.]+(?:%[\\w.-]+)?)]|([\\p{L}\\p{N}._-]+)):([0-9]{1,5})");

  /** Reads {@code host:port} or {@code [IPv6 address]:port}; null if it is neither. */
  static @Nullable HostPort parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      return null;
    }
    int port = Integer.parseInt(form.group(3));
    String name = form.group(2);
    return port == 0 || port >= PORTS
        ? null
        : new HostPort(name == null ? form.group(1) : name, port);
  }

  /** Returns a host as it is written before a colon. */
  static String written(String host) {
    return host.indexOf(':') < 0 || host.startsWith("[") ? host : "[" + host + "]";
  }

  @Override
  public String toString() {
    return written(host) + ":" + port;
  }
}
