package io.unifiedcache.cli.replay;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * What caches of every size would have had of a trace, if each evicted the page unused for longest.
 *
 * <p>Found in one pass: a page that lies n-th in the order of last use, the one used last being the
 * first, is in every cache of at least n pages. A cache hits as many leading pages of a prompt as
 * are all in it. Of a prompt the first page counts as used last, as it is worth most.
 *
 * <p>Immutable and thread-safe.
 */
public final class Reuse {
  /** The pages that can be hit at best, by request. */
  private final long[] best;

  /** The pages beyond them, by request. */
  private final long[] rest;

  /** Pages hit by a cache of so many pages; each entry includes those before it. */
  private final NavigableMap<Long, Long> hits;

  private final long distinctPages;

  private Reuse(long[] best, long[] rest, NavigableMap<Long, Long> hits, long distinctPages) {
    this.best = best;
    this.rest = rest;
    this.hits = hits;
    this.distinctPages = distinctPages;
  }

  static Reuse of(List<TraceRequest> requests) {
    long[] best = new long[requests.size()];
    long[] rest = new long[requests.size()];
    NavigableMap<Long, Long> hits = new TreeMap<>();
    Recency recency = new Recency(requests.stream().mapToInt(TraceRequest::pages).sum());
    for (int i = 0; i < best.length; i++) {
      TraceRequest request = requests.get(i);
      List<Long> pages = request.hashIds().subList(0, request.pages());
      long needed = 0;
      while (best[i] < request.usablePages() && recency.contains(pages.get((int) best[i]))) {
        needed = Math.max(needed, recency.place(pages.get((int) best[i])));
        hits.merge(needed, 1L, Long::sum);
        best[i]++;
      }
      rest[i] = pages.size() - best[i];
      pages.reversed().forEach(recency::use);
    }
    long sum = 0;
    for (Map.Entry<Long, Long> entry : hits.entrySet()) {
      sum += entry.getValue();
      entry.setValue(sum);
    }
    return new Reuse(best, rest, hits, recency.pages());
  }

  /** Returns the different pages of all prompts. */
  public long distinctPages() {
    return distinctPages;
  }

  /** Returns the pages that a cache without bounds, empty at the start, would have hit. */
  public long bestHitPages() {
    return hits.isEmpty() ? 0 : hits.lastEntry().getValue();
  }

  /** Returns the same of one request. */
  long bestHitPages(int request) {
    return best[request];
  }

  /** Returns the pages that a cache of {@code pages} pages would have hit. */
  public long hitPages(long pages) {
    Map.Entry<Long, Long> entry = hits.floorEntry(pages);
    return entry == null ? 0 : entry.getValue();
  }

  /**
   * Returns the pages of the smallest cache that hits a share of what is possible; 0 if nothing is.
   *
   * @param share from 0 to 1
   */
  public long pagesFor(double share) {
    for (Map.Entry<Long, Long> entry : hits.entrySet()) {
      if (entry.getValue() >= share * bestHitPages()) {
        return entry.getKey();
      }
    }
    return 0;
  }

  /** Returns the share of pages, of those not hit, that are among the last ones of their prompt. */
  double tailShare(int window) {
    long tails = Arrays.stream(rest).map(pages -> Math.min(window, pages)).sum();
    return (double) tails / Math.max(1, Arrays.stream(rest).sum());
  }

  /** The pages seen so far, in the order of their last use. */
  private static final class Recency {
    private final Map<Long, Integer> lastUse = new HashMap<>();

    /** A Fenwick tree over the uses, that counts those which are the last of their page. */
    private final int[] counts;

    private int uses;

    Recency(int uses) {
      counts = new int[uses + 1];
    }

    int pages() {
      return lastUse.size();
    }

    boolean contains(long page) {
      return lastUse.containsKey(page);
    }

    /** Returns 1 for the page used last. */
    int place(long page) {
      int before = 0;
      for (int i = lastUse.getOrDefault(page, 0) - 1; i > 0; i -= i & -i) {
        before += counts[i];
      }
      return pages() - before;
    }

    void use(long page) {
      Integer last = lastUse.put(page, ++uses);
      count(uses, 1);
      if (last != null) {
        count(last, -1);
      }
    }

    private void count(int use, int change) {
      for (int i = use; i < counts.length; i += i & -i) {
        counts[i] += change;
      }
    }
  }
}
