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
 * <p>Objects that are there are left alone (rule {@code offload.missing-only}), except bad ones,
 * which are removed and stored anew (rule {@code load.no-livelock}). An object that fails costs its
 * own page only (rule {@code offload.partial}). In any case the transfer ends.
 */
final class PageOffload implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(PageOffload.class);

  private final StoreAccess access;
  private final Transfer transfer;
  private final boolean owner;
  private final Ledger ledger;
  private final SlotClaims claims;
  private long stored;
  private long bytesStored;
  private long present;

  /**
   * Prepares an offload.
   *
   * @param owner whether this rank writes the pages; where it does not, the owner's verdict decides
   *     (rule {@code offload.owner})
   */
  PageOffload(
      StoreAccess access, Transfer transfer, boolean owner, Ledger ledger, SlotClaims claims) {
    this.access = access;
    this.transfer = transfer;
    this.owner = owner;
    this.ledger = ledger;
    this.claims = claims;
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
    String taken = claims.claim(transfer, /* writes= */ false);
    if (taken != null) {
      access.failOffload(transfer, StoreFailure.of(FailureCode.REFUSED, taken));
      return;
    }
    if (!owner) {
      return;
    }
    StoreFailure away = access.outage().refusal();
    if (away != null) {
      access.failOffload(transfer, away);
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
    access.outage().note(keys(entries), exists);
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
    put(missing, by);
    suspect.forEach(entry -> mend(entry, by));
  }

  /**
   * Stores an object anew that has been found bad, unless another has done so by now: what the
   * store holds is read again, and removed only if it proves itself bad (rule {@code
   * offload.remove-proven}).
   */
  private void mend(Entry entry, Deadline by) {
    try (Mending mending = Mending.begin(access.store(), entry.key(), by)) {
      if (mending == null) {
        access.failOffload(
            entry,
            StoreFailure.of(
                FailureCode.TIMEOUT,
                "object %s is bad, and another offload is still storing it anew"
                    .formatted(entry.key())));
        return;
      }
      StoreFailure why = access.inspect(entry, by);
      if (why == null) {
        present++;
        access.suspects().clear(entry.key());
      } else if (why.code() == FailureCode.ABSENT
          || (why.code().provesBadObject() && isRemoved(entry, why, by))) {
        put(List.of(entry), by);
      } else if (!why.code().provesBadObject()) {
        access.failOffload(entry, why);
      }
    }
  }

  /** Removes a bad object; returns whether it is gone. */
  private boolean isRemoved(Entry bad, StoreFailure why, Deadline by) {
    if (!access.canRemove()) {
      access.failOffload(
          bad,
          StoreFailure.of(
              FailureCode.REFUSED,
              "the store holds a bad object and cannot remove it to take it anew: "
                  + why.message()));
      return false;
    }
    BatchResult result =
        StoreAccess.requireSize(
            1, access.store().remove(keys(List.of(bad)), /* evenIfLeased= */ true, by));
    if (result.status(0) == ObjectStatus.FAILED) {
      access.failOffload(bad, result.failure(0));
      return false;
    }
    return true;
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
