package io.unifiedcache.backend.mooncake;

import org.jspecify.annotations.Nullable;

/** Mooncake's Python package, in a Python of this process. */
final class PythonLibrary {
  private PythonLibrary() {}

  /**
   * Loads the package.
   *
   * @param python the interpreter that has it; null for the usual one
   */
  static ClientLibrary load(@Nullable String python) throws ClientLibrary.LoadException {
    throw new ClientLibrary.LoadException(
        "Python cannot be loaded into the process yet"
            + (python == null ? "" : "; python=" + python + " has no effect"));
  }
}
