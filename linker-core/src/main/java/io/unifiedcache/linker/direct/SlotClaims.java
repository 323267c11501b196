package io.unifiedcache.linker.direct;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.PoolTransfer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which slots belong to which transfer that may touch them (rule {@code linker.slots}): one that is
 * written to one alone, one that is read to all that read it.
 *
 * <p>Thread-safe; calls nothing under its lock.
 */
final class SlotClaims {
  /** The transfers that have a slot, of which there are several only if they read. */
  private record Claim(boolean writes, List<Transfer> by) {}

  // Guarded by the monitor.
  private final Map<PoolName, Map<Long, Claim>> bySource = new HashMap<>();
  private final Set<Transfer> holders = Collections.newSetFromMap(new IdentityHashMap<>());

  /**
   * Gives a transfer all of its slots, or none.
   *
   * @param writes whether it writes to them
   * @return why it does not get them, which names the slot and who has it; null if it has them now,
   *     or had them before
   */
  synchronized @Nullable String claim(Transfer transfer, boolean writes) {
    if (holders.contains(transfer)) {
      return null;
    }
    for (PoolTransfer each : transfer.transfers()) {
      Map<Long, Claim> claims = bySource.getOrDefault(each.source(), Map.of());
      for (int i = 0; i < each.slots().size(); i++) {
        Claim other = claims.get(each.slots().slot(i));
        if (other != null && (writes || other.writes())) {
          return "request %s: slot %d of source %s, for page %s, is still %s by request %s"
              .formatted(
                  transfer.id(),
                  each.slots().slot(i),
                  each.source(),
                  each.keys().get(i),
                  other.writes() ? "written" : "read",
                  other.by().getFirst().id());
        }
      }
    }
    Claim own = new Claim(writes, List.of(transfer));
    for (PoolTransfer each : transfer.transfers()) {
      Map<Long, Claim> claims = bySource.computeIfAbsent(each.source(), any -> new HashMap<>());
      for (int i = 0; i < each.slots().size(); i++) {
        claims.merge(each.slots().slot(i), own, SlotClaims::both);
      }
    }
    holders.add(transfer);
    return null;
  }

  private static Claim both(Claim one, Claim other) {
    List<Transfer> by = new ArrayList<>(one.by());
    by.addAll(other.by());
    return new Claim(/* writes= */ false, by);
  }

  /** Takes its slots from a transfer, if it has any. */
  synchronized void release(Transfer transfer) {
    if (!holders.remove(transfer)) {
      return;
    }
    for (PoolTransfer each : transfer.transfers()) {
      Map<Long, Claim> claims = bySource.getOrDefault(each.source(), Map.of());
      for (int i = 0; i < each.slots().size(); i++) {
        claims.computeIfPresent(each.slots().slot(i), (slot, claim) -> without(claim, transfer));
      }
    }
  }

  private static @Nullable Claim without(Claim claim, Transfer transfer) {
    List<Transfer> others = claim.by().stream().filter(each -> each != transfer).toList();
    return others.isEmpty() ? null : new Claim(claim.writes(), others);
  }
}
