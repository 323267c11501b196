package io.unifiedcache.cli.vectors;

import java.io.Serial;

/** A file of vectors cannot be read, or a row has none of the known formats; says where and why. */
public final class VectorException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  VectorException(String message) {
    super(message);
  }

  VectorException(String message, Throwable cause) {
    super(message, cause);
  }
}
