package io.unifiedcache.cli;

import io.unifiedcache.api.CacheException;

/** Thrown where a backend is asked for that is not there, and some could not be loaded. */
final class NotLoadedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  NotLoadedException(CacheException refusal) {
    super(refusal.getMessage(), refusal);
  }
}
