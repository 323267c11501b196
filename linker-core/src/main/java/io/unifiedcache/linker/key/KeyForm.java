package io.unifiedcache.linker.key;

/** How object keys are written (setting {@code keys}). */
public enum KeyForm {
  /**
   * Every part of the identity, each escaped: deployments that differ in any part share no object
   * (rule {@code key.isolation}).
   */
  STRICT,
  /** The keys of SGLang's Mooncake store: an object per component. */
  SGLANG_STORE,
  /** The keys of SGLang's direct linker: one object per page and pool. */
  SGLANG_LINKER,
  /** The file names of SGLang's file store: one file per page and pool. */
  SGLANG_FILE
}
