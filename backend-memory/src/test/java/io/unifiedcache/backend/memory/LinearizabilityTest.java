package io.unifiedcache.backend.memory;

import static io.unifiedcache.backend.memory.Stores.NEVER;
import static io.unifiedcache.backend.memory.Stores.filled;
import static io.unifiedcache.backend.memory.Stores.key;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Looks for interleavings whose answers no order of the calls explains. */
@Tag("stress")
@Timeout(600)
class LinearizabilityTest {
  private static final int SIZE = 64;

  /** Calls about two keys of a store that is large enough for both. */
  public static class StoreCalls {
    private final MemoryStore store = Stores.open(8 << 10, 4 << 10, 1);

    @Operation
    public String put(
        @Param(gen = IntGen.class, conf = "0:1") int key,
        @Param(gen = IntGen.class, conf = "1:9") int value) {
      HostMemory source = filled(SIZE, value);
      return store
          .put(List.of(new PutOp(key("k" + key), List.of(source))), NEVER)
          .status(0)
          .toString();
    }

    @Operation
    public int get(@Param(gen = IntGen.class, conf = "0:1") int key) {
      HostMemory target = filled(SIZE, 0);
      if (Stores.get(store, "k" + key, target).status(0) == ObjectStatus.ABSENT) {
        return -1;
      }
      int first = target.segment().get(ValueLayout.JAVA_BYTE, 0);
      int last = target.segment().get(ValueLayout.JAVA_BYTE, SIZE - 1);
      return first == last ? first : -2;
    }

    @Operation
    public String exists(@Param(gen = IntGen.class, conf = "0:1") int key) {
      return Stores.exists(store, "k" + key).toString();
    }

    @Operation
    public String remove(@Param(gen = IntGen.class, conf = "0:1") int key) {
      return Stores.remove(store, "k" + key).toString();
    }
  }

  @Test
  @DisplayName("store.concurrent: put, get, exists and remove are linearizable")
  void store_underStress_isLinearizable() {
    new StressOptions()
        .iterations(10)
        .invocationsPerIteration(500)
        .threads(2)
        .actorsPerThread(3)
        .check(StoreCalls.class);
  }
}
