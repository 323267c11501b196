package io.unifiedcache.backend.file;

/**
 * How one user of a folder wants its objects stored.
 *
 * @param capacity the most bytes of live objects, those of all users together
 * @param minFree the bytes that the file system is left
 * @param segmentBytes the size of a new segment file
 * @param checksum whether payloads are summed up and held against their sums
 * @param flush whether a put that is answered survives a loss of power
 */
record Tuning(long capacity, long minFree, long segmentBytes, boolean checksum, boolean flush) {
  private static final long LEAST_SEGMENT = 4L << 20;
  private static final long MOST_SEGMENTS = 64;

  /** Segments are as large as asked for, but never so small that there were very many. */
  Tuning {
    segmentBytes =
        ExtentHeader.padded(
            Math.max(segmentBytes, Math.max(LEAST_SEGMENT, capacity / MOST_SEGMENTS)));
  }

  /**
   * Returns the most bytes that segment files are to have: some more than the objects, for headers
   * and for gaps that no object fits in, and one file that is not full for each writer.
   */
  long mostSegmentBytes(int writers) {
    return capacity + capacity / 4 + (writers + 1) * segmentBytes;
  }
}
