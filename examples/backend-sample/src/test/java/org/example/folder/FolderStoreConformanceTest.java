package org.example.folder;

import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/** The folder store keeps the rules. */
class FolderStoreConformanceTest extends StoreConformance {
  @TempDir Path root;

  @Override
  protected StoreUnderTest store() {
    return StoreUnderTest.named("folder", Map.of("root", root.toString()));
  }
}
