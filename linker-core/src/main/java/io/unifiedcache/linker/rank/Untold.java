package io.unifiedcache.linker.rank;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What is to be logged once no lock is held any more: a log may run anything, and may even come
 * back here from another thread.
 *
 * <p>Thread-safe.
 */
final class Untold {
  private final Queue<Runnable> lines = new ConcurrentLinkedQueue<>();

  /** Notes a line, which may be done under a lock. */
  void add(Runnable line) {
    lines.add(line);
  }

  /** Logs what has been noted; called without a lock. */
  void tell() {
    for (Runnable line = lines.poll(); line != null; line = lines.poll()) {
      line.run();
    }
  }
}
