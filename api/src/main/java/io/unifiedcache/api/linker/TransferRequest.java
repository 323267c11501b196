package io.unifiedcache.api.linker;

import io.unifiedcache.api.PoolName;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A load or an offload of the pages of one request.
 *
 * @param id names the request in completions; not blank
 * @param transfers what to move, at most one per source, at least one
 * @param ready ends when the memory may be touched: for a load when the slots are free to be
 *     written, for an offload when the pages have been computed. If it ends exceptionally, or is
 *     cancelled, this request alone fails, with {@code CANCELLED} (rule {@code load.ready-fails})
 */
public record TransferRequest(String id, List<PoolTransfer> transfers, CompletionStage<?> ready) {
  /**
   * Creates a request.
   *
   * @throws IllegalArgumentException if the id is blank, there are no transfers, or two have the
   *     same source
   */
  public TransferRequest {
    if (id.isBlank()) {
      throw new IllegalArgumentException("the id of a request must not be blank");
    }
    transfers = List.copyOf(transfers);
    if (transfers.isEmpty()) {
      throw new IllegalArgumentException("request " + id + " has no transfers");
    }
    Set<PoolName> sources = new HashSet<>();
    for (PoolTransfer transfer : transfers) {
      if (!sources.add(transfer.source())) {
        throw new IllegalArgumentException(
            "request " + id + " has two transfers of source " + transfer.source());
      }
    }
    Objects.requireNonNull(ready, "ready");
  }

  /** Creates a request whose memory may be touched at once. */
  public TransferRequest(String id, List<PoolTransfer> transfers) {
    this(id, transfers, CompletableFuture.completedFuture(null));
  }
}
