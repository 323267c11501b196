package io.unifiedcache.linker.config;

/** What a linker does whose store cannot be opened (rule {@code linker.start-policy}). */
public enum StartPolicy {
  /** It is not opened either: there is one error, within the start timeout. */
  FAIL_FAST,
  /** It opens without hits, tries again in the background, and has hits once the store is there. */
  DEGRADED
}
