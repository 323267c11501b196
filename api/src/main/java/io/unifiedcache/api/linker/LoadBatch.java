package io.unifiedcache.api.linker;

import java.time.Duration;
import java.util.List;

/**
 * Loads that run together, layer after layer.
 *
 * <p>Thread-safe.
 */
public interface LoadBatch {
  /** Returns the ids of the requests that were started, in the order they were submitted. */
  List<String> requests();

  /**
   * Waits until a layer is in place for every request still in the batch (rule {@code
   * load.layer-order}): a failed request leaves the batch and its neighbours go on. Layer i implies
   * the layers below it. An empty batch has every layer.
   *
   * @param layer from 0 to the number of layers - 1
   * @param atMost how long to wait; when it is over, every request still in the batch fails,
   *     finally (rule {@code load.timeout}). Zero or less: not at all, and a layer that is not in
   *     place fails nothing (rule {@code load.peek})
   * @return which requests have failed so far
   * @throws io.unifiedcache.api.CacheException when no request is left in the batch, with the code
   *     of what failed; with {@code TIMEOUT} when the wait is over, or there was none; with {@code
   *     CLOSED} or {@code CANCELLED} when the linker was closed or reset; and with {@code
   *     CANCELLED} when the waiting thread is interrupted, which stays interrupted and leaves the
   *     batch as it is
   * @throws IndexOutOfBoundsException if there is no such layer
   */
  LayerProgress awaitLayer(int layer, Duration atMost);
}
