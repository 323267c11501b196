package io.unifiedcache.api.linker;

import io.unifiedcache.api.FailureCode;
import java.util.Map;

/**
 * Counters of a linker since it was opened, as one consistent snapshot, of this rank.
 *
 * @param lookups lookups that asked the store
 * @param lookupFailures objects that a lookup could not find out about
 * @param outages how often the store was taken to be away (rule {@code linker.outage})
 * @param loads loads that are loaded on this rank
 * @param failedLoads loads that failed on this rank, cancelled ones included once they had started
 * @param offloads offloads of which no page failed on this rank; where another rank writes the
 *     pages, all
 * @param failedOffloads offloads of which a page is not stored, cancelled ones included
 * @param objectsLoaded objects of the loads counted in {@code loads}
 * @param bytesLoaded bytes of these objects
 * @param objectsStored objects that offloads put
 * @param bytesStored bytes of these objects
 * @param objectsPresent objects that offloads found in the store
 * @param suspects objects that are under suspicion now
 * @param failures by reason, the objects that failed in lookups, loads and offloads, and the loads
 *     and offloads that failed as a whole; a reason that did not occur is not in it
 */
public record LinkerStats(
    long lookups,
    long lookupFailures,
    long outages,
    long loads,
    long failedLoads,
    long offloads,
    long failedOffloads,
    long objectsLoaded,
    long bytesLoaded,
    long objectsStored,
    long bytesStored,
    long objectsPresent,
    long suspects,
    Map<FailureCode, Long> failures) {
  /** Creates a snapshot. */
  public LinkerStats {
    failures = Map.copyOf(failures);
  }
}
