package io.unifiedcache.cli.replay;

import java.io.Serial;

/** A trace cannot be read, or is not in the published format; the message says where and why. */
public final class TraceException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  TraceException(String message) {
    super(message);
  }

  TraceException(String message, Throwable cause) {
    super(message, cause);
  }
}
