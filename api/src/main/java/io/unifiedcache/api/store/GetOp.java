package io.unifiedcache.api.store;

import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import java.util.List;
import java.util.Objects;

/**
 * One object to read whole: its key, and the pieces of memory that its bytes fill in order.
 *
 * <p>The pieces together have exactly the size of the object (rule {@code store.size-exact}).
 *
 * @param key the key
 * @param pieces the targets; may have no bytes
 */
public record GetOp(ObjectKey key, List<Memory> pieces) {
  /** Creates an entry. */
  public GetOp {
    Objects.requireNonNull(key, "key");
    pieces = List.copyOf(pieces);
  }

  /**
   * Returns the bytes that the targets take.
   *
   * @throws ArithmeticException if they do not fit in a {@code long}
   */
  public long byteSize() {
    return Pieces.byteSize(pieces);
  }
}
