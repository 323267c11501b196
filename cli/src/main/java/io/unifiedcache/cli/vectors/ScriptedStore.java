package io.unifiedcache.cli.vectors;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A store without bytes: what it has is given, and it remembers what it is told to put and read.
 *
 * <p>Thread-safe.
 */
final class ScriptedStore implements CacheStore {
  private static final StoreStats NOTHING = new StoreStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

  private final Map<String, ObjectStatus> objects;

  /** How many bytes each object has that can be read. */
  private final Map<String, Long> sizes;

  private final List<PutOp> puts = new ArrayList<>();
  private final Map<String, List<Range>> reads = new TreeMap<>();

  private ScriptedStore(Map<String, ObjectStatus> objects, Map<String, Long> sizes) {
    this.objects = Map.copyOf(objects);
    this.sizes = Map.copyOf(sizes);
  }

  /** Returns a store that has these objects, by key, and no others. */
  static ScriptedStore having(Map<String, ObjectStatus> objects) {
    return new ScriptedStore(objects, Map.of());
  }

  /** Returns a store whose objects can be read, by key, with their sizes in bytes. */
  static ScriptedStore holding(Map<String, Long> sizes) {
    return new ScriptedStore(Map.of(), sizes);
  }

  /** Returns what was put, in order. */
  synchronized List<PutOp> puts() {
    return List.copyOf(puts);
  }

  /** Returns what was read, by key. */
  synchronized Map<String, List<Range>> reads() {
    return Map.copyOf(reads);
  }

  @Override
  public Set<Capability> capabilities() {
    return EnumSet.of(Capability.RANGED_READ, Capability.REPORTS_PRESENT);
  }

  @Override
  public StoreLimits limits() {
    return StoreLimits.NONE;
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      ObjectStatus status = objects.getOrDefault(keys.get(i).value(), ObjectStatus.ABSENT);
      if (status == ObjectStatus.FAILED) {
        result.failed(i, StoreFailure.of(FailureCode.IO, "the vector says so: " + keys.get(i)));
      } else {
        result.set(i, status);
      }
    }
    return result.build();
  }

  @Override
  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
    puts.addAll(ops);
    return BatchResult.all(ops.size(), ObjectStatus.OK);
  }

  @Override
  public synchronized BatchResult get(List<GetOp> ops, Deadline by) {
    throw new UnsupportedOperationException("vectors record reads of ranges");
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    List<ObjectKey> entries = List.copyOf(keys);
    return new ReadSession() {
      @Override
      public BatchResult opened() {
        BatchResult.Builder result = BatchResult.builder(entries.size());
        for (int i = 0; i < entries.size(); i++) {
          result.set(i, size(i) < 0 ? ObjectStatus.ABSENT : ObjectStatus.OK);
        }
        return result.build();
      }

      @Override
      public long size(int entry) {
        return sizes.getOrDefault(entries.get(entry).value(), -1L);
      }

      @Override
      public BatchResult read(List<ReadOp> ops, Deadline readBy) {
        ops.forEach(op -> remember(entries.get(op.entry()), op.ranges()));
        return BatchResult.all(ops.size(), ObjectStatus.OK);
      }

      @Override
      public void close() {
        // Nothing is held.
      }
    };
  }

  private synchronized void remember(ObjectKey key, List<Range> ranges) {
    reads.computeIfAbsent(key.value(), added -> new ArrayList<>()).addAll(ranges);
  }

  @Override
  public StoreStats stats() {
    return NOTHING;
  }

  @Override
  public StoreHealth probe(Deadline by) {
    return new StoreHealth(StoreHealth.State.UP, "it has no bytes to lose");
  }

  @Override
  public void close() {
    // Nothing is held.
  }
}
