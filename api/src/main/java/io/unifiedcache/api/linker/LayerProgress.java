package io.unifiedcache.api.linker;

import io.unifiedcache.api.StoreFailure;
import java.util.Map;

/**
 * What is known of a batch once a layer is in place, as this rank sees it.
 *
 * @param layer the layer, counted from 0
 * @param failed the requests that have failed so far, with their cause; the layer is in place for
 *     all others of the batch
 */
public record LayerProgress(int layer, Map<String, StoreFailure> failed) {
  /**
   * Creates a progress.
   *
   * @throws IllegalArgumentException if the layer is negative
   */
  public LayerProgress {
    if (layer < 0) {
      throw new IllegalArgumentException("a layer must not be negative, not " + layer);
    }
    failed = Map.copyOf(failed);
  }
}
