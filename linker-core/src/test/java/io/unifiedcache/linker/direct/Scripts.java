package io.unifiedcache.linker.direct;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** Scripts that several tests follow. */
final class Scripts {
  static final StoreFailure BROKEN = StoreFailure.of(FailureCode.IO, "scripted");

  /** Proves that the object is bad. */
  static final StoreFailure BAD = StoreFailure.of(FailureCode.CORRUPT, "scripted");

  private Scripts() {}

  /** Fails one object at one step, each time. */
  static Script failing(Step failing, ObjectKey object) {
    return new Script() {
      @Override
      public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
        return step == failing && key.equals(object) ? BROKEN : null;
      }
    };
  }

  /** Blocks one call until it is told to go on. */
  static final class Gate implements Script {
    private final Step gated;
    private final int gatedCall;
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch opened = new CountDownLatch(1);

    /** Blocks the call of the given number, counted per step from 0. */
    Gate(Step gated, int gatedCall) {
      this.gated = gated;
      this.gatedCall = gatedCall;
    }

    @Override
    public void before(Step step, int call) {
      if (step == gated && call == gatedCall) {
        arrived.countDown();
        try {
          opened.await();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
    }

    /** Waits until the call has come. */
    void awaitArrival() throws InterruptedException {
      arrived.await();
    }

    /** Lets the call go on. */
    void open() {
      opened.countDown();
    }
  }
}
