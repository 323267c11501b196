package io.unifiedcache.backend.file;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/**
 * The store in a folder of SGLang's keeps every rule that its capabilities leave; none set aside.
 */
class SglangConformanceTest extends StoreConformance {
  @TempDir Path folder = Path.of("set by JUnit");

  @Override
  protected StoreUnderTest store() {
    return StoreUnderTest.named(
        "file",
        Map.of("root", folder.resolve("hicache").toString(), "format", "sglang", "min-free", "0"));
  }
}
