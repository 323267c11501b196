package io.unifiedcache.conformance.run;

/** On what a rule is tried. */
public enum Scope {
  /** A store. */
  STORE,
  /** A linker over a store, with faults between them. */
  LINKER,
  /** A provider, found by name. */
  PROVIDER
}
