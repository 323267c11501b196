package io.unifiedcache.backend.file;

/**
 * How one user of a folder wants its objects stored.
 *
 * @param capacity the most bytes of live objects, those of all users together
 * @param lowWatermark how much of the capacity is to be free, without a put having to make it so
 * @param minFree the bytes that the file system is left
 * @param segmentBytes the size of a new segment file
 * @param checksum whether payloads are summed up and held against their sums
 * @param flush whether a put that is answered survives a loss of power
 * @param lanes segments that are to be written at the same time
 */
record Tuning(
    long capacity,
    long lowWatermark,
    long minFree,
    long segmentBytes,
    boolean checksum,
    boolean flush,
    int lanes) {
  private static final int MOST_LANES = 4;
  static final long LEAST_SEGMENT = 4L << 20;
  private static final long MOST_SEGMENTS = 64;

  /** Segments are as large as asked for, but never so small that there were very many. */
  Tuning {
    segmentBytes =
        ExtentHeader.padded(
            Math.max(segmentBytes, Math.max(LEAST_SEGMENT, capacity / MOST_SEGMENTS)));
    lanes = Math.clamp(lanes, 1, MOST_LANES);
  }

  /**
   * Returns the most bytes that segment files are to have: some more than the objects, for headers
   * and for gaps that no object fits in, and for each writer the files that are not full.
   */
  long mostSegmentBytes(int writers) {
    return capacity + capacity / 4 + ((long) writers * lanes + 1) * segmentBytes;
  }
}
