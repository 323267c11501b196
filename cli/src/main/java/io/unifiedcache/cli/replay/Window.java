package io.unifiedcache.cli.replay;

/**
 * What happened while some requests that follow each other were served. What is unfinished at the
 * end of a window counts in the one in which it completes.
 *
 * @param firstRequest the number of the first of them, from 0
 * @param requests how many they are
 * @param fromSeconds when the first of them came, in the trace's time since its first request
 * @param toSeconds when the last of them came, likewise
 * @param promptTokens tokens of their prompts
 * @param bestHitPages pages that a store without bounds, empty at the start of the replay, would
 *     have given
 * @param counts what was counted
 * @param liveBytes bytes in the store at the end, or {@link
 *     io.unifiedcache.api.store.StoreStats#UNKNOWN}
 */
public record Window(
    int firstRequest,
    int requests,
    double fromSeconds,
    double toSeconds,
    long promptTokens,
    long bestHitPages,
    Counts counts,
    long liveBytes) {
  /** Returns the tokens of hit pages, as a share of all prompt tokens. */
  public double tokenHitRate() {
    return share(counts.hitPages());
  }

  /** Returns what a store without bounds would have given. */
  public double bestTokenHitRate() {
    return share(bestHitPages);
  }

  private double share(long pages) {
    return promptTokens == 0 ? 0 : (double) pages * Trace.BLOCK_TOKENS / promptTokens;
  }
}
