package io.unifiedcache.backend.mooncake;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Isolated;

/** The suite on a real cluster, through Mooncake's Python package; nothing is set aside. */
@Isolated("its rules have to be done within their times")
class PythonConformanceTest extends StoreConformance {
  @RegisterExtension static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(1500);

  @Override
  protected StoreUnderTest store() {
    return StoreUnderTest.named("mooncake", CLUSTER.settings(MooncakeSettings.Choice.PYTHON));
  }
}
