package io.unifiedcache.api;

import java.io.Serial;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call as a whole could not be served: the store or linker is closed, the operation is not
 * offered, the batch is too large, settings are wrong, or a wait has ended without its layer.
 *
 * <p>What befalls a single object is never an exception but a status of its entry.
 */
public class CacheException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  private final FailureCode code;

  /** Creates an exception. */
  public CacheException(FailureCode code, String message) {
    this(code, message, null);
  }

  /** Creates an exception with what caused it. */
  public CacheException(FailureCode code, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.code = Objects.requireNonNull(code, "code");
  }

  /** Returns the kind of failure. */
  public FailureCode code() {
    return code;
  }
}
