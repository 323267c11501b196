package io.unifiedcache.conformance.store;

import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.run.Trial;
import java.util.List;
import java.util.function.Function;

/** Requests of any length, in batches that the store takes. */
final class Batches {
  private Batches() {}

  /** Makes a call for as many entries at a time as the store takes, and joins the answers. */
  static <T> BatchResult call(Trial trial, List<T> entries, Function<List<T>, BatchResult> call) {
    BatchResult.Builder joined = BatchResult.builder(entries.size());
    for (int from = 0; from < entries.size(); ) {
      int to = (int) Math.min(entries.size(), (long) from + trial.limits().batch());
      BatchResult answer = call.apply(entries.subList(from, to));
      for (int i = 0; i < answer.size(); i++) {
        if (answer.status(i) == ObjectStatus.FAILED) {
          joined.failed(from + i, answer.failure(i));
        } else {
          joined.set(from + i, answer.status(i));
        }
      }
      from = to;
    }
    return joined.build();
  }
}
