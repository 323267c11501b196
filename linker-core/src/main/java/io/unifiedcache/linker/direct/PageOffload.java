package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.linker.direct.Transfer.Entry;
import io.unifiedcache.linker.direct.Transfer.PoolPages;
import io.unifiedcache.linker.observe.OffloadEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores the pages of one request, on an offload thread.
 *
 * <p>Objects that are there are left alone (rule {@code offload.missing-only}), except suspect
 * ones, which are removed and stored anew (rule {@code load.no-livelock}). An object that fails
 * costs its own page only (rule {@code offload.partial}). In any case the transfer ends.
 */
final class PageOffload implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(PageOffload.class);

  private final StoreAccess access;
  private final Transfer transfer;
  private final boolean owner;
  private final Ledger ledger;
  private long stored;
  private long bytesStored;
  private long present;

  /**
   * Prepares an offload.
   *
   * @param owner whether this rank writes the pages; where it does not, the owner's verdict decides
   *     (rule {@code offload.owner})
   */
  PageOffload(StoreAccess access, Transfer transfer, boolean owner, Ledger ledger) {
    this.access = access;
    this.transfer = transfer;
    this.owner = owner;
    this.ledger = ledger;
  }

  @Override
  public void run() {
    if (!transfer.begin()) {
      return;
    }
    OffloadEvent event = null;
    try {
      event = OffloadEvent.begin(access.instance());
      offload();
    } catch (Throwable problem) {
      access.failOffload(transfer, StoreAccess.thrown(problem));
      LOG.error("offloading {} failed", transfer.id(), problem);
    } finally {
      end(event);
    }
  }

  /** Ends the offload in place of running it. */
  void giveUp(StoreFailure cause) {
    if (transfer.begin()) {
      access.failOffload(transfer, cause);
      end(null);
    }
  }

  /** Ends the transfer, once everything has been told of it. */
  private void end(@Nullable OffloadEvent event) {
    try {
      boolean ok = !transfer.hasFailed();
      access.counters().offloaded(ok, stored, bytesStored, present);
      if (event != null) {
        event.request = transfer.id();
        event.ok = ok;
        event.stored = stored;
        event.bytes = bytesStored;
        event.present = present;
        event.commit();
      }
    } finally {
      ledger.end(transfer);
    }
  }

  private void offload() {
    StoreFailure notReady = transfer.readyFailure();
    if (notReady != null) {
      access.failOffload(transfer, notReady);
      return;
    }
    if (!owner) {
      return;
    }
    Deadline by = Deadline.after(access.options().offloadTimeout(), access.clock());
    List<Entry> entries = new ArrayList<>();
    for (PoolPages pages : transfer.pools()) {
      transfer.addEntries(pages, entries);
    }
    access.inBatches(entries, some -> store(some, by));
  }

  private void store(List<Entry> entries, Deadline by) {
    if (transfer.isCancelled()) {
      failAll(entries, StoreFailure.of(FailureCode.CANCELLED, "the offload was cancelled"));
      return;
    }
    BatchResult exists =
        StoreAccess.requireSize(entries.size(), access.store().exists(keys(entries), by));
    List<Entry> missing = new ArrayList<>();
    List<Entry> suspect = new ArrayList<>();
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      if (exists.status(i) == ObjectStatus.FAILED) {
        access.failOffload(entry, exists.failure(i));
      } else if (!exists.isOk(i)) {
        missing.add(entry);
      } else if (access.suspects().isBad(entry.key())) {
        suspect.add(entry);
      } else {
        present++;
        access.suspects().clear(entry.key());
      }
    }
    missing.addAll(removed(suspect, by));
    put(missing, by);
  }

  /** Returns the suspect objects that are gone now and can be stored anew. */
  private List<Entry> removed(List<Entry> suspect, Deadline by) {
    if (suspect.isEmpty()) {
      return List.of();
    }
    if (!access.canRemove()) {
      failAll(
          suspect,
          StoreFailure.of(
              FailureCode.REFUSED,
              "the object failed to load, and the store cannot remove it to take it anew"));
      return List.of();
    }
    BatchResult result =
        StoreAccess.requireSize(
            suspect.size(), access.store().remove(keys(suspect), /* evenIfLeased= */ true, by));
    List<Entry> removed = new ArrayList<>();
    for (int i = 0; i < suspect.size(); i++) {
      if (result.status(i) == ObjectStatus.FAILED) {
        access.failOffload(suspect.get(i), result.failure(i));
      } else {
        removed.add(suspect.get(i));
      }
    }
    return removed;
  }

  private void put(List<Entry> entries, Deadline by) {
    if (entries.isEmpty()) {
      return;
    }
    for (PoolPages pages : transfer.pools()) {
      if (!pages.objects().isAlive()) {
        failAll(
            entries,
            StoreFailure.of(
                FailureCode.REFUSED,
                "memory of pool " + pages.objects().name() + " was freed before it was stored"));
        return;
      }
    }
    List<PutOp> ops =
        entries.stream()
            .map(entry -> new PutOp(entry.key(), entry.pieces(), groupHint(entry)))
            .toList();
    BatchResult result = StoreAccess.requireSize(ops.size(), access.store().put(ops, by));
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      switch (result.status(i)) {
        case OK -> {
          stored++;
          bytesStored += entry.bytes();
          access.suspects().clear(entry.key());
        }
        case PRESENT -> {
          present++;
          access.suspects().clear(entry.key());
        }
        case FAILED -> access.failOffload(entry, result.failure(i));
        case ABSENT ->
            access.failOffload(
                entry,
                StoreFailure.of(FailureCode.INTERNAL, "the store answered a put with ABSENT"));
      }
    }
  }

  private Optional<String> groupHint(Entry entry) {
    PageKey page = entry.pages().transfer().keys().get(entry.index());
    return access.options().groups() ? access.layout().groupHint(page) : Optional.empty();
  }

  private void failAll(List<Entry> entries, StoreFailure cause) {
    for (Entry entry : entries) {
      access.failOffload(entry, cause);
    }
  }

  @Override
  public String toString() {
    return "offload " + transfer.id();
  }

  private static List<ObjectKey> keys(List<Entry> entries) {
    return entries.stream().map(Entry::key).toList();
  }
}
