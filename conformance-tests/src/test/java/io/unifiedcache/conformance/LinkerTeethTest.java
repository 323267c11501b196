package io.unifiedcache.conformance;

import io.unifiedcache.conformance.linker.FaultMutants;
import io.unifiedcache.conformance.linker.KeyMutants;
import io.unifiedcache.conformance.linker.LinkerMutants;
import io.unifiedcache.conformance.linker.OffloadMutants;
import io.unifiedcache.conformance.linker.RestoreMutants;
import java.util.List;
import java.util.stream.Stream;

/** Broken linkers. */
class LinkerTeethTest extends Teeth {
  static Stream<Mutant> broken() {
    return Stream.of(
            KeyMutants.all(),
            RestoreMutants.all(),
            OffloadMutants.all(),
            FaultMutants.all(),
            LinkerMutants.all())
        .flatMap(List::stream);
  }

  @Override
  Stream<Mutant> all() {
    return broken();
  }
}
