package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.conformance.StoreConformance;
import io.unifiedcache.conformance.StoreProcess;
import io.unifiedcache.conformance.subject.FaultInjector;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/** The rules, with faults in the files and with an exclusive store. */
class FileStoreFaultsConformanceTest extends StoreConformance {
  private static final Map<String, String> OPTIONS = Map.of("mode", "exclusive", "min-free", "0");

  @TempDir Path folder = Path.of("set by JUnit");

  private final TestDisk disk = new TestDisk();

  @Override
  protected StoreUnderTest store() {
    Path root = folder.resolve("store");
    return StoreUnderTest.of("file", () -> open(disk, root, "256MiB"))
        .withBudget(bytes -> open(disk, root, bytes + "B"))
        .withProcess(() -> Child.builder("", Other.class, root))
        .withFaults(new Faults(root));
  }

  private static FileStore open(Disk disk, Path root, String capacity) {
    Map<String, String> options = new HashMap<>(OPTIONS);
    options.put("capacity", capacity);
    return FileStoreProvider.openSegments(
        disk, Stores.settings(root, options), StoreContext.of("conformance-file"));
  }

  /** Another process that has the store open. */
  static final class Other {
    private Other() {}

    public static void main(String[] arguments) {
      StoreProcess.serve(open(new LocalDisk(), Path.of(arguments[0]), "256MiB"));
    }
  }

  private final class Faults implements FaultInjector {
    private final Path root;

    Faults(Path root) {
      this.root = root;
    }

    @Override
    public boolean inject(Fault fault, ObjectKey key) {
      StoredObject object = Engines.find(root).find(key);
      if (object == null || object.size == 0) {
        return false;
      }
      Path segment = root.resolve(FileNames.segment(object.segment));
      try (FileChannel file =
          FileChannel.open(segment, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        long middle = object.payloadOffset() + object.size / 2;
        switch (fault) {
          case FLIPPED_BIT -> {
            ByteBuffer one = ByteBuffer.allocate(1);
            file.read(one, middle);
            one.put(0, (byte) (one.get(0) ^ 4));
            file.write(one.flip(), middle);
          }
          // A hole, for what lies behind is another object's.
          case TRUNCATED ->
              file.write(
                  ByteBuffer.allocate((int) (object.payloadOffset() + object.size - middle)),
                  middle);
          case VANISHED ->
              file.write(ByteBuffer.allocate((int) object.extentBytes()), object.offset);
        }
        return true;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public Stall stall() {
      disk.stall();
      return disk::goOn;
    }
  }
}
