package io.unifiedcache.backend.mooncake;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The suite on a real cluster, through Mooncake's Python package; nothing is set aside. */
class PythonConformanceTest extends StoreConformance {
  @RegisterExtension static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(500);

  @Override
  protected StoreUnderTest store() {
    Map<String, String> settings = new HashMap<>(CLUSTER.settings());
    settings.put("client", "python");
    settings.put("python", Installation.python().toString());
    return StoreUnderTest.named("mooncake", settings);
  }
}
