package io.unifiedcache.cli.replay;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The shared store as one rank sees it: it counts what the rank stores, and can fail one object of
 * a load.
 *
 * <p>Thread-safe. Closing it leaves the shared store open.
 */
final class RankStore implements CacheStore {
  private static final long NO_FAULT = -1;

  private final CacheStore shared;
  private final int layers;
  private final AtomicLong bytesStored = new AtomicLong();

  /** Ranged reads left until one fails, or {@link #NO_FAULT}. */
  private final AtomicLong readsBeforeFault = new AtomicLong(NO_FAULT);

  /** Chooses the object of the read that fails. */
  private volatile long choice;

  RankStore(CacheStore shared, int layers) {
    this.shared = shared;
    this.layers = layers;
  }

  /**
   * Lets one object of the next load fail.
   *
   * @param bits random bits, not negative, that choose the object and, of reads layer by layer, the
   *     layer
   */
  void failNextLoad(long bits) {
    choice = bits / layers;
    readsBeforeFault.set(bits % layers);
  }

  /** Ends what {@link #failNextLoad} began. */
  void failNoMore() {
    readsBeforeFault.set(NO_FAULT);
  }

  /** Returns the bytes of the objects that this rank stored. */
  long bytesStored() {
    return bytesStored.get();
  }

  @Override
  public Set<Capability> capabilities() {
    return shared.capabilities();
  }

  @Override
  public StoreLimits limits() {
    return shared.limits();
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    return shared.exists(keys, by);
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    BatchResult result = shared.put(ops, by);
    long bytes = 0;
    for (int i = 0; i < ops.size(); i++) {
      if (result.isOk(i)) {
        bytes += ops.get(i).byteSize();
      }
    }
    bytesStored.addAndGet(bytes);
    return result;
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    boolean fails = readsBeforeFault.getAndSet(NO_FAULT) != NO_FAULT;
    return serve(ops, fails, served -> shared.get(served, by));
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    ReadSession session = shared.openSession(keys, by);
    return new ReadSession() {
      @Override
      public BatchResult opened() {
        return session.opened();
      }

      @Override
      public long size(int entry) {
        return session.size(entry);
      }

      @Override
      public BatchResult read(List<ReadOp> ops, Deadline readBy) {
        boolean fails =
            readsBeforeFault.getAndUpdate(left -> left == NO_FAULT ? left : left - 1) == 0;
        return serve(ops, fails, served -> session.read(served, readBy));
      }

      @Override
      public void close() {
        session.close();
      }
    };
  }

  /** Serves all entries, or all but one that fails. */
  private <T> BatchResult serve(List<T> ops, boolean fails, Function<List<T>, BatchResult> read) {
    if (!fails || ops.isEmpty()) {
      return read.apply(ops);
    }
    int failed = (int) (choice % ops.size());
    List<T> others = new ArrayList<>(ops);
    others.remove(failed);
    BatchResult served = read.apply(others);
    BatchResult.Builder result = BatchResult.builder(ops.size());
    for (int i = 0; i < ops.size(); i++) {
      int from = i < failed ? i : i - 1;
      if (i == failed) {
        result.failed(i, StoreFailure.of(FailureCode.IO, "this read was chosen to fail"));
      } else if (served.status(from) == ObjectStatus.FAILED) {
        result.failed(i, served.failure(from));
      } else {
        result.set(i, served.status(from));
      }
    }
    return result.build();
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    return shared.remove(keys, evenIfLeased, by);
  }

  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    return shared.clear(prefix, by);
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    shared.list(prefix, more, by);
  }

  @Override
  public Registration register(Memory memory) {
    return shared.register(memory);
  }

  @Override
  public StoreStats stats() {
    return shared.stats();
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return shared.probe(by);
  }

  @Override
  public void close() {
    // The shared store belongs to the replay, which closes it after the last rank.
  }
}
