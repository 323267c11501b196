package io.unifiedcache.cli.replay;

import java.util.List;

/**
 * One request of a trace.
 *
 * @param timestamp milliseconds since the trace began
 * @param inputLength tokens of the prompt
 * @param outputLength tokens of the answer, which the replay does not use
 * @param hashIds one id per block of {@link Trace#BLOCK_TOKENS} tokens, the last of which may be
 *     partial and may be left out; equal ids mean equal prompts up to the end of the block
 */
record TraceRequest(double timestamp, int inputLength, long outputLength, List<Long> hashIds) {
  TraceRequest {
    hashIds = List.copyOf(hashIds);
  }

  /** Returns the number of full pages. */
  int pages() {
    return inputLength / Trace.BLOCK_TOKENS;
  }

  /**
   * Returns the most pages that can be used: the last token is always computed, so a prompt of
   * exactly k pages uses at most k - 1.
   */
  int usablePages() {
    return Math.max(0, inputLength - 1) / Trace.BLOCK_TOKENS;
  }
}
