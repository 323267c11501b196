package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.linker.direct.LayerLoadCounter.Batch;
import io.unifiedcache.linker.direct.Transfer.Entry;
import io.unifiedcache.linker.direct.Transfer.PoolPages;
import io.unifiedcache.linker.observe.LoadBatchEvent;
import io.unifiedcache.linker.observe.LoadLayerEvent;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads one batch, on the load thread.
 *
 * <p>Whatever fails takes its own request out of the batch and leaves the others in it; a problem
 * that belongs to no object takes all of them out. In any case every transfer of the batch ends,
 * and every session that was opened is closed.
 */
final class BatchLoad implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(BatchLoad.class);
  private static final StoreFailure CANCELLED =
      StoreFailure.of(FailureCode.CANCELLED, "the load was cancelled before it began");

  private static final StoreFailure INCOMPLETE =
      StoreFailure.of(FailureCode.INTERNAL, "the batch ended before its last layer");

  private final StoreAccess access;
  private final List<PageObjects> pools;
  private final int layers;
  private final List<Transfer> transfers;
  private final Batch batch;
  private final Ledger ledger;

  /** The requests that had not been cancelled when the batch began; the others have been ended. */
  private final BitSet begun = new BitSet();

  /** Why the store was not asked; null if it was. */
  private @Nullable StoreFailure unasked;

  /** Objects that were opened together, and what they are for. */
  private record Opened(ReadSession session, List<Entry> entries) {}

  /**
   * Prepares a load.
   *
   * @param transfers by request of the batch
   */
  BatchLoad(
      StoreAccess access,
      List<PageObjects> pools,
      int layers,
      List<Transfer> transfers,
      Batch batch,
      Ledger ledger) {
    this.access = access;
    this.pools = pools;
    this.layers = layers;
    this.transfers = List.copyOf(transfers);
    for (int request = 0; request < transfers.size(); request++) {
      transfers.get(request).setRequestNumber(request);
    }
    this.batch = batch;
    this.ledger = ledger;
  }

  @Override
  public void run() {
    StoreFailure unlessComplete = INCOMPLETE;
    LoadBatchEvent event = null;
    begin();
    try {
      event = LoadBatchEvent.begin(access.instance());
      load();
    } catch (Throwable problem) {
      unlessComplete = StoreAccess.thrown(problem);
      LOG.error("loading {} failed", batch.requests(), problem);
    } finally {
      end(unlessComplete, event);
    }
  }

  /** Ends the batch in place of running it. */
  void giveUp(StoreFailure cause) {
    begin();
    end(cause, null);
  }

  private void begin() {
    for (int request = 0; request < transfers.size(); request++) {
      begun.set(request, transfers.get(request).begin());
    }
  }

  private void load() {
    Deadline by = Deadline.after(access.options().loadTimeout(), access.clock());
    for (int request = 0; request < transfers.size(); request++) {
      if (!begun.get(request)) {
        batch.fail(request, CANCELLED);
      }
      StoreFailure notReady = transfers.get(request).readyFailure();
      if (notReady != null) {
        batch.fail(request, notReady);
      }
    }
    unasked = access.outage().refusal();
    if (unasked != null) {
      batch.failAll(unasked);
      return;
    }
    List<Entry> entries = new ArrayList<>();
    for (PageObjects objects : pools) {
      for (Transfer transfer : transfers) {
        for (PoolPages pages : transfer.pools()) {
          if (pages.objects() == objects) {
            transfer.addEntries(pages, entries);
          }
        }
      }
    }
    if (access.byLayers()) {
      loadByLayers(entries, by);
    } else {
      loadWhole(entries, by);
    }
  }

  private void loadByLayers(List<Entry> entries, Deadline by) {
    List<Opened> sessions = new ArrayList<>();
    try {
      access.inBatches(entries, some -> open(some, sessions, by));
      for (int layer = 0; layer < layers && !batch.isDeserted(); layer++) {
        LoadLayerEvent event = LoadLayerEvent.begin(access.instance());
        for (Opened opened : sessions) {
          read(opened, layer, by, event);
        }
        if (event != null) {
          event.layer = layer;
          event.commit();
        }
        batch.complete(layer);
      }
    } finally {
      for (Opened opened : sessions) {
        StoreAccess.close(opened.session());
      }
    }
  }

  private void open(List<Entry> some, List<Opened> sessions, Deadline by) {
    List<Entry> entries = stillNeeded(some);
    if (entries.isEmpty()) {
      return;
    }
    List<ObjectKey> keys = entries.stream().map(Entry::key).toList();
    ReadSession session = access.store().openSession(keys, by);
    sessions.add(new Opened(session, entries));
    BatchResult opened = StoreAccess.requireSize(entries.size(), session.opened());
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      if (opened.isOk(i)) {
        StoreFailure wrongSize = StoreAccess.wrongSize(entry, session.size(i));
        if (wrongSize != null) {
          fail(entry, wrongSize);
        }
      } else {
        check(entry, opened, i);
      }
    }
  }

  /** Reads what a layer needs of the objects of one session: one call for all of them. */
  private void read(Opened opened, int layer, Deadline by, @Nullable LoadLayerEvent event) {
    BitSet present = batch.present();
    List<ReadOp> ops = new ArrayList<>(opened.entries().size());
    for (int i = 0; i < opened.entries().size(); i++) {
      Entry entry = opened.entries().get(i);
      if (!present.get(request(entry))) {
        continue;
      }
      List<Range> ranges = entry.pages().objects().ranges(entry.component(), layer, entry.slot());
      if (!ranges.isEmpty()) {
        ops.add(new ReadOp(i, ranges));
      }
    }
    if (ops.isEmpty() || !memoryIsAlive()) {
      return;
    }
    if (event != null) {
      event.objects += ops.size();
      event.bytes += ops.stream().mapToLong(ReadOp::byteSize).sum();
    }
    BatchResult result = StoreAccess.requireSize(ops.size(), opened.session().read(ops, by));
    for (int i = 0; i < ops.size(); i++) {
      check(opened.entries().get(ops.get(i).entry()), result, i);
    }
  }

  /** Reads whole objects, and announces all layers together after the last. */
  private void loadWhole(List<Entry> entries, Deadline by) {
    LoadLayerEvent event = LoadLayerEvent.begin(access.instance());
    access.inBatches(
        entries,
        some -> {
          List<Entry> needed = stillNeeded(some);
          if (needed.isEmpty() || !memoryIsAlive()) {
            return;
          }
          List<GetOp> ops =
              needed.stream().map(entry -> new GetOp(entry.key(), entry.pieces())).toList();
          if (event != null) {
            event.objects += ops.size();
            event.bytes += ops.stream().mapToLong(GetOp::byteSize).sum();
          }
          BatchResult result = StoreAccess.requireSize(ops.size(), access.store().get(ops, by));
          for (int i = 0; i < needed.size(); i++) {
            check(needed.get(i), result, i);
          }
        });
    if (event != null) {
      event.layer = -1;
      event.commit();
    }
    batch.complete(layers - 1);
  }

  private void check(Entry entry, BatchResult result, int i) {
    if (!result.isOk(i)) {
      fail(entry, StoreAccess.notRead(entry, result, i));
    }
  }

  private void fail(Entry entry, StoreFailure cause) {
    access.failLoad(entry, cause);
    batch.fail(request(entry), cause);
  }

  private List<Entry> stillNeeded(List<Entry> entries) {
    BitSet present = batch.present();
    return entries.stream().filter(entry -> present.get(request(entry))).toList();
  }

  private int request(Entry entry) {
    return entry.transfer().requestNumber();
  }

  /** Takes every request out of the batch that would write to memory that was freed. */
  private boolean memoryIsAlive() {
    boolean alive = true;
    for (PageObjects objects : pools) {
      if (!objects.isAlive()) {
        alive = false;
        batch.failAll(
            StoreFailure.of(
                FailureCode.REFUSED,
                "memory of pool " + objects.name() + " was freed while a load needed it"));
      }
    }
    return alive;
  }

  /** Ends the transfers, once everything has been told of them. */
  private void end(StoreFailure unlessComplete, @Nullable LoadBatchEvent event) {
    List<@Nullable StoreFailure> verdicts = batch.finish(unlessComplete);
    BitSet failedAsWhole = new BitSet();
    for (int request = begun.nextSetBit(0); request >= 0; request = begun.nextSetBit(request + 1)) {
      Transfer transfer = transfers.get(request);
      StoreFailure cause = verdicts.get(request);
      if (cause != null && !transfer.hasFailed()) {
        failedAsWhole.set(request);
        if (unasked == null) {
          transfer.failAll(cause);
        } else {
          transfer.failUnasked(cause);
        }
      }
    }
    try {
      tell(verdicts, failedAsWhole, event);
    } finally {
      begun.stream().mapToObj(transfers::get).forEach(ledger::end);
    }
  }

  private void tell(
      List<@Nullable StoreFailure> verdicts, BitSet failedAsWhole, @Nullable LoadBatchEvent event) {
    long allObjects = 0;
    long allBytes = 0;
    int failed = 0;
    for (int request = begun.nextSetBit(0); request >= 0; request = begun.nextSetBit(request + 1)) {
      Transfer transfer = transfers.get(request);
      StoreFailure cause = verdicts.get(request);
      if (cause == null) {
        long objects = 0;
        long bytes = 0;
        for (PoolPages pages : transfer.pools()) {
          for (int component = 0; component < pages.objects().components(); component++) {
            objects += pages.size();
            bytes += pages.size() * pages.objects().objectBytes(component);
          }
        }
        access.counters().loaded(objects, bytes);
        allObjects += objects;
        allBytes += bytes;
      } else {
        failed++;
        access.counters().loadFailed();
        if (failedAsWhole.get(request)) {
          access.tellFailedLoad(transfer, cause);
        }
      }
    }
    if (event != null) {
      event.requests = transfers.size();
      event.failedRequests = failed;
      event.objects = allObjects;
      event.bytes = allBytes;
      event.commit();
    }
  }
}
