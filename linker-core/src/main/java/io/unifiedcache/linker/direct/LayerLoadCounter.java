package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LoadBatch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Knows of each batch which layers are in place, and which requests are still in it.
 *
 * <p>Thread-safe. One thread loads a batch; any number wait for it. A request is in the batch until
 * it fails, once and finally, whoever says so first: the loading thread, a wait that timed out, or
 * a reset. What {@link Batch#finish} returns is therefore the verdict on each request, and no later
 * failure changes it.
 *
 * <p>The counter keeps a batch only until it is finished, so a consumer that stops waiting leaves
 * nothing behind (rule {@code load.early-stop}).
 */
final class LayerLoadCounter {
  private final int layers;
  private final Map<Batch, Boolean> unfinished = new ConcurrentHashMap<>();

  LayerLoadCounter(int layers) {
    this.layers = layers;
  }

  /** Begins a batch of the given requests. */
  Batch begin(List<String> requests) {
    Batch batch = new Batch(requests);
    unfinished.put(batch, true);
    return batch;
  }

  /** Fails every request of every unfinished batch. */
  void reset(StoreFailure cause) {
    for (Batch batch : unfinished.keySet()) {
      batch.failAll(cause);
    }
  }

  /** Returns the number of batches that are not finished. */
  int unfinished() {
    return unfinished.size();
  }

  /** The layers and requests of one batch. */
  final class Batch implements LoadBatch {
    private final List<String> requests;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** By request: why it left the batch; null while it is in it. */
    private final @Nullable StoreFailure[] left;

    private int in;
    private int inPlace;
    private boolean finished;

    private Batch(List<String> requests) {
      this.requests = List.copyOf(requests);
      this.left = new @Nullable StoreFailure[requests.size()];
      this.in = requests.size();
      this.inPlace = requests.isEmpty() ? layers : 0;
    }

    @Override
    public List<String> requests() {
      return requests;
    }

    /** Returns the requests that have not failed. */
    BitSet present() {
      lock.lock();
      try {
        BitSet present = new BitSet(left.length);
        for (int request = 0; request < left.length; request++) {
          present.set(request, left[request] == null);
        }
        return present;
      } finally {
        lock.unlock();
      }
    }

    /** Tells whether every request has failed. */
    boolean isDeserted() {
      lock.lock();
      try {
        return in == 0;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Takes a request out of the batch.
     *
     * @return whether it was in it and the batch not finished
     */
    boolean fail(int request, StoreFailure cause) {
      lock.lock();
      try {
        if (finished || left[request] != null) {
          return false;
        }
        left[request] = cause;
        in--;
        changed.signalAll();
        return true;
      } finally {
        lock.unlock();
      }
    }

    /** Takes every request out of the batch that is still in it. */
    void failAll(StoreFailure cause) {
      lock.lock();
      try {
        for (int request = 0; request < left.length; request++) {
          fail(request, cause);
        }
      } finally {
        lock.unlock();
      }
    }

    /**
     * Announces that a layer, and so each below it, is in place for every request in the batch.
     * Nothing is announced once nobody is left to read it.
     */
    void complete(int layer) {
      Objects.checkIndex(layer, layers);
      lock.lock();
      try {
        if (in > 0 && layer >= inPlace) {
          inPlace = layer + 1;
          changed.signalAll();
        }
      } finally {
        lock.unlock();
      }
    }

    /**
     * Ends the batch and fixes the verdicts. Requests in it for which a layer is not in place fail
     * with the given cause.
     *
     * @return by request, why it failed, or null if it is loaded
     */
    List<@Nullable StoreFailure> finish(StoreFailure unlessComplete) {
      lock.lock();
      try {
        if (inPlace < layers) {
          failAll(unlessComplete);
        }
        finished = true;
        List<@Nullable StoreFailure> verdicts = new ArrayList<>(left.length);
        for (@Nullable StoreFailure cause : left) {
          verdicts.add(cause);
        }
        return verdicts;
      } finally {
        lock.unlock();
        unfinished.remove(this);
      }
    }

    @Override
    public LayerProgress awaitLayer(int layer, Duration atMost) {
      Objects.checkIndex(layer, layers);
      long nanos = TimeUnit.NANOSECONDS.convert(atMost);
      lock.lock();
      try {
        while (layer >= inPlace && in > 0) {
          if (!atMost.isPositive()) {
            throw new CacheException(
                FailureCode.TIMEOUT, "layer " + layer + " is not in place yet");
          }
          if (nanos <= 0) {
            StoreFailure timeout =
                StoreFailure.of(
                    FailureCode.TIMEOUT, "layer " + layer + " was not in place within " + atMost);
            failAll(timeout);
            throw new CacheException(FailureCode.TIMEOUT, timeout.message());
          }
          nanos = changed.awaitNanos(nanos);
        }
        if (layer >= inPlace) {
          throw deserted(layer);
        }
        return new LayerProgress(layer, failed());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CacheException(
            FailureCode.CANCELLED, "interrupted while waiting for layer " + layer, e);
      } finally {
        lock.unlock();
      }
    }

    private CacheException deserted(int layer) {
      Map<String, StoreFailure> failed = failed();
      StoreFailure first = failed.values().iterator().next();
      return new CacheException(
          first.code(),
          "layer %d: no request is left in the batch; %s"
              .formatted(
                  layer,
                  failed.size() == 1
                      ? failed.keySet().iterator().next() + ": " + first.message()
                      : failed.size() + " have failed, the first with: " + first.message()));
    }

    private Map<String, StoreFailure> failed() {
      Map<String, StoreFailure> failed = new LinkedHashMap<>();
      for (int request = 0; request < left.length; request++) {
        StoreFailure cause = left[request];
        if (cause != null) {
          failed.put(requests.get(request), cause);
        }
      }
      return failed;
    }

    @Override
    public String toString() {
      lock.lock();
      try {
        return "LoadBatch[requests=%s, in=%d, layers in place=%d of %d]"
            .formatted(requests, in, inPlace, layers);
      } finally {
        lock.unlock();
      }
    }
  }
}
