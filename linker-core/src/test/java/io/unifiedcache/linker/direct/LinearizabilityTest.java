package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import java.time.Duration;
import java.util.List;
import org.jetbrains.lincheck.datastructures.BooleanGen;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Looks for interleavings whose answers no order of the calls explains. */
@Tag("stress")
@Timeout(600)
class LinearizabilityTest {
  private static final StoreFailure BROKEN = StoreFailure.of(FailureCode.IO, "broken");
  private static final StoreFailure LATER = StoreFailure.of(FailureCode.INTERNAL, "later");

  /** Calls to one batch of two requests and two layers. */
  public static class BatchCalls {
    private final LayerLoadCounter.Batch batch = new LayerLoadCounter(2).begin(List.of("a", "b"));

    @Operation
    public boolean fail(@Param(gen = IntGen.class, conf = "0:1") int request) {
      return batch.fail(request, BROKEN);
    }

    @Operation
    public void complete(@Param(gen = IntGen.class, conf = "0:1") int layer) {
      batch.complete(layer);
    }

    @Operation
    public String awaitLayer(@Param(gen = IntGen.class, conf = "0:1") int layer) {
      try {
        return batch.awaitLayer(layer, Duration.ofNanos(1)).failed().keySet().toString();
      } catch (CacheException e) {
        return e.code().toString();
      }
    }

    @Operation
    public String present() {
      return batch.present().toString();
    }

    @Operation
    public String finish() {
      StringBuilder verdicts = new StringBuilder();
      batch
          .finish(LATER)
          .forEach(cause -> verdicts.append(cause == null ? "loaded " : cause.code() + " "));
      return verdicts.toString();
    }
  }

  /** Calls about two objects. */
  public static class SuspectCalls {
    private final SuspectObjects suspects = new SuspectObjects(Duration.ofNanos(10), () -> 0);

    private static ObjectKey key(int i) {
      return new ObjectKey("object-" + i);
    }

    @Operation
    public void add(
        @Param(gen = IntGen.class, conf = "0:1") int key,
        @Param(gen = BooleanGen.class) boolean bad) {
      suspects.add(key(key), bad);
    }

    @Operation
    public void clear(@Param(gen = IntGen.class, conf = "0:1") int key) {
      suspects.clear(key(key));
    }

    @Operation
    public boolean contains(@Param(gen = IntGen.class, conf = "0:1") int key) {
      return suspects.contains(key(key));
    }

    @Operation
    public boolean isBad(@Param(gen = IntGen.class, conf = "0:1") int key) {
      return suspects.isBad(key(key));
    }
  }

  @Test
  void batch_modelChecked_isLinearizable() {
    modelCheck(BatchCalls.class);
  }

  @Test
  void batch_underStress_isLinearizable() {
    stress(BatchCalls.class);
  }

  @Test
  void suspects_modelChecked_areLinearizable() {
    modelCheck(SuspectCalls.class);
  }

  @Test
  void suspects_underStress_areLinearizable() {
    stress(SuspectCalls.class);
  }

  private static void modelCheck(Class<?> calls) {
    new ModelCheckingOptions()
        .iterations(10)
        .invocationsPerIteration(500)
        .threads(3)
        .actorsPerThread(2)
        .check(calls);
  }

  private static void stress(Class<?> calls) {
    new StressOptions()
        .iterations(10)
        .invocationsPerIteration(500)
        .threads(2)
        .actorsPerThread(3)
        .check(calls);
  }
}
