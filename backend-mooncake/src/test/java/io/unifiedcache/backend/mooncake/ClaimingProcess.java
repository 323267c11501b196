package io.unifiedcache.backend.mooncake;

import java.io.IOException;
import java.nio.file.Path;

/** A process that takes a directory, says which, and keeps it until its input ends. */
final class ClaimingProcess {
  private ClaimingProcess() {}

  @SuppressWarnings("SystemOut") // This is how the process is heard.
  static void main(String[] arguments) throws IOException {
    try (OffloadDirectory directory = OffloadDirectory.claim(Path.of(arguments[0]))) {
      System.out.println(directory.path());
      while (System.in.read() >= 0) {
        Thread.onSpinWait();
      }
    }
  }
}
