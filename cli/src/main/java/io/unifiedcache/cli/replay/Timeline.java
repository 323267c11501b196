package io.unifiedcache.cli.replay;

import java.util.ArrayList;
import java.util.List;

/**
 * Cuts a replay into windows of equally many requests, from totals taken at their ends.
 *
 * <p>Used by one thread.
 */
final class Timeline {
  private static final int WINDOWS = 100;

  private final Trace trace;
  private final Reuse reuse;
  private final int windowCount;
  private final List<Window> windows = new ArrayList<>();
  private Counts counted = Counts.NONE;
  private int served;

  Timeline(Trace trace, Reuse reuse) {
    this.trace = trace;
    this.reuse = reuse;
    this.windowCount = Math.min(WINDOWS, trace.size());
  }

  /** Tells whether a request is the first of another window than the one before it. */
  boolean isCutBefore(int request) {
    return request > 0 && window(request) != window(request - 1);
  }

  private long window(int request) {
    return (long) request * windowCount / trace.size();
  }

  /**
   * Ends a window.
   *
   * @param requests those served since the replay began, more than at the end before
   * @param total what was counted since then
   * @param liveBytes bytes in the store now, if known
   */
  void end(int requests, Counts total, long liveBytes) {
    List<TraceRequest> part = trace.requests().subList(served, requests);
    long best = 0;
    for (int request = served; request < requests; request++) {
      best += reuse.bestHitPages(request);
    }
    windows.add(
        new Window(
            served,
            part.size(),
            seconds(served),
            seconds(requests - 1),
            part.stream().mapToLong(TraceRequest::inputLength).sum(),
            best,
            total.minus(counted),
            liveBytes));
    served = requests;
    counted = total;
  }

  private double seconds(int request) {
    double first = trace.requests().getFirst().timestamp();
    return (trace.requests().get(request).timestamp() - first) / 1000;
  }

  List<Window> windows() {
    return List.copyOf(windows);
  }
}
