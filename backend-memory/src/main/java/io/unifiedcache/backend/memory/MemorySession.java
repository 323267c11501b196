package io.unifiedcache.backend.memory;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Objects of a {@link MemoryStore}, pinned from the opening of the session to its close.
 *
 * <p>Used by one thread at a time; a close from another thread waits for a read to end, so that no
 * memory is recycled under it.
 */
final class MemorySession implements ReadSession {
  private final MemoryStore store;
  private final @Nullable StoredObject[] objects;
  private final BatchResult opened;
  private final ReentrantLock reading = new ReentrantLock();
  private boolean closed;

  MemorySession(MemoryStore store, @Nullable StoredObject[] objects, BatchResult opened) {
    this.store = store;
    this.objects = objects;
    this.opened = opened;
  }

  @Override
  public BatchResult opened() {
    reading.lock();
    try {
      requireOpen();
      return opened;
    } finally {
      reading.unlock();
    }
  }

  @Override
  public long size(int entry) {
    reading.lock();
    try {
      requireOpen();
      StoredObject object = objects[entry];
      return object == null ? -1 : object.size;
    } finally {
      reading.unlock();
    }
  }

  @Override
  public BatchResult read(List<ReadOp> ops, Deadline by) {
    reading.lock();
    try {
      requireOpen();
      return store.read(ops, objects, opened, by);
    } finally {
      reading.unlock();
    }
  }

  @Override
  public void close() {
    reading.lock();
    try {
      if (!closed) {
        closed = true;
        store.release(objects);
      }
    } finally {
      reading.unlock();
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the session is closed");
    }
  }
}
