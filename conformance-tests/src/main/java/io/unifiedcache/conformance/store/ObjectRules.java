package io.unifiedcache.conformance.store;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.util.List;

/** The rules of one object: what is put is what is read. */
public final class ObjectRules {
  private ObjectRules() {}

  @Rule(
      id = "store.absent",
      scope = Scope.STORE,
      text =
          "An absent object is ABSENT, never FAILED and never zero bytes; nothing is written to the"
              + " target.",
      hint = "Find out that the object is missing before the target is touched.")
  static void absent(Trial trial) {
    var key = trial.key("never-put");
    BatchResult exists = trial.store().exists(List.of(key), trial.soon());
    trial.expectStatus("exists of a key that was never put", exists, 0, ObjectStatus.ABSENT);
    for (long bytes : new long[] {0, 1, 4096}) {
      HostMemory target = trial.memory(bytes);
      target.segment().fill((byte) 0x5a);
      BatchResult got = trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
      trial.expectStatus(
          "get of a key that was never put, into " + bytes + " bytes", got, 0, ObjectStatus.ABSENT);
      trial.expectFilled("the target of an absent object", (byte) 0x5a, target);
    }
  }
}
