package io.unifiedcache.backend.mooncake;

import org.jspecify.annotations.Nullable;

/**
 * Mooncake's client code, loaded into this process.
 *
 * <p>There is one for each setting of {@code client}: {@code NativeLibrary.load(library)} and
 * {@code PythonLibrary.load(python)}, static methods that take what the setting of that name says,
 * or null, and throw {@link LoadException} if it cannot be loaded. Loading what is loaded already
 * answers it again. Nothing is ever unloaded. Thread-safe.
 */
interface ClientLibrary {
  /** Says in a few words what was loaded and from where, for logs and messages. */
  String description();

  /**
   * Sets up a client. Blocks for as long as Mooncake does.
   *
   * @throws ClientException if Mooncake refuses, with its number; nothing is left behind
   */
  MooncakeClient setUp(ClientSetup setup) throws ClientException;

  /** Mooncake's client code cannot be loaded; the message says what was tried and what to do. */
  final class LoadException extends Exception {
    private static final long serialVersionUID = 1;

    LoadException(String message) {
      super(message);
    }

    LoadException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }
}
