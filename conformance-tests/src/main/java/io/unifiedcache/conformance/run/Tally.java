package io.unifiedcache.conformance.run;

import io.unifiedcache.api.ObjectKey;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What a run has done to the store: which operations succeeded, and which keys were put. */
final class Tally {
  private final Set<Operation> succeeded = ConcurrentHashMap.newKeySet();
  private final Set<ObjectKey> put = ConcurrentHashMap.newKeySet();

  void success(Operation operation) {
    succeeded.add(operation);
  }

  /** Takes down keys that may be in the store from now on. */
  void put(List<ObjectKey> keys) {
    put.addAll(keys);
  }

  boolean hasSucceeded(Operation operation) {
    return succeeded.contains(operation);
  }

  /** Returns every key that may be in the store. */
  List<ObjectKey> keys() {
    return List.copyOf(put);
  }
}
