package io.unifiedcache.conformance.result;

/** How binding a rule is. */
public enum Level {
  /** Who breaks it is not conformant. */
  MUST,
  /** Who breaks it is told so, and conforms in part. */
  SHOULD
}
