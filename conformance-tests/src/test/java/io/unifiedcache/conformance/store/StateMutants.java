package io.unifiedcache.conformance.store;

import static io.unifiedcache.conformance.store.StoreMutants.mutant;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import io.unifiedcache.linker.Backends;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Small edits of the reference store, each of which breaks a rule of what comes after a put:
 * further puts, readers beside it, sessions, removal; and of what a store declares.
 */
public final class StateMutants {
  private static final long MILLISECOND = 1_000_000;

  private StateMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(versions(), visibility(), anew(), sessions(), capabilities())
        .flatMap(List::stream)
        .toList();
  }

  private static boolean isAboutAPage(long bytes) {
    return bytes > 4096 && bytes < 10_000;
  }

  // store.first-wins and store.reports-present

  private static List<Mutant> versions() {
    return List.of(
        mutant(
            "store.first-wins",
            "a later put of a page is taken",
            "first bytes",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    byte[] bytes = find(op.key());
                    if (bytes != null && bytes.length == op.byteSize()) {
                      byte[] later = gather(op.pieces());
                      if (isAboutAPage(later.length)) {
                        System.arraycopy(later, 0, bytes, 0, later.length);
                      }
                    }
                  }
                }),
        mutant(
            "store.first-wins",
            "a later put of about a page says OK",
            "PRESENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    if (isAboutAPage(op.byteSize())) {
                      result.set(i, ObjectStatus.OK);
                    }
                  }
                }),
        mutant(
            "store.first-wins",
            "puts of one key at a time each find it free",
            "writer",
            () ->
                new ReferenceStore() {
                  @Override
                  public BatchResult put(List<PutOp> ops, Deadline by) {
                    PutOp op = ops.isEmpty() ? null : ops.getFirst();
                    if (op == null || op.byteSize() != 64 << 10) {
                      return super.put(ops, by);
                    }
                    boolean free = !exists(List.of(op.key()), by).isOk(0);
                    LockSupport.parkNanos(
                        MILLISECOND + ordinal.getAndIncrement() % 3 * MILLISECOND);
                    synchronized (this) {
                      if (free) {
                        remove(op.key(), /* evenIfLeased= */ true, BatchResult.builder(1), 0);
                      }
                      return super.put(ops, by);
                    }
                  }

                  private final AtomicInteger ordinal = new AtomicInteger();
                }),
        mutant(
            "store.reports-present",
            "a later put of one byte says OK",
            "it answered OK",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    if (op.byteSize() == 1) {
                      result.set(i, ObjectStatus.OK);
                    }
                  }
                }));
  }

  // store.atomic-visibility

  private static List<Mutant> visibility() {
    return List.of(
        mutant(
            "store.atomic-visibility",
            "a large object is found before its bytes are in place",
            "while it is put",
            () ->
                new ReferenceStore() {
                  private final Map<Thread, byte[]> whole = new ConcurrentHashMap<>();
                  private final Map<Thread, byte[]> visible = new ConcurrentHashMap<>();

                  @Override
                  public BatchResult put(List<PutOp> ops, Deadline by) {
                    BatchResult result = super.put(ops, by);
                    byte[] bytes = whole.remove(Thread.currentThread());
                    byte[] shown = visible.remove(Thread.currentThread());
                    if (bytes != null && shown != null) {
                      LockSupport.parkNanos(2 * MILLISECOND);
                      System.arraycopy(bytes, 0, shown, 0, bytes.length);
                    }
                    return result;
                  }

                  @Override
                  protected byte[] gather(List<Memory> pieces) {
                    byte[] bytes = super.gather(pieces);
                    if (bytes.length != 512 << 10) {
                      return bytes;
                    }
                    byte[] shown = new byte[bytes.length];
                    whole.put(Thread.currentThread(), bytes);
                    visible.put(Thread.currentThread(), shown);
                    return shown;
                  }
                }),
        mutant(
            "store.atomic-visibility",
            "a put that runs out of time leaves what it has written",
            "whose put within",
            () ->
                new ReferenceStore() {
                  private boolean late;

                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    late = by.hasPassed();
                    BatchResult result = super.put(ops, by);
                    return late
                        ? BatchResult.allFailed(
                            ops.size(), StoreFailure.of(FailureCode.TIMEOUT, "too late"))
                        : result;
                  }

                  @Override
                  protected byte[] gather(List<Memory> pieces) {
                    byte[] bytes = super.gather(pieces);
                    return late ? new byte[bytes.length] : bytes;
                  }
                }),
        mutant(
            "store.atomic-visibility",
            "a put that runs out of time keeps its key",
            "a further put",
            () ->
                new ReferenceStore() {
                  private final Set<ObjectKey> reserved = new HashSet<>();

                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    ops.stream()
                        .filter(op -> by.hasPassed())
                        .map(PutOp::key)
                        .forEach(reserved::add);
                    return ops.stream().map(PutOp::key).anyMatch(reserved::contains)
                        ? BatchResult.allFailed(
                            ops.size(), StoreFailure.of(FailureCode.TIMEOUT, "too late"))
                        : super.put(ops, by);
                  }
                }));
  }

  // store.restore-anew

  private static List<Mutant> anew() {
    return List.of(
        mutant(
            "store.restore-anew",
            "an object that a session holds is busy whatever is asked",
            "BUSY",
            () ->
                new ReferenceStore() {
                  private final Map<ObjectKey, Integer> held = new HashMap<>();

                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> bytes, BatchResult opened) {
                    keys.forEach(key -> held.merge(key, 1, Integer::sum));
                    return new Session(keys, bytes, opened) {
                      private boolean open = true;

                      @Override
                      public void close() {
                        synchronized (held) {
                          if (open) {
                            keys.forEach(key -> held.merge(key, -1, Integer::sum));
                          }
                          open = false;
                        }
                        super.close();
                      }
                    };
                  }

                  @Override
                  protected void remove(
                      ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                    if (evenIfLeased && held.getOrDefault(key, 0) > 0) {
                      fail(result, i, StoreFailure.of(FailureCode.BUSY, "leased"));
                    } else {
                      super.remove(key, evenIfLeased, result, i);
                    }
                  }
                }),
        mutant(
            "store.restore-anew",
            "the size of an object is remembered for ever",
            "SIZE_MISMATCH",
            () ->
                new ReferenceStore() {
                  private final Map<ObjectKey, Long> sizes = new HashMap<>();

                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    sizes.putIfAbsent(op.key(), op.byteSize());
                  }

                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    byte[] bytes = find(op.key());
                    if (bytes != null
                        && isAboutAPage(bytes.length)
                        && sizes.getOrDefault(op.key(), op.byteSize()) == bytes.length / 2) {
                      fail(result, i, StoreFailure.of(FailureCode.SIZE_MISMATCH, "once it was"));
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        faulty(
            "store.restore-anew",
            "an object that is spoiled cannot be removed",
            "CORRUPT",
            () ->
                new FaultyStore() {
                  @Override
                  protected void remove(
                      ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                    if (isSpoiled(key)) {
                      fail(result, i, StoreFailure.of(FailureCode.CORRUPT, "spoiled"));
                    } else {
                      super.remove(key, evenIfLeased, result, i);
                    }
                  }
                }),
        faulty(
            "store.restore-anew",
            "a key whose object was spoiled stays so",
            "CORRUPT",
            () ->
                new FaultyStore() {
                  @Override
                  protected void mend(ObjectKey key) {}
                }));
  }

  // store.session

  private static List<Mutant> sessions() {
    return List.of(
        mutant(
            "store.session",
            "the size of an object is that of the one that has its key now",
            "put anew since it was opened",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      public long size(int entry) {
                        byte[] now = find(keys.get(entry));
                        return super.size(entry) < 0 || now == null
                            ? super.size(entry)
                            : now.length;
                      }
                    };
                  }
                }),
        mutant(
            "store.session",
            "entries that did not open are left out where sizes are counted",
            "the size of entry",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      public long size(int entry) {
                        long size = super.size(entry);
                        return size < 0 && entry + 1 < keys.size() ? super.size(entry + 1) : size;
                      }
                    };
                  }
                }),
        mutant(
            "store.session",
            "a key is looked up again with each read",
            "ABSENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void read(ReadOp op, BatchResult.Builder result, int i) {
                        if (opened.status(op.entry()) == ObjectStatus.ABSENT) {
                          held.set(op.entry(), find(keys.get(op.entry())));
                        }
                        super.read(op, result, i);
                      }
                    };
                  }
                }),
        mutant(
                "store.session",
                "an object that was put anew is read in place of the one that was opened",
                "put anew",
                () ->
                    new ReferenceStore() {
                      @Override
                      protected ReadSession session(
                          List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                        return new Session(keys, held, opened) {
                          @Override
                          protected void read(ReadOp op, BatchResult.Builder result, int i) {
                            if (held.get(op.entry()) != null) {
                              byte[] now = find(keys.get(op.entry()));
                              held.set(op.entry(), now == null ? held.get(op.entry()) : now);
                            }
                            super.read(op, result, i);
                          }
                        };
                      }
                    })
            .alsoBreaking("store.failure-codes"),
        mutant(
            "store.session",
            "an object that was removed is absent to a session",
            "ABSENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void read(ReadOp op, BatchResult.Builder result, int i) {
                        if (find(keys.get(op.entry())) == null) {
                          held.set(op.entry(), null);
                        }
                        super.read(op, result, i);
                      }
                    };
                  }
                }),
        mutant(
            "store.session",
            "a range begins one byte early",
            "bytes",
            () ->
                new ReferenceStore() {
                  private boolean ranged;

                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void read(ReadOp op, BatchResult.Builder result, int i) {
                        ranged = true;
                        super.read(op, result, i);
                        ranged = false;
                      }
                    };
                  }

                  @Override
                  protected void scatter(byte[] bytes, long offset, Memory target) {
                    boolean early = ranged && offset > 0 && target.byteSize() > 1;
                    super.scatter(bytes, early ? offset - 1 : offset, target);
                  }
                }),
        mutant(
            "store.session",
            "a range past the end is cut",
            "SIZE_MISMATCH",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void read(ReadOp op, BatchResult.Builder result, int i) {
                        Range first = op.ranges().getFirst();
                        byte[] bytes = held.get(op.entry());
                        if (bytes != null
                            && first.objectOffset() == 1
                            && first.target().byteSize() == bytes.length) {
                          result.set(i, ObjectStatus.OK);
                        } else {
                          super.read(op, result, i);
                        }
                      }
                    };
                  }
                }),
        mutant(
            "store.session",
            "an entry that the session has not is absent",
            "ABSENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      protected void refuse(ReadOp op, BatchResult.Builder result, int i) {
                        result.set(i, ObjectStatus.ABSENT);
                      }
                    };
                  }
                }),
        mutant(
            "store.session",
            "a closed session goes on",
            "it returned",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      @Override
                      public void close() {}
                    };
                  }
                }),
        mutant(
            "store.session",
            "a session is closed once only",
            "closed already",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    return new Session(keys, held, opened) {
                      private boolean done;

                      @Override
                      public void close() {
                        if (done) {
                          throw new IllegalStateException("closed already");
                        }
                        done = true;
                        super.close();
                      }
                    };
                  }
                }),
        mutant(
            "store.session",
            "what a session has held stays leased",
            "BUSY",
            () ->
                new ReferenceStore() {
                  private final Set<ObjectKey> leased = new HashSet<>();

                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    leased.addAll(keys);
                    return super.session(keys, held, opened);
                  }

                  @Override
                  protected void remove(
                      ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                    if (!evenIfLeased && leased.contains(key)) {
                      fail(result, i, StoreFailure.of(FailureCode.BUSY, "leased"));
                    } else {
                      super.remove(key, evenIfLeased, result, i);
                    }
                  }
                }));
  }

  // store.capability-honest

  private static List<Mutant> capabilities() {
    return List.of(
        mutant(
            "store.capability-honest",
            "a clear that is not declared does nothing",
            "it returned",
            () ->
                new ReferenceStore(
                    without(Capability.CLEAR), ReferenceStore.LIMITS, Long.MAX_VALUE) {
                  @Override
                  public ClearResult clear(KeyPrefix prefix, Deadline by) {
                    return new ClearResult(0, 0);
                  }
                }),
        mutant(
            "store.capability-honest",
            "a remove that is not declared is refused once it has removed",
            "4 attempts",
            () ->
                new ReferenceStore(
                    without(Capability.REMOVE), ReferenceStore.LIMITS, Long.MAX_VALUE) {
                  @Override
                  public synchronized BatchResult remove(
                      List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
                    for (ObjectKey key : keys) {
                      remove(key, evenIfLeased, BatchResult.builder(1), 0);
                    }
                    return super.remove(keys, evenIfLeased, by);
                  }
                }),
        mutant(
            "store.capability-honest",
            "a list that is not declared is an unsupported operation",
            "UnsupportedOperationException",
            () ->
                new ReferenceStore(
                    without(Capability.LIST), ReferenceStore.LIMITS, Long.MAX_VALUE) {
                  @Override
                  public void list(
                      KeyPrefix prefix, java.util.function.Predicate<ObjectKey> more, Deadline by) {
                    throw new UnsupportedOperationException("list");
                  }
                }),
        mutant(
            "store.capability-honest",
            "an empty session is opened though sessions are not declared",
            "it returned",
            () ->
                new ReferenceStore(
                    without(Capability.RANGED_READ), ReferenceStore.LIMITS, Long.MAX_VALUE) {
                  @Override
                  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
                    return keys.isEmpty()
                        ? session(keys, new ArrayList<>(), BatchResult.builder(0).build())
                        : super.openSession(keys, by);
                  }
                }),
        mutant(
            "store.capability-honest",
            "a clear that is not declared is refused as a defect",
            "INTERNAL",
            () ->
                new ReferenceStore(
                    without(Capability.CLEAR), ReferenceStore.LIMITS, Long.MAX_VALUE) {
                  @Override
                  public ClearResult clear(KeyPrefix prefix, Deadline by) {
                    throw new CacheException(FailureCode.INTERNAL, "not written yet");
                  }
                }),
        mutant(
            "store.capability-honest",
            "the limits change with every look",
            "limits later on",
            () ->
                new ReferenceStore() {
                  private final AtomicInteger looks = new AtomicInteger();

                  @Override
                  public StoreLimits limits() {
                    StoreLimits limits = super.limits();
                    return new StoreLimits(
                        limits.batch(),
                        limits.keyBytes(),
                        limits.objectBytes(),
                        limits.pieces(),
                        limits.alignment(),
                        limits.grace().plusNanos(looks.getAndIncrement()),
                        limits.busy());
                  }
                }),
        Mutant.ofStore(
            Set.of("store.capability-honest"),
            "a store declares what its provider cannot",
            "also declares [LIST]",
            () ->
                StoreUnderTest.named("boastful", Map.of())
                    .among(
                        Backends.of(
                            List.of(
                                new Backends.Found("boastful", new Boastful(), "this test"))))));
  }

  private static Set<Capability> without(Capability capability) {
    Set<Capability> left = new HashSet<>(ReferenceStore.ALL);
    left.remove(capability);
    return left;
  }

  private static final class Boastful implements CacheStoreProvider {
    @Override
    public String name() {
      return "boastful";
    }

    @Override
    public List<Option<?>> options() {
      return List.of();
    }

    @Override
    public Set<Capability> capabilities() {
      return without(Capability.LIST);
    }

    @Override
    public CacheStore open(Settings settings, StoreContext context) {
      return new ReferenceStore();
    }
  }

  static Mutant faulty(
      String rule,
      String what,
      String says,
      java.util.function.Supplier<? extends FaultyStore> store) {
    return Mutant.ofStore(Set.of(rule), what, says, () -> FaultyStore.underTest("mutant", store));
  }
}
