package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.ScriptedStore.bytes;
import static io.unifiedcache.backend.mooncake.ScriptedStore.get;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** The objects that are put and got while a cluster goes through something. */
final class DrillObjects {
  static final int COUNT = 16;
  private static final int BYTES = 64 << 10;

  /** By when each call is to be back. */
  static final Duration DEADLINE = Duration.ofSeconds(2);

  private DrillObjects() {}

  /** Returns the keys of all objects. */
  static List<String> keys() {
    return IntStream.range(0, COUNT).mapToObj(i -> "drill-" + i).toList();
  }

  /** Puts all objects; returns how many are stored now. */
  static int putAll(CacheStore store) {
    List<PutOp> ops = new ArrayList<>();
    for (int i = 0; i < COUNT; i++) {
      ops.add(put("drill-" + i, i + 1, BYTES));
    }
    return store.put(ops, Deadline.after(DEADLINE)).count(ObjectStatus.OK);
  }

  /** Gets all objects, and holds those that are there against what was put. */
  static BatchResult getAll(CacheStore store, Deadline by) {
    List<GetOp> ops = new ArrayList<>();
    for (int i = 0; i < COUNT; i++) {
      ops.add(get("drill-" + i, BYTES));
    }
    BatchResult result = store.get(ops, by);
    for (int i = 0; i < COUNT; i++) {
      if (result.isOk(i)) {
        assertThat(bytes(ops.get(i).pieces())).containsOnly(i + 1);
      }
    }
    return result;
  }
}
