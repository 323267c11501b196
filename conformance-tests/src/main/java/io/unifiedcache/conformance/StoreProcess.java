package io.unifiedcache.conformance;

import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.conformance.store.StoreServer;
import io.unifiedcache.conformance.subject.StoreUnderTest;

/**
 * The main class of another process that opens the store under test.
 *
 * <p>The suite needs none for a backend that it opens by name. For a store that is opened by code,
 * write a main method that opens the store and calls {@link #serve}, and tell how to start it:
 * {@link StoreUnderTest#withProcess}.
 *
 * {@snippet :
 * public final class MyStoreProcess {
 *   public static void main(String[] args) {
 *     StoreProcess.serve(MyStore.open(Path.of(args[0])));
 *   }
 * }
 * }
 *
 * <p>Requests come through the standard input and answers go to the standard output, in lines whose
 * form is private to one version of the suite. What else is printed is shown where a rule fails.
 */
public final class StoreProcess {
  private StoreProcess() {}

  /**
   * Serves an open store until the process that started this one has done with it, and closes it.
   *
   * <p>Uses the standard input and output.
   */
  public static void serve(CacheStore store) {
    StoreServer.serve(store);
  }
}
