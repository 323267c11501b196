package io.unifiedcache.cli.replay;

import java.util.OptionalLong;

/**
 * Which loads fail: a function of seed, request and attempt alone, so that equal seeds fail equal
 * loads whatever the order of threads.
 *
 * @param rate the share of loads that fail, from 0 to 1
 * @param seed any number
 */
record FaultPlan(double rate, long seed) {
  /**
   * Returns random bits that say where the load fails, if it does.
   *
   * @param request the number of the request
   * @param attempt how often the load of the request has been tried before
   */
  OptionalLong fault(int request, int attempt) {
    long bits = PageContent.mix(PageContent.mix(PageContent.mix(seed) + request) + attempt);
    double share = (bits >>> 11) * 0x1.0p-53;
    return share < rate
        ? OptionalLong.of(PageContent.mix(bits) & Long.MAX_VALUE)
        : OptionalLong.empty();
  }
}
