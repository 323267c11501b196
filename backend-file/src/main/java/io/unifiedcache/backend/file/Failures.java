package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import java.io.IOException;
import java.util.Locale;

/** What an error of the file system means to a caller. */
final class Failures {
  private Failures() {}

  /** Returns the kind of failure. */
  static FailureCode codeOf(IOException problem) {
    return isFull(problem) ? FailureCode.NO_SPACE : FailureCode.IO;
  }

  /** Tells whether there is no room: on the device, or within a quota or a limit of the file. */
  static boolean isFull(IOException problem) {
    // The JDK passes on the error number of the system only as its text.
    String text = String.valueOf(problem.getMessage()).toLowerCase(Locale.ROOT);
    return text.contains("no space left")
        || text.contains("quota exceeded")
        || text.contains("file too large");
  }
}
