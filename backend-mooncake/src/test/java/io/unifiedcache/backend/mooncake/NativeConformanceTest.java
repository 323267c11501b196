package io.unifiedcache.backend.mooncake;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The suite on a real cluster, through Mooncake's C library. */
class NativeConformanceTest extends StoreConformance {
  @RegisterExtension static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(500);

  @Override
  protected StoreUnderTest store() {
    Map<String, String> settings = new HashMap<>(CLUSTER.settings());
    settings.put("client", "native");
    settings.put("library", Installation.library().toString());
    return StoreUnderTest.named("mooncake", settings);
  }
}
