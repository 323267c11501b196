package io.unifiedcache.conformance.run;

import io.unifiedcache.api.store.Capability;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The operations of a store that have to succeed once for a run to prove anything. */
enum Operation {
  EXISTS(null),
  PUT(null),
  GET(null),
  REMOVE(Capability.REMOVE),
  CLEAR(Capability.CLEAR),
  LIST(Capability.LIST),
  OPEN(Capability.RANGED_READ),
  READ(Capability.RANGED_READ);

  private final @Nullable Capability capability;

  Operation(@Nullable Capability capability) {
    this.capability = capability;
  }

  /** Returns the capability without which a store does not offer it. */
  Optional<Capability> capability() {
    return Optional.ofNullable(capability);
  }
}
