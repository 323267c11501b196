package io.unifiedcache.api.linker;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A rank did not take part in a collective operation by the deadline. */
public class RankLostException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  /** Creates an exception; the message names the ranks that are missing. */
  public RankLostException(String message) {
    this(message, null);
  }

  /** Creates an exception with what caused it. */
  public RankLostException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
