package io.unifiedcache.conformance.store;

import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.StoreUnderTest;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Small edits of the reference store, each of which breaks a rule. */
public final class StoreMutants {
  private StoreMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        mutant(
            "store.absent",
            "an absent object is read as one of zero bytes",
            "OK",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() == 0) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }));
  }

  private static Mutant mutant(
      String rule, String what, String says, Supplier<? extends CacheStore> store) {
    return Mutant.ofStore(Set.of(rule), what, says, () -> StoreUnderTest.of("mutant", store));
  }
}
