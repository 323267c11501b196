package io.unifiedcache.backend.memory;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.Map;

/** The embedded store keeps every rule; nothing is set aside. */
class MemoryStoreConformanceTest extends StoreConformance {
  @Override
  protected StoreUnderTest store() {
    return StoreUnderTest.named("memory", Map.of("capacity", "256MiB"));
  }
}
