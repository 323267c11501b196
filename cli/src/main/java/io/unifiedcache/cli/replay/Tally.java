package io.unifiedcache.cli.replay;

import java.util.Optional;
import org.HdrHistogram.Histogram;

/** What one rank has counted and timed. Times are in nanoseconds. Not thread-safe. */
final class Tally {
  final Histogram lookup = new Histogram(3);
  final Histogram firstLayer = new Histogram(3);
  final Histogram load = new Histogram(3);
  final Histogram offload = new Histogram(3);

  /** Pages of completed loads. */
  long hitPages;

  /** Bytes of completed loads. */
  long bytesLoaded;

  /** Load requests that failed. */
  long failedLoads;

  /** Offload requests of which at least one page was not stored. */
  long failedOffloads;

  /** Load and offload requests without a completion. */
  long lostCompletions;

  /** Pieces that did not hold what they must. */
  long mismatches;

  /** Time with a load under way. */
  long loadNanos;

  /** Time with an offload under way. */
  long offloadNanos;

  private Optional<String> firstMismatch = Optional.empty();
  private Optional<String> firstFailure = Optional.empty();

  void mismatch(String where) {
    mismatches++;
    if (firstMismatch.isEmpty()) {
      firstMismatch = Optional.of(where);
    }
  }

  void failure(String what) {
    if (firstFailure.isEmpty()) {
      firstFailure = Optional.of(what);
    }
  }

  Optional<String> firstMismatch() {
    return firstMismatch;
  }

  Optional<String> firstFailure() {
    return firstFailure;
  }
}
