package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.StoreLimits;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one call and one entry of it may be. */
final class Limits {
  static final int KEY_BYTES = 1 << 15;

  /** No store is larger, and so no object: 64 TiB. */
  static final long MOST_CAPACITY = 1L << 46;

  /** An object over the capacity is NO_SPACE, so that there is no limit on its own to name. */
  static final StoreLimits LIMITS =
      new StoreLimits(
          /* batch= */ 1 << 16,
          KEY_BYTES,
          /* objectBytes= */ Long.MAX_VALUE,
          /* pieces= */ 1 << 16,
          /* alignment= */ 1,
          /* grace= */ Duration.ofSeconds(1),
          /* busy= */ Duration.ZERO);

  private Limits() {}

  /** Returns why a key is refused, or null if it is not. */
  static @Nullable StoreFailure refusal(ObjectKey key) {
    String value = key.value();
    // A char takes at most three bytes, and the two of a surrogate pair take four together.
    if (3L * value.length() <= KEY_BYTES
        || value.getBytes(StandardCharsets.UTF_8).length <= KEY_BYTES) {
      return null;
    }
    return StoreFailure.of(
        FailureCode.REFUSED,
        about(key, "the key has more than %d bytes (keyBytes)".formatted(KEY_BYTES)));
  }

  /** Returns why an entry is refused, or null if it is not. */
  static @Nullable StoreFailure refusal(ObjectKey key, int pieces) {
    if (pieces > LIMITS.pieces()) {
      return StoreFailure.of(
          FailureCode.REFUSED,
          about(key, "its %d pieces are more than %d".formatted(pieces, LIMITS.pieces())));
    }
    return refusal(key);
  }

  /** Returns a message about a key, which is shortened. */
  static String about(ObjectKey key, String message) {
    String value = key.value();
    return "object "
        + (value.length() <= 80 ? value : value.substring(0, 80) + "...")
        + ": "
        + message;
  }
}
