package io.unifiedcache.linker.direct;

import io.unifiedcache.api.linker.LinkerStats;

/**
 * The counters of a linker. Thread-safe: each method is one step, and a snapshot lies between two.
 */
final class Counters {
  private long lookups;
  private long lookupFailures;
  private long loads;
  private long failedLoads;
  private long offloads;
  private long failedOffloads;
  private long objectsLoaded;
  private long bytesLoaded;
  private long objectsStored;
  private long bytesStored;
  private long objectsPresent;

  synchronized void lookup(long failures) {
    lookups++;
    lookupFailures += failures;
  }

  synchronized void loaded(long objects, long bytes) {
    loads++;
    objectsLoaded += objects;
    bytesLoaded += bytes;
  }

  synchronized void loadFailed() {
    failedLoads++;
  }

  synchronized void offloaded(boolean ok, long stored, long bytes, long present) {
    if (ok) {
      offloads++;
    } else {
      failedOffloads++;
    }
    objectsStored += stored;
    bytesStored += bytes;
    objectsPresent += present;
  }

  synchronized LinkerStats snapshot(long suspects) {
    return new LinkerStats(
        lookups,
        lookupFailures,
        loads,
        failedLoads,
        offloads,
        failedOffloads,
        objectsLoaded,
        bytesLoaded,
        objectsStored,
        bytesStored,
        objectsPresent,
        suspects);
  }
}
