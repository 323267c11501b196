package io.unifiedcache.backend.mooncake;

/**
 * A call to Mooncake's client failed as a whole, so that nothing is known of its entries: Mooncake
 * answered it with an error, an exception came out of its code, or the answer was not of the form
 * it should have.
 */
final class ClientException extends Exception {
  private static final long serialVersionUID = 1;

  ClientException(String message) {
    super(message);
  }

  ClientException(String message, Throwable cause) {
    super(message, cause);
  }
}
