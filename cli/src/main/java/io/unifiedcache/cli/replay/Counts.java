package io.unifiedcache.cli.replay;

import java.util.List;
import java.util.function.ToLongFunction;

/**
 * What a replay has counted since it began, or in one window of it.
 *
 * @param hitPages pages of completed loads, counted once for all ranks
 * @param bytesLoaded bytes of completed loads, of all ranks
 * @param bytesOffloaded bytes of the objects that were stored, of all ranks
 * @param evictions objects that the store evicted
 * @param failedLoads load requests that failed, counted once for all ranks
 * @param failedOffloads offload requests of which a page was not stored, likewise
 * @param mismatches pieces of memory, of all ranks, that did not hold what they must
 * @param lostCompletions requests that never completed, counted once for all ranks
 */
public record Counts(
    long hitPages,
    long bytesLoaded,
    long bytesOffloaded,
    long evictions,
    long failedLoads,
    long failedOffloads,
    long mismatches,
    long lostCompletions) {
  /** What there is before anything was counted. */
  static final Counts NONE = new Counts(0, 0, 0, 0, 0, 0, 0, 0);

  static Counts of(List<Tally> ranks, long bytesOffloaded, long evictions) {
    return new Counts(
        most(ranks, tally -> tally.hitPages),
        ranks.stream().mapToLong(tally -> tally.bytesLoaded).sum(),
        bytesOffloaded,
        evictions,
        most(ranks, tally -> tally.failedLoads),
        most(ranks, tally -> tally.failedOffloads),
        ranks.stream().mapToLong(tally -> tally.mismatches).sum(),
        most(ranks, tally -> tally.lostCompletions));
  }

  /** Completions are verdicts of all ranks, so ranks differ only where one lost a completion. */
  static long most(List<Tally> ranks, ToLongFunction<Tally> count) {
    return ranks.stream().mapToLong(count).max().orElse(0);
  }

  Counts minus(Counts earlier) {
    return new Counts(
        hitPages - earlier.hitPages,
        bytesLoaded - earlier.bytesLoaded,
        bytesOffloaded - earlier.bytesOffloaded,
        evictions - earlier.evictions,
        failedLoads - earlier.failedLoads,
        failedOffloads - earlier.failedOffloads,
        mismatches - earlier.mismatches,
        lostCompletions - earlier.lostCompletions);
  }
}
