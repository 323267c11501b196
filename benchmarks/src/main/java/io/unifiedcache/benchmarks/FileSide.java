package io.unifiedcache.benchmarks;

import java.nio.file.Path;

/**
 * A store of files whose rounds are measured: {@link #prepare}, then rounds, then {@link #finish}.
 *
 * <p>A round is a put, then a get, then what else is asked, then {@link #rest}. What a side returns
 * are the nanoseconds that the store's own calls took.
 */
interface FileSide {
  /** Returns what the rows call it. */
  String name();

  /** Begins with objects of the given bytes in a folder of its own. */
  void prepare(Path folder, long objectBytes);

  /** Puts all objects under keys that it has not, after emptying the store and sync(2). */
  long put();

  /** Gets all objects of the round, and holds every byte against what was put. */
  long get();

  /** Tells whether it can be asked whether it has a key. */
  boolean knowsKeys();

  /** Asks for {@link FileRounds#EXISTS_KEYS} keys, half of which are there. */
  long exists();

  /** Leaves nothing behind that the next side would have to wait for. */
  void rest();

  /** Ends, and leaves nothing in the folder. */
  void finish();
}
