package org.example.folder;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import java.io.IOException;

/** One entry of a batch failed, in a way that is known. */
final class EntryException extends IOException {
  private static final long serialVersionUID = 1;

  private final transient StoreFailure failure;

  EntryException(StoreFailure failure) {
    super(failure.message());
    this.failure = failure;
  }

  static EntryException of(FailureCode code, String message) {
    return new EntryException(StoreFailure.of(code, message));
  }

  StoreFailure failure() {
    return failure;
  }
}
