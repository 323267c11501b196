package io.unifiedcache.linker.direct;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.linker.LinkerStats;
import java.util.EnumMap;
import java.util.Map;

/**
 * The counters of a linker. Thread-safe: each method is one step, and a snapshot lies between two.
 */
final class Counters {
  private long lookups;
  private long lookupFailures;
  private long outages;
  private long loads;
  private long failedLoads;
  private long offloads;
  private long failedOffloads;
  private long objectsLoaded;
  private long bytesLoaded;
  private long objectsStored;
  private long bytesStored;
  private long objectsPresent;
  private final Map<FailureCode, Long> failures = new EnumMap<>(FailureCode.class);

  synchronized void lookup(long failedObjects) {
    lookups++;
    lookupFailures += failedObjects;
  }

  synchronized void outage() {
    outages++;
  }

  /** Counts an object, or a whole request, that failed. */
  synchronized void failed(FailureCode reason) {
    failures.merge(reason, 1L, Long::sum);
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
        outages,
        loads,
        failedLoads,
        offloads,
        failedOffloads,
        objectsLoaded,
        bytesLoaded,
        objectsStored,
        bytesStored,
        objectsPresent,
        suspects,
        failures);
  }
}
