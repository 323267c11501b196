package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import java.util.List;

/** Objects that the client holds open. Used by one thread at a time. */
final class MooncakeSession implements ReadSession {
  private final MooncakeStore store;
  private final List<ObjectKey> keys;
  private final BatchResult opened;
  private final long since;
  private boolean closed;

  /**
   * Creates a session; what was opened is held open already, once for each key.
   *
   * @param since when it was opened, as {@link Removals} counts
   */
  MooncakeSession(MooncakeStore store, List<ObjectKey> keys, BatchResult opened, long since) {
    this.since = since;
    this.store = store;
    this.keys = keys;
    this.opened = opened;
  }

  @Override
  public BatchResult opened() {
    requireOpen();
    return opened;
  }

  @Override
  public BatchResult read(List<ReadOp> ops, Deadline by) {
    requireOpen();
    return store.read(ops, keys, opened, since, by);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      store.end(MooncakeStore.openKeys(keys, opened));
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the session is closed");
    }
  }
}
