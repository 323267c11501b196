package io.unifiedcache.conformance;

import io.unifiedcache.conformance.linker.LifecycleRules;
import io.unifiedcache.conformance.linker.LoadRules;
import io.unifiedcache.conformance.run.RuleCatalogue;
import io.unifiedcache.conformance.store.ObjectRules;
import io.unifiedcache.conformance.store.ReferenceStore;
import java.util.List;

/** All rules of the suite. */
final class Rules {
  private static final List<RuleCatalogue.Entry> ALL =
      RuleCatalogue.of(List.of(ObjectRules.class, LoadRules.class, LifecycleRules.class));

  private Rules() {}

  /** Returns all rules, in the order in which they are published. */
  static List<RuleCatalogue.Entry> all() {
    return ALL;
  }

  /** Returns a store that keeps all rules, for linkers to be tried on. */
  static StoreUnderTest referenceStore() {
    return StoreUnderTest.of("reference", ReferenceStore::new)
        .withBudget(bytes -> new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, bytes));
  }
}
