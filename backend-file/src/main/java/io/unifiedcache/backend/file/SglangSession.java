package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Objects of a {@link SglangStore}, whose files are open: what is removed or replaced meanwhile is
 * still read as it was.
 *
 * <p>Used by one thread at a time; a close from another thread waits for a read to end.
 */
final class SglangSession implements ReadSession {
  private static final Logger LOG = LoggerFactory.getLogger(SglangSession.class);

  private final SglangStore store;
  private final List<ObjectKey> keys;
  private final @Nullable DiskFile[] files;
  private final long[] sizes;
  private final ReentrantLock reading = new ReentrantLock();

  /** Guards the files and the closing. */
  private final ReentrantLock lock = new ReentrantLock();

  private BatchResult opened = BatchResult.builder(0).build();
  private boolean closed;

  SglangSession(SglangStore store, List<ObjectKey> keys) {
    this.store = store;
    this.keys = keys;
    files = new @Nullable DiskFile[keys.size()];
    sizes = new long[keys.size()];
  }

  /** Takes the open file of an entry; closes it if the session is closed already. */
  void take(int entry, DiskFile file) throws IOException {
    long size;
    try {
      size = file.length();
    } catch (IOException e) {
      close(file);
      throw e;
    }
    lock.lock();
    try {
      if (!closed) {
        files[entry] = file;
        sizes[entry] = size;
        return;
      }
    } finally {
      lock.unlock();
    }
    close(file);
  }

  /** Says what became of the entries. */
  void setOpened(BatchResult result) {
    opened = result;
  }

  ObjectKey key(int entry) {
    return keys.get(entry);
  }

  /** Returns the size of an object that opened, also while a read is under way. */
  long sizeOf(int entry) {
    return sizes[entry];
  }

  /** Returns the file of an entry that is open. */
  DiskFile file(int entry) throws IOException {
    lock.lock();
    try {
      DiskFile file = files[entry];
      if (file == null) {
        throw new IOException("the session is closed");
      }
      return file;
    } finally {
      lock.unlock();
    }
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
      return opened.isOk(entry) ? sizes[entry] : -1;
    } finally {
      reading.unlock();
    }
  }

  @Override
  public BatchResult read(List<ReadOp> ops, Deadline by) {
    reading.lock();
    try {
      requireOpen();
      return store.read(ops, this, opened, by);
    } finally {
      reading.unlock();
    }
  }

  @Override
  public void close() {
    reading.lock();
    try {
      closeFiles();
    } finally {
      reading.unlock();
    }
  }

  /** Closes the files, also under a read that is late. */
  void closeFiles() {
    store.forget(this);
    lock.lock();
    try {
      closed = true;
      for (int i = 0; i < files.length; i++) {
        DiskFile file = files[i];
        files[i] = null;
        if (file != null) {
          close(file);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private static void close(DiskFile file) {
    try {
      file.close();
    } catch (IOException e) {
      LOG.warn("a file cannot be closed", e);
    }
  }

  private void requireOpen() {
    lock.lock();
    try {
      if (closed) {
        throw new CacheException(FailureCode.CLOSED, "the session is closed");
      }
    } finally {
      lock.unlock();
    }
  }
}
