package io.unifiedcache.conformance.run;

/**
 * How much a run does.
 *
 * @param quick few rounds and short waits
 * @param large also real objects past 2^31 bytes
 */
public record Effort(boolean quick, boolean large) {
  /** What a run does unless it is told otherwise. */
  public static final Effort USUAL = new Effort(false, false);

  /** Returns {@code usual} rounds, or a tenth of them, but at least one, in a quick run. */
  public int rounds(int usual) {
    return quick ? Math.max(1, usual / 10) : usual;
  }
}
