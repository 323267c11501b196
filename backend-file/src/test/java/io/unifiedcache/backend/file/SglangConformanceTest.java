package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.subject.FaultInjector;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/**
 * The store in a folder of SGLang's keeps every rule that its capabilities leave; none set aside.
 */
class SglangConformanceTest extends StoreConformance {
  @TempDir Path folder = Path.of("set by JUnit");

  @Override
  protected StoreUnderTest store() {
    Path root = folder.resolve("hicache");
    return StoreUnderTest.named(
            "file", Map.of("root", root.toString(), "format", "sglang", "min-free", "0"))
        .withFaults(new Faults(root));
  }

  private record Faults(Path root) implements FaultInjector {
    @Override
    public boolean inject(Fault fault, ObjectKey key) {
      String name = SglangNames.of(key);
      Path file = name == null ? root : root.resolve(name);
      try {
        if (!Files.isRegularFile(file) || Files.size(file) == 0) {
          return false;
        }
        switch (fault) {
          case FLIPPED_BIT -> {
            // Nobody can see it: there are no checksums.
            return false;
          }
          case TRUNCATED -> {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
              FileChannel unused = channel.truncate(Files.size(file) / 2);
            }
          }
          case VANISHED -> Files.delete(file);
        }
        return true;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
