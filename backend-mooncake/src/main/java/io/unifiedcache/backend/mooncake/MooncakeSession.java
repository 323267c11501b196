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
  private final OpenObjects.Opening opening;
  private boolean closed;

  MooncakeSession(
      MooncakeStore store, List<ObjectKey> keys, BatchResult opened, OpenObjects.Opening opening) {
    this.store = store;
    this.keys = keys;
    this.opened = opened;
    this.opening = opening;
  }

  @Override
  public BatchResult opened() {
    requireOpen();
    return opened;
  }

  @Override
  public long size(int entry) {
    requireOpen();
    return opened.isOk(entry) ? opening.size(keys.get(entry).value()) : -1;
  }

  @Override
  public BatchResult read(List<ReadOp> ops, Deadline by) {
    requireOpen();
    return store.read(ops, keys, opened, opening, by);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      store.end(opening);
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the session is closed");
    }
  }
}
