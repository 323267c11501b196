package io.unifiedcache.api.linker;

import io.unifiedcache.api.Memory;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;

/**
 * What a reset ended.
 *
 * @param loads the completions of the loads that had no terminal answer yet
 * @param offloads the completions of the offloads that had none
 * @param quarantined memory that a transfer may still touch (rule {@code linker.quiesce}); it is
 *     not to be freed or reused before {@code released} has ended, and until then the linker
 *     refuses requests that name its slots
 * @param released ends, without a lock of the linker, when nothing touches the quarantined memory
 *     any more; has ended already if there is none
 */
public record Drained(
    List<Completion> loads,
    List<Completion> offloads,
    List<Memory> quarantined,
    CompletionStage<?> released) {
  /** Creates a result. */
  public Drained {
    loads = List.copyOf(loads);
    offloads = List.copyOf(offloads);
    quarantined = List.copyOf(quarantined);
    Objects.requireNonNull(released, "released");
  }
}
