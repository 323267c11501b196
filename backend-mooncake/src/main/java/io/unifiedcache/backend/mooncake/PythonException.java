package io.unifiedcache.backend.mooncake;

import java.io.Serial;

/** An exception of Python, with its type and what it says. */
final class PythonException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  private final String type;

  PythonException(String type, String message) {
    super(message.isEmpty() ? type : type + ": " + message);
    this.type = type;
  }

  /** Returns the name of the exception's class, such as {@code RuntimeError}. */
  String type() {
    return type;
  }
}
