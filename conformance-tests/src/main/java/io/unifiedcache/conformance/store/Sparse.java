package io.unifiedcache.conformance.store;

import io.unifiedcache.api.HostMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/** Memory of any size that takes no room as long as nobody writes to it. */
final class Sparse {
  private Sparse() {}

  /** Returns so many bytes of zeros: a file that is one hole, or empty where there can be none. */
  static Optional<HostMemory> memory(long bytes) {
    try {
      Path file = Files.createTempFile("conformance-", ".hole");
      try (FileChannel channel =
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        // Unmapped once nothing reaches it any more: a store that breaks rules may still use it.
        MemorySegment segment =
            channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes, Arena.ofAuto());
        return Optional.of(HostMemory.of(segment));
      } finally {
        delete(file);
      }
    } catch (IOException | UncheckedIOException | OutOfMemoryError e) {
      // Of the address space, or of what the file system lets a file have.
      return Optional.empty();
    }
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      // Where a mapped file cannot be deleted it goes with the JVM.
      file.toFile().deleteOnExit();
    }
  }
}
