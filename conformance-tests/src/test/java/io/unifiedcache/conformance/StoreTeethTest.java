package io.unifiedcache.conformance;

import io.unifiedcache.conformance.backend.ProviderMutants;
import io.unifiedcache.conformance.store.CapacityMutants;
import io.unifiedcache.conformance.store.ConcurrencyMutants;
import io.unifiedcache.conformance.store.FailureMutants;
import io.unifiedcache.conformance.store.LifeMutants;
import io.unifiedcache.conformance.store.ProcessMutants;
import io.unifiedcache.conformance.store.StateMutants;
import io.unifiedcache.conformance.store.StoreMutants;
import java.util.List;
import java.util.stream.Stream;

/** Broken stores and providers. */
class StoreTeethTest extends Teeth {
  static Stream<Mutant> broken() {
    return Stream.of(
            StoreMutants.all(),
            StateMutants.all(),
            FailureMutants.all(),
            LifeMutants.all(),
            CapacityMutants.all(),
            ConcurrencyMutants.all(),
            ProcessMutants.all(),
            ProviderMutants.all())
        .flatMap(List::stream);
  }

  @Override
  Stream<Mutant> all() {
    return broken();
  }
}
