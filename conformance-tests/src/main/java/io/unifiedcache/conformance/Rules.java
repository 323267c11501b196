package io.unifiedcache.conformance;

import io.unifiedcache.conformance.backend.ProviderRules;
import io.unifiedcache.conformance.linker.FaultRules;
import io.unifiedcache.conformance.linker.KeyRules;
import io.unifiedcache.conformance.linker.LifecycleRules;
import io.unifiedcache.conformance.linker.LoadRules;
import io.unifiedcache.conformance.linker.OffloadRules;
import io.unifiedcache.conformance.linker.RankRules;
import io.unifiedcache.conformance.linker.RestoreRules;
import io.unifiedcache.conformance.run.RuleCatalogue;
import io.unifiedcache.conformance.store.BatchRules;
import io.unifiedcache.conformance.store.CapabilityRules;
import io.unifiedcache.conformance.store.CapacityRules;
import io.unifiedcache.conformance.store.ConcurrencyRules;
import io.unifiedcache.conformance.store.ExactKeyRules;
import io.unifiedcache.conformance.store.FailureRules;
import io.unifiedcache.conformance.store.LargeRules;
import io.unifiedcache.conformance.store.LifeRules;
import io.unifiedcache.conformance.store.LimitRules;
import io.unifiedcache.conformance.store.MemoryRules;
import io.unifiedcache.conformance.store.ObjectRules;
import io.unifiedcache.conformance.store.ProcessRules;
import io.unifiedcache.conformance.store.ReferenceStore;
import io.unifiedcache.conformance.store.SessionRules;
import io.unifiedcache.conformance.store.VersionRules;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.List;

/** All rules of the suite. */
final class Rules {
  private static final List<RuleCatalogue.Entry> ALL =
      RuleCatalogue.of(
          List.of(
              ObjectRules.class,
              ExactKeyRules.class,
              BatchRules.class,
              LimitRules.class,
              LargeRules.class,
              VersionRules.class,
              SessionRules.class,
              FailureRules.class,
              MemoryRules.class,
              CapabilityRules.class,
              LifeRules.class,
              CapacityRules.class,
              ConcurrencyRules.class,
              ProcessRules.class,
              KeyRules.class,
              RestoreRules.class,
              LoadRules.class,
              FaultRules.class,
              OffloadRules.class,
              LifecycleRules.class,
              RankRules.class,
              ProviderRules.class));

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
