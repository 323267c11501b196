package org.example.folder;

import io.unifiedcache.api.store.StoreStats;

/** Counts what a store does. A snapshot is consistent: each method is one step. */
final class Counters {
  private long stored;
  private long present;
  private long found;
  private long absent;
  private long failed;
  private long removed;
  private long bytesStored;
  private long bytesRead;

  synchronized void stored(long bytes) {
    stored++;
    bytesStored += bytes;
  }

  synchronized void present() {
    present++;
  }

  synchronized void found(long bytes) {
    found++;
    bytesRead += bytes;
  }

  synchronized void absent() {
    absent++;
  }

  synchronized void failed() {
    failed++;
  }

  synchronized void removed() {
    removed++;
  }

  synchronized StoreStats snapshot() {
    return new StoreStats(
        StoreStats.UNKNOWN,
        StoreStats.UNKNOWN,
        StoreStats.UNKNOWN,
        stored,
        present,
        found,
        absent,
        failed,
        removed,
        /* evicted= */ 0,
        bytesStored,
        bytesRead);
  }
}
