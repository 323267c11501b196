package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.StoreLimits;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one call and one entry of it may be. */
final class Limits {
  static final int BATCH = 1 << 13;
  static final int KEY_BYTES = 1 << 14;
  static final int PIECES = 1 << 10;

  /** Mooncake's master matches a pattern by recursion, one level for each character. */
  static final int CLEARED_PREFIX_BYTES = 1 << 12;

  static final Duration GRACE = Duration.ofSeconds(1);

  private Limits() {}

  /**
   * Returns the limits of a store. An object that no segment could hold is NO_SPACE, so that its
   * size has no limit to name.
   *
   * @param lease how long an object that was looked up or read may be leased
   */
  static StoreLimits of(Duration lease) {
    return new StoreLimits(
        BATCH,
        KEY_BYTES,
        /* objectBytes= */ Long.MAX_VALUE,
        PIECES,
        /* alignment= */ 1,
        GRACE,
        lease);
  }

  /** Returns why a key is refused, or null if it is not. */
  static @Nullable StoreFailure refusal(ObjectKey key) {
    String value = key.value();
    if (value.indexOf('\0') >= 0) {
      return refused(key, "its key has a NUL, which Mooncake takes for the end of a key");
    }
    // A char takes at most three bytes, and the two of a surrogate pair take four together.
    if (3L * value.length() > KEY_BYTES
        && value.getBytes(StandardCharsets.UTF_8).length > KEY_BYTES) {
      return refused(key, "its key has more than %d bytes (keyBytes)".formatted(KEY_BYTES));
    }
    return null;
  }

  /** Returns why an entry is refused, or null if it is not. */
  static @Nullable StoreFailure refusal(ObjectKey key, int pieces) {
    return pieces > PIECES
        ? refused(key, "its %d pieces are more than %d (pieces)".formatted(pieces, PIECES))
        : refusal(key);
  }

  /** Returns why the keys under a prefix cannot be cleared, or null if they can. */
  static @Nullable String refusal(KeyPrefix prefix) {
    if (prefix.value().indexOf('\0') >= 0) {
      return "a prefix with a NUL cannot be cleared: Mooncake takes it for the end of the pattern";
    }
    return prefix.value().getBytes(StandardCharsets.UTF_8).length > CLEARED_PREFIX_BYTES
        ? "a prefix of more than %d bytes cannot be cleared".formatted(CLEARED_PREFIX_BYTES)
        : null;
  }

  static StoreFailure refused(ObjectKey key, String message) {
    return StoreFailure.of(FailureCode.REFUSED, about(key, message));
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
