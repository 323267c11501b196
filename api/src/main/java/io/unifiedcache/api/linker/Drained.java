package io.unifiedcache.api.linker;

import io.unifiedcache.api.Memory;
import java.util.List;

/**
 * What a reset ended.
 *
 * @param loads the completions of the loads that had no terminal answer yet
 * @param offloads the completions of the offloads that had none
 * @param quarantined memory that a transfer may still touch; it is not to be freed or reused while
 *     the process lives (rule {@code linker.quiesce})
 */
public record Drained(List<Completion> loads, List<Completion> offloads, List<Memory> quarantined) {
  /** Creates a result. */
  public Drained {
    loads = List.copyOf(loads);
    offloads = List.copyOf(offloads);
    quarantined = List.copyOf(quarantined);
  }
}
