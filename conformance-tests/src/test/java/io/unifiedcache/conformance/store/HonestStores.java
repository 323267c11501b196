package io.unifiedcache.conformance.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** Edits of the reference store that keep every rule in a way of their own. */
public final class HonestStores {
  private static final long CAPACITY = 256L << 20;

  private HonestStores() {}

  private static StoreUnderTest of(String name, LongFunction<ReferenceStore> opening) {
    return StoreUnderTest.of(name, () -> opening.apply(CAPACITY)).withBudget(opening);
  }

  /** Returns a store that lacks some capabilities and has other limits. */
  public static StoreUnderTest with(Set<Capability> missing, StoreLimits limits) {
    Set<Capability> left = new HashSet<>(ReferenceStore.ALL);
    left.removeAll(missing);
    return of("limited", bytes -> new ReferenceStore(left, limits, bytes));
  }

  /** Returns a store that takes its time for each call, within the deadline. */
  public static StoreUnderTest slow() {
    return of(
        "slow",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, capacity) {
              private void work(Deadline by) {
                LockSupport.parkNanos(Math.min(by.remainingNanos(), 2_000_000));
              }

              @Override
              public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                work(by);
                return super.exists(keys, by);
              }

              @Override
              public BatchResult put(List<PutOp> ops, Deadline by) {
                work(by);
                return super.put(ops, by);
              }

              @Override
              public BatchResult get(List<GetOp> ops, Deadline by) {
                work(by);
                return super.get(ops, by);
              }

              @Override
              public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
                work(by);
                return super.openSession(keys, by);
              }
            });
  }

  /** Returns a store that serves the entries of a batch by several threads, in any order. */
  public static StoreUnderTest outOfOrder() {
    return of(
        "out of order",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, capacity) {
              private final Object entry = new Object();
              private final Random random = new Random(1);

              @Override
              public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                begin(ops.size());
                BatchResult.Builder result = BatchResult.builder(ops.size());
                // Those of one key keep their order.
                Map<ObjectKey, List<Integer>> byKey = new HashMap<>();
                for (int i = 0; i < ops.size(); i++) {
                  byKey.computeIfAbsent(ops.get(i).key(), key -> new ArrayList<>()).add(i);
                }
                List<List<Integer>> groups = new ArrayList<>(byKey.values());
                Collections.shuffle(groups, random);
                groups.parallelStream()
                    .forEach(
                        group -> {
                          synchronized (entry) {
                            group.forEach(i -> put(ops.get(i), result, i));
                          }
                        });
                return result.build();
              }

              @Override
              public synchronized BatchResult get(List<GetOp> ops, Deadline by) {
                begin(ops.size());
                BatchResult.Builder result = BatchResult.builder(ops.size());
                List<Integer> order = new ArrayList<>();
                for (int i = 0; i < ops.size(); i++) {
                  order.add(i);
                }
                Collections.shuffle(order, random);
                order.parallelStream()
                    .forEach(
                        i -> {
                          synchronized (entry) {
                            get(ops.get(i), result, i);
                          }
                        });
                return result.build();
              }
            });
  }

  /** Returns a store that keeps objects for a while after they were read, unless it is forced. */
  public static StoreUnderTest leasing() {
    Duration lease = Duration.ofMillis(200);
    StoreLimits usual = ReferenceStore.LIMITS;
    StoreLimits limits =
        new StoreLimits(
            usual.batch(),
            usual.keyBytes(),
            usual.objectBytes(),
            usual.pieces(),
            usual.alignment(),
            usual.grace(),
            lease);
    return of(
        "leasing",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, limits, capacity) {
              private final Map<ObjectKey, Deadline> leases = new HashMap<>();

              @Override
              protected byte @Nullable [] find(ObjectKey key) {
                byte[] bytes = super.find(key);
                if (bytes != null) {
                  leases.put(key, Deadline.after(lease));
                }
                return bytes;
              }

              @Override
              protected void remove(
                  ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                Deadline until = leases.get(key);
                if (evenIfLeased || until == null || until.hasPassed()) {
                  leases.remove(key);
                  super.remove(key, evenIfLeased, result, i);
                } else {
                  fail(result, i, StoreFailure.of(FailureCode.BUSY, key + " is leased"));
                }
              }
            });
  }

  /** Returns a store that evicts all it has long before it has to. */
  public static StoreUnderTest forgetful() {
    return of(
        "forgetful",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, capacity) {
              private final Random random = new Random(1);

              @Override
              protected void begin(int entries) {
                super.begin(entries);
                if (random.nextInt(1000) == 0) {
                  makeRoom(capacity);
                }
              }
            });
  }

  /** Returns a store that refuses keys which are not made of plain characters. */
  public static StoreUnderTest plainKeys() {
    return of(
        "plain keys",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, capacity) {
              @Override
              protected Optional<StoreFailure> refusal(ObjectKey key, int pieces, long bytes) {
                boolean plain =
                    key.value().chars().allMatch(c -> c > ' ' && c < 0x7f && "\\*?:".indexOf(c) < 0)
                        && !key.value().matches(".*(^|/)[.]{0,2}(/.*|$)");
                return plain
                    ? super.refusal(key, pieces, bytes)
                    : Optional.of(StoreFailure.of(FailureCode.REFUSED, "the key is no plain path"));
              }
            });
  }

  /** Returns a store that has no empty objects. */
  public static StoreUnderTest noEmptyObjects() {
    return of(
        "no empty objects",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, capacity) {
              @Override
              protected void put(PutOp op, BatchResult.Builder result, int i) {
                if (op.byteSize() == 0) {
                  fail(result, i, StoreFailure.of(FailureCode.REFUSED, "an object of no bytes"));
                } else {
                  super.put(op, result, i);
                }
              }
            });
  }

  /** Returns a store below which faults can be injected, and which notices each. */
  public static StoreUnderTest faulty() {
    return FaultyStore.underTest("faulty", FaultyStore::new)
        .withBudget(bytes -> new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, bytes));
  }

  /** Returns a store whose reads write on after a stall, and say so. */
  public static StoreUnderTest letsGoLate() {
    return FaultyStore.underTest(
            "lets go late",
            () ->
                new FaultyStore() {
                  @Override
                  protected StoreFailure late(List<Memory> memory) {
                    CompletableFuture<Boolean> released = new CompletableFuture<>();
                    Thread.ofPlatform()
                        .daemon()
                        .start(
                            () -> {
                              awaitAnswer(Deadline.never());
                              memory.forEach(each -> scatter(new byte[1], 0, each.slice(0, 1)));
                              released.complete(true);
                            });
                    return super.late(memory).withMemory(new MemoryState.InUse(released));
                  }
                })
        .withBudget(bytes -> new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, bytes));
  }

  /** Returns a store that says of itself what it is told to. */
  public static StoreUnderTest declaring(Set<Capability> capabilities) {
    return of("declaring", bytes -> new ReferenceStore(capabilities, ReferenceStore.LIMITS, bytes));
  }

  /** Returns a store that breaks nothing, since it does nothing. */
  public static StoreUnderTest refusesEverything() {
    return of(
        "refuses everything",
        capacity ->
            new ReferenceStore(ReferenceStore.ALL, ReferenceStore.LIMITS, capacity) {
              @Override
              protected Optional<StoreFailure> refusal(ObjectKey key, int pieces, long bytes) {
                return Optional.of(StoreFailure.of(FailureCode.REFUSED, "keyBytes, or whatever"));
              }
            });
  }
}
