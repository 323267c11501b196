package io.unifiedcache.cli.replay;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.PoolQuery;

/**
 * How to replay a trace.
 *
 * @param model the pools of the model
 * @param pageBytes bytes of a page's keys and values on one rank
 * @param layers layers of the model
 * @param ranks ranks of the model, each with pools of its own
 * @param inFlight requests whose offload may be unfinished when the next lookup begins, and one
 *     more: 1 means that each offload is done before the next lookup
 * @param sidePages which pages of side pools are offloaded
 * @param pace how many times faster than recorded the requests come; 0 for as fast as possible
 * @param failRate the share of load requests that fail
 * @param seed chooses which of them do
 */
public record ReplayPlan(
    ModelPreset model,
    long pageBytes,
    int layers,
    int ranks,
    int inFlight,
    SidePages sidePages,
    double pace,
    double failRate,
    long seed) {
  /**
   * Creates a plan.
   *
   * @throws IllegalArgumentException if a number is out of its range, naming the option of the
   *     command that sets it
   */
  public ReplayPlan {
    requirePositive("--layers", layers);
    requirePositive("--ranks", ranks);
    requirePositive("--in-flight", inFlight);
    long grain = (long) ModelPreset.GRAIN * layers;
    if (pageBytes < grain || pageBytes % grain != 0) {
      throw new IllegalArgumentException(
          "--page-bytes must be a multiple of %d for %d layers, so that each layer gets an equal share of every pool, not %s"
              .formatted(grain, layers, new ByteSize(Math.max(0, pageBytes))));
    }
    if (!(failRate >= 0 && failRate <= 1)) {
      throw new IllegalArgumentException("--fail must be from 0 to 1, not " + failRate);
    }
    if (!(pace >= 0 && pace < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("--pace must be a number above 0, not " + pace);
    }
  }

  private static void requirePositive(String option, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(option + " must be at least 1, not " + value);
    }
  }

  /** Tells whether there are windows of which only the ends of prompts are offloaded. */
  public boolean keepsTailsAlone() {
    return model.queries().stream().anyMatch(this::isTail);
  }

  private boolean isTail(PoolQuery query) {
    return query.policy() == HitPolicy.TRAILING_PAGES && sidePages == SidePages.TAIL;
  }

  /**
   * Returns the bytes that a page takes in the store, on all ranks together; the mean if only some
   * pages of windows are offloaded.
   */
  double storedPageBytes(Reuse reuse) {
    double bytes = 0;
    DevicePools pools = model.allocate(layers, pageBytes, /* slots= */ 1);
    for (PoolQuery query : model.queries()) {
      bytes +=
          (isTail(query) ? reuse.tailShare(query.window()) : 1)
              * objectBytes(pools, query.source());
    }
    return pools.rankReplicated() ? bytes : bytes * ranks;
  }

  private static long objectBytes(DevicePools pools, PoolName source) {
    return pools.pools().stream()
        .filter(pool -> pool.source().equals(source))
        .flatMap(pool -> pool.components().stream())
        .mapToLong(Component::objectBytes)
        .sum();
  }
}
