package io.unifiedcache.api.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import java.util.Objects;
import java.util.Optional;

/**
 * What {@link StoreMaintenance#verify} has done.
 *
 * @param objects objects that were looked at, the bad ones included
 * @param bytes bytes of objects that were read
 * @param unproven those of the objects that nothing is known of but their size, so that a wrong
 *     byte would not have been seen
 * @param findings how many findings were passed on
 */
public record Verification(long objects, long bytes, long unproven, long findings) {
  /** What was done about a finding. */
  public enum Remedy {
    /** Nothing. */
    NONE,
    /** The key is absent, and the bytes are kept where the message says. */
    SET_ASIDE,
    /** The key is absent, and the bytes are not kept. */
    DROPPED,
    /** It is as it should be again, as far as the message says. */
    MENDED
  }

  /**
   * Something that is not as it should be.
   *
   * @param key the object that it is about; empty if it is about the store
   * @param code what a read would have failed with
   * @param message a sentence for an operator; not blank
   * @param remedy what was done about it
   */
  public record Finding(Optional<ObjectKey> key, FailureCode code, String message, Remedy remedy) {
    /**
     * Creates a finding.
     *
     * @throws IllegalArgumentException if the message is blank
     */
    public Finding {
      Objects.requireNonNull(key, "key");
      Objects.requireNonNull(code, "code");
      Objects.requireNonNull(remedy, "remedy");
      if (message.isBlank()) {
        throw new IllegalArgumentException("the message of a finding must not be blank");
      }
    }
  }
}
