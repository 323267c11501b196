package io.unifiedcache.linker.key;

/**
 * What becomes of the empty parts of a name in the {@code sglang-*} forms of keys (setting {@code
 * sglang.empty-segments}, rule {@code key.empty-segment}).
 */
public enum EmptySegments {
  /** They stay, as in SGLang: model {@code /models/x} becomes {@code -models-x}. */
  KEEP,
  /**
   * They are left out: model {@code /models/x} becomes {@code models-x}, and a tag or model of
   * which nothing is left is as if it were absent.
   */
  FILTER
}
