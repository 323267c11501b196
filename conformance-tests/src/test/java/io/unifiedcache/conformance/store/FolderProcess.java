package io.unifiedcache.conformance.store;

import io.unifiedcache.conformance.StoreProcess;
import io.unifiedcache.conformance.store.FolderStore.Defect;
import java.nio.file.Path;

/** Another process of a store that is opened by code, as its author would write it. */
public final class FolderProcess {
  private FolderProcess() {}

  /** Serves the folder that the first argument names. */
  public static void main(String[] arguments) {
    StoreProcess.serve(
        new FolderStore(Path.of(arguments[0]), /* shared= */ false, Defect.NONE, "by-code"));
  }
}
