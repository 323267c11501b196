package io.unifiedcache.api.store;

import io.unifiedcache.api.StoreFailure;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a batch: one status per entry, in the order of the request (rule {@code
 * store.per-entry}).
 *
 * <p>Immutable and thread-safe.
 */
public final class BatchResult {
  private final ObjectStatus[] statuses;
  private final @Nullable StoreFailure @Nullable [] failures;

  private BatchResult(ObjectStatus[] statuses, @Nullable StoreFailure @Nullable [] failures) {
    this.statuses = statuses;
    this.failures = failures;
  }

  /**
   * Returns a result whose {@code size} entries all have the given status.
   *
   * @throws IllegalArgumentException if the status is {@code FAILED}, which needs a failure
   */
  public static BatchResult all(int size, ObjectStatus status) {
    if (status == ObjectStatus.FAILED) {
      throw new IllegalArgumentException("FAILED needs a failure; use allFailed");
    }
    ObjectStatus[] statuses = new ObjectStatus[requireSize(size)];
    Arrays.fill(statuses, Objects.requireNonNull(status, "status"));
    return new BatchResult(statuses, null);
  }

  /** Returns a result whose {@code size} entries all failed in the same way. */
  public static BatchResult allFailed(int size, StoreFailure failure) {
    Builder builder = builder(size);
    for (int i = 0; i < size; i++) {
      builder.failed(i, failure);
    }
    return builder.build();
  }

  /** Returns a builder of a result with {@code size} entries. */
  public static Builder builder(int size) {
    return new Builder(size);
  }

  private static int requireSize(int size) {
    if (size < 0) {
      throw new IllegalArgumentException("a batch cannot have " + size + " entries");
    }
    return size;
  }

  /** Returns the number of entries. */
  public int size() {
    return statuses.length;
  }

  /** Returns the status of entry {@code i}. */
  public ObjectStatus status(int i) {
    return statuses[i];
  }

  /** Tells whether entry {@code i} is {@link ObjectStatus#OK}. */
  public boolean isOk(int i) {
    return statuses[i] == ObjectStatus.OK;
  }

  /**
   * Returns why entry {@code i} failed.
   *
   * @throws IllegalStateException if it did not
   */
  public StoreFailure failure(int i) {
    Objects.checkIndex(i, statuses.length);
    StoreFailure failure = failures == null ? null : failures[i];
    if (failure == null) {
      throw new IllegalStateException("entry " + i + " did not fail but is " + status(i));
    }
    return failure;
  }

  /** Returns the number of entries that have the given status. */
  public int count(ObjectStatus status) {
    int count = 0;
    for (ObjectStatus each : statuses) {
      if (each == status) {
        count++;
      }
    }
    return count;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BatchResult that
        && Arrays.equals(statuses, that.statuses)
        && Arrays.equals(failures, that.failures);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(statuses) + Arrays.hashCode(failures);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("BatchResult[size=").append(size());
    for (ObjectStatus status : ObjectStatus.values()) {
      text.append(", ").append(status).append('=').append(count(status));
    }
    return text.append(']').toString();
  }

  /**
   * Collects the statuses of one batch, in any order of entries.
   *
   * <p>Several threads may set different entries; whoever builds must have waited for them.
   */
  public static final class Builder {
    private final @Nullable ObjectStatus[] statuses;
    private @Nullable StoreFailure @Nullable [] failures;
    private boolean built;

    private Builder(int size) {
      statuses = new @Nullable ObjectStatus[requireSize(size)];
    }

    /**
     * Sets the status of entry {@code i}, unless it is {@code FAILED} already, which stays.
     *
     * @throws IllegalArgumentException if the status is {@code FAILED}; use {@link #failed}
     */
    public Builder set(int i, ObjectStatus status) {
      if (status == ObjectStatus.FAILED) {
        throw new IllegalArgumentException("FAILED needs a failure; use failed");
      }
      requireNotBuilt();
      if (statuses[i] != ObjectStatus.FAILED) {
        statuses[i] = Objects.requireNonNull(status, "status");
      }
      return this;
    }

    /** Sets entry {@code i} to {@code FAILED}; the first failure of an entry stays. */
    public synchronized Builder failed(int i, StoreFailure failure) {
      requireNotBuilt();
      Objects.requireNonNull(failure, "failure");
      @Nullable StoreFailure[] all = failures;
      if (all == null) {
        all = new @Nullable StoreFailure[statuses.length];
        failures = all;
      }
      if (all[i] == null) {
        all[i] = failure;
        statuses[i] = ObjectStatus.FAILED;
      }
      return this;
    }

    /**
     * Returns the result and ends the use of this builder.
     *
     * @throws IllegalStateException if an entry has no status
     */
    // Every element was just seen to be there.
    @SuppressWarnings("NullAway")
    public synchronized BatchResult build() {
      requireNotBuilt();
      for (int i = 0; i < statuses.length; i++) {
        if (statuses[i] == null) {
          throw new IllegalStateException(
              "entry " + i + " of " + statuses.length + " has no status");
        }
      }
      built = true;
      return new BatchResult(statuses, failures);
    }

    private void requireNotBuilt() {
      if (built) {
        throw new IllegalStateException("this builder has built its result already");
      }
    }
  }
}
