package io.unifiedcache.conformance;

import io.unifiedcache.conformance.subject.StoreUnderTest;

/** The store that linkers are tried on, and that broken ones are edits of, keeps every rule. */
class ReferenceStoreTest extends StoreConformance {
  @Override
  protected StoreUnderTest store() {
    return Rules.referenceStore();
  }
}
