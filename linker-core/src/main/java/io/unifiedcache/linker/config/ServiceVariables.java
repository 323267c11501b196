package io.unifiedcache.linker.config;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The environment variables that Kubernetes gives to every container beside a service whose name is
 * {@code unified-cache} or begins with {@code unified-cache-}.
 *
 * <p>For each service these are {@code NAME_SERVICE_HOST}, {@code NAME_SERVICE_PORT} and one more
 * of it for each named port, {@code NAME_PORT}, and for each port four that begin with {@code
 * NAME_PORT_80_TCP}. A variable is one of them only if its value has the form of theirs, too.
 */
public final class ServiceVariables {
  private static final Pattern HOST = Pattern.compile("UNIFIED_CACHE_([A-Z0-9_]+_)?SERVICE_HOST");
  private static final Pattern PORT_NUMBER =
      Pattern.compile("UNIFIED_CACHE_([A-Z0-9_]+_)?SERVICE_PORT(_[A-Z0-9_]+)?");
  private static final Pattern LINK = Pattern.compile("UNIFIED_CACHE_([A-Z0-9_]+_)?PORT");
  private static final Pattern PORT =
      Pattern.compile(
          "UNIFIED_CACHE_([A-Z0-9_]+_)?PORT_(?<number>[0-9]{1,5})_(?<protocol>TCP|UDP|SCTP)"
              + "(?<part>_PROTO|_PORT|_ADDR)?");

  private static final Pattern ADDRESS =
      Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*");
  private static final Pattern URL =
      Pattern.compile("(?<protocol>tcp|udp|sctp)://(?<host>[^/]*):(?<number>[0-9]{1,5})");

  private ServiceVariables() {}

  /** Returns whether a variable is one of them. */
  public static boolean isOne(String variable, String value) {
    Matcher port = PORT.matcher(variable);
    if (port.matches()) {
      return isOfPort(port, value);
    }
    if (HOST.matcher(variable).matches()) {
      return isAddress(value);
    }
    if (PORT_NUMBER.matcher(variable).matches()) {
      return isPort(value);
    }
    return LINK.matcher(variable).matches() && isUrl(value);
  }

  private static boolean isOfPort(Matcher variable, String value) {
    String number = variable.group("number");
    String protocol = variable.group("protocol");
    return switch (variable.group("part")) {
      case "_PROTO" -> value.equalsIgnoreCase(protocol);
      case "_PORT" -> value.equals(number);
      case "_ADDR" -> isAddress(value);
      case null, default -> {
        Matcher url = URL.matcher(value);
        yield isUrl(value)
            && url.matches()
            && url.group("number").equals(number)
            && url.group("protocol").equalsIgnoreCase(protocol);
      }
    };
  }

  private static boolean isUrl(String value) {
    Matcher url = URL.matcher(value);
    if (!url.matches()) {
      return false;
    }
    String host = url.group("host");
    boolean bracketed = host.length() > 2 && host.startsWith("[") && host.endsWith("]");
    return isAddress(bracketed ? host.substring(1, host.length() - 1) : host)
        && isPort(url.group("number"));
  }

  private static boolean isAddress(String value) {
    return ADDRESS.matcher(value).matches();
  }

  private static boolean isPort(String value) {
    return value.matches("[0-9]{1,5}") && Integer.parseInt(value) <= 65_535;
  }
}
