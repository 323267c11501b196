package io.unifiedcache.api.store;

import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * One object to store: its key, and the pieces of memory whose bytes in order are the object.
 *
 * @param key the key
 * @param pieces the sources; may be read-only, may have no bytes
 * @param groupHint objects with an equal hint are used together; a store may ignore it (rule {@code
 *     store.groups})
 */
public record PutOp(ObjectKey key, List<Memory> pieces, Optional<String> groupHint) {
  /** Creates an entry. */
  public PutOp {
    Objects.requireNonNull(key, "key");
    pieces = List.copyOf(pieces);
    Objects.requireNonNull(groupHint, "groupHint");
  }

  /** Creates an entry without a group. */
  public PutOp(ObjectKey key, List<Memory> pieces) {
    this(key, pieces, Optional.empty());
  }

  /**
   * Returns the size of the object in bytes.
   *
   * @throws ArithmeticException if it does not fit in a {@code long}
   */
  public long byteSize() {
    return Pieces.byteSize(pieces);
  }
}
