package io.unifiedcache.backend.file;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/** The store in a folder keeps every rule; nothing is set aside. */
class FileStoreConformanceTest extends StoreConformance {
  @TempDir Path folder = Path.of("set by JUnit");

  @Override
  protected StoreUnderTest store() {
    return StoreUnderTest.named(
        "file",
        Map.of("root", folder.resolve("store").toString(), "capacity", "256MiB", "min-free", "0"));
  }
}
