package io.unifiedcache.conformance.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Small edits of the reference store, each of which breaks a rule of objects or batches. */
public final class StoreMutants {
  private static final long PAGE = 4096;

  private StoreMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(roundtrip(), absent(), empty(), sizes(), keys(), batches(), limits(), large())
        .flatMap(List::stream)
        .toList();
  }

  // store.roundtrip

  private static List<Mutant> roundtrip() {
    return List.of(
        mutant(
            "store.roundtrip",
            "the last byte of an object of more than a mebibyte is dropped",
            "not 0x",
            () ->
                new ReferenceStore() {
                  @Override
                  protected byte[] gather(List<Memory> pieces) {
                    byte[] bytes = super.gather(pieces);
                    if (bytes.length > 1 << 20) {
                      bytes[bytes.length - 1]++;
                    }
                    return bytes;
                  }
                }),
        mutant(
            "store.roundtrip",
            "a get of several large objects returns while another thread copies the last one",
            "as soon as a get returns",
            () ->
                new ReferenceStore() {
                  @Override
                  public BatchResult get(List<GetOp> ops, Deadline by) {
                    if (ops.size() < 3 || ops.getLast().byteSize() < 1 << 20) {
                      return super.get(ops, by);
                    }
                    BatchResult.Builder result = BatchResult.builder(ops.size());
                    Thread.ofPlatform()
                        .daemon()
                        .start(() -> super.get(ops.subList(ops.size() - 1, ops.size()), by));
                    BatchResult most = super.get(ops.subList(0, ops.size() - 1), by);
                    for (int i = 0; i < most.size(); i++) {
                      result.set(i, most.status(i));
                    }
                    result.set(ops.size() - 1, ObjectStatus.OK);
                    return result.build();
                  }
                }),
        mutant(
            "store.roundtrip",
            "an empty piece among the sources ends the object",
            "bytes",
            () ->
                new ReferenceStore() {
                  @Override
                  protected byte[] gather(List<Memory> pieces) {
                    byte[] bytes = super.gather(pieces);
                    int end = 0;
                    for (Memory piece : pieces) {
                      if (piece.byteSize() == 0) {
                        java.util.Arrays.fill(bytes, end, bytes.length, (byte) 0);
                        break;
                      }
                      end += (int) piece.byteSize();
                    }
                    return bytes;
                  }
                }),
        mutant(
            "store.roundtrip",
            "the memory of a put of a little more than a page is read when the object is",
            "not 0x",
            () ->
                new ReferenceStore() {
                  private final Map<Integer, List<Memory>> sources = new HashMap<>();

                  @Override
                  protected byte[] gather(List<Memory> pieces) {
                    byte[] bytes = super.gather(pieces);
                    if (bytes.length == PAGE + 1) {
                      sources.put(System.identityHashCode(bytes), pieces);
                    }
                    return bytes;
                  }

                  @Override
                  protected void scatter(byte[] bytes, long offset, Memory target) {
                    List<Memory> source = sources.get(System.identityHashCode(bytes));
                    super.scatter(source == null ? bytes : super.gather(source), offset, target);
                  }
                }),
        mutant(
            "store.roundtrip",
            "a large target at an odd address is filled from the next even one on",
            "byte 0 is 0x5a",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void scatter(byte[] bytes, long offset, Memory target) {
                    super.scatter(bytes, offset, target);
                    MemorySegment segment = ((HostMemory) target).segment();
                    if (segment.address() % 2 != 0 && segment.byteSize() > 1 << 20) {
                      segment.set(ValueLayout.JAVA_BYTE, 0, Pieces.UNTOUCHED);
                    }
                  }
                }));
  }

  // store.absent

  private static List<Mutant> absent() {
    return List.of(
        mutant(
            "store.absent",
            "an absent object is read as one of zero bytes",
            "OK",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() == 0 && find(op.key()) == null) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.absent",
            "a target of a page is cleared before the object is looked up",
            "0x00, not 0x5a",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() == PAGE) {
                      scatter(new byte[(int) PAGE], 0, op.pieces().getFirst());
                    }
                    super.get(op, result, i);
                  }
                }),
        mutant(
            "store.absent",
            "an absent object is a failure where no memory is given",
            "FAILED",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    super.get(op, result, i);
                    if (op.pieces().isEmpty()
                        && exists(List.of(op.key()), Deadline.never()).status(0)
                            == ObjectStatus.ABSENT) {
                      result.failed(i, StoreFailure.of(FailureCode.ABSENT, "no object"));
                    }
                  }
                }));
  }

  // store.empty-object

  private static List<Mutant> empty() {
    return List.of(
        mutant(
            "store.empty-object",
            "an empty object is stored as nothing",
            "4 attempts",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() == 0) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.put(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.empty-object",
            "an empty object is read into any target",
            "SIZE_MISMATCH",
            () ->
                new ReferenceStore() {
                  private final Set<ObjectKey> empty = new HashSet<>();

                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    if (op.byteSize() == 0) {
                      empty.add(op.key());
                    }
                  }

                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (empty.contains(op.key())) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.empty-object",
            "an empty object is refused and there all the same",
            "ABSENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    if (op.byteSize() == 0) {
                      result.failed(i, StoreFailure.of(FailureCode.REFUSED, "no bytes"));
                    }
                  }
                }));
  }

  // store.size-exact and store.groups

  private static List<Mutant> sizes() {
    return List.of(
        mutant(
            "store.size-exact",
            "a target that is padded to the next line is taken",
            "SIZE_MISMATCH",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    long bytes = sizeOf(find(op.key()));
                    if (bytes > 0 && op.byteSize() == bytes + 64) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.size-exact",
            "a target that is one byte short is filled as far as it goes",
            "SIZE_MISMATCH",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() == PAGE - 1 && sizeOf(find(op.key())) == PAGE) {
                      result.set(i, ObjectStatus.OK);
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.size-exact",
            "what an object does not fill is zeroed before the mismatch is told",
            "0x00, not 0x5a",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    long bytes = sizeOf(find(op.key()));
                    if (bytes > 0 && op.byteSize() > bytes && op.byteSize() < 1 << 20) {
                      Memory last = op.pieces().getLast();
                      if (last.byteSize() > 0) {
                        scatter(new byte[1], 0, last.slice(last.byteSize() - 1, 1));
                      }
                      fail(
                          result,
                          i,
                          StoreFailure.of(FailureCode.SIZE_MISMATCH, "too large")
                              .withMemory(MemoryState.DIRTY));
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.groups",
            "an object is found in its group only",
            "4 attempts",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    ObjectKey key = new ObjectKey(op.key() + op.groupHint().orElse(""));
                    super.put(new PutOp(key, op.pieces()), result, i);
                  }
                }),
        mutant(
            "store.groups",
            "a group whose name is long is refused",
            "FAILED",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    if (op.groupHint().orElse("").length() > 255) {
                      fail(result, i, StoreFailure.of(FailureCode.REFUSED, "a long group"));
                    } else {
                      super.put(op, result, i);
                    }
                  }
                }));
  }

  private static long sizeOf(byte @Nullable [] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  // store.exact-key

  private static List<Mutant> keys() {
    return List.of(
        names(
            Set.of("store.exact-key"),
            "keys are folded to lower case",
            "PRESENT",
            key -> key.toLowerCase(Locale.ROOT)),
        names("a sharp s is two letters", "PRESENT", key -> key.replace("\u00df", "ss")),
        names(
            "keys are composed", "PRESENT", key -> Normalizer.normalize(key, Normalizer.Form.NFC)),
        names("keys are trimmed", "PRESENT", String::strip),
        names(
            "keys are cut after 255 characters",
            "PRESENT",
            key -> key.substring(0, Math.min(255, key.length()))),
        names("keys are shortened like paths", "PRESENT", key -> key.replace("/./", "/")),
        names("keys end at a zero character", "PRESENT", key -> key.split("\0", 2)[0]),
        names(
            "keys with letters beyond Latin have a tag",
            "listed",
            key -> key.codePoints().anyMatch(c -> c > 0xffff) ? key + ".object" : key),
        mutant(
            "store.exact-key",
            "a key with a newline is refused after it is stored",
            "whose put was refused",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    super.put(op, result, i);
                    if (op.key().value().contains("\n")) {
                      fail(result, i, StoreFailure.of(FailureCode.REFUSED, "a newline"));
                    }
                  }
                }),
        mutant(
            "store.exact-key",
            "a key with a colon fails below the store",
            "IO",
            () ->
                new ReferenceStore() {
                  @Override
                  protected Optional<StoreFailure> refusal(ObjectKey key, int pieces, long bytes) {
                    return key.value().contains(":")
                        ? Optional.of(StoreFailure.of(FailureCode.IO, "no such file"))
                        : super.refusal(key, pieces, bytes);
                  }
                }));
  }

  private static Mutant names(String what, String says, UnaryOperator<String> named) {
    return names(Set.of("store.exact-key"), what, says, named);
  }

  private static Mutant names(
      Set<String> breaks, String what, String says, UnaryOperator<String> named) {
    return Mutant.ofStore(
        breaks,
        what,
        says,
        () ->
            StoreUnderTest.of(
                "mutant",
                () ->
                    new ReferenceStore() {
                      @Override
                      protected ObjectKey name(ObjectKey key) {
                        return new ObjectKey(named.apply(key.value()));
                      }
                    }));
  }

  // store.per-entry and store.duplicate-in-batch

  private static List<Mutant> batches() {
    return List.of(
        mutant(
            "store.per-entry",
            "a get of more than a thousand entries answers them from the last to the first",
            "entry",
            () ->
                new ReferenceStore() {
                  @Override
                  public BatchResult get(List<GetOp> ops, Deadline by) {
                    return ops.size() > 1000 ? super.get(ops.reversed(), by) : super.get(ops, by);
                  }
                }),
        mutant(
            "store.per-entry",
            "a put stores a thousand entries at most",
            "4 attempts",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    if (i < 1000 || op.byteSize() == 1) {
                      super.put(op, result, i);
                    } else {
                      result.set(i, ObjectStatus.OK);
                    }
                  }
                }),
        mutant(
            "store.per-entry",
            "memory that cannot be used is used all the same",
            "read-only segment",
            () ->
                new ReferenceStore() {
                  @Override
                  protected boolean isUsable(List<Memory> pieces, boolean asTarget) {
                    return asTarget || super.isUsable(pieces, asTarget);
                  }
                }),
        mutant(
            "store.per-entry",
            "memory of a closed arena is stored as nothing",
            "CLOSED_ARENA",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    boolean gone = op.pieces().stream().anyMatch(piece -> !piece.isAlive());
                    super.put(gone ? new PutOp(op.key(), List.of()) : op, result, i);
                  }
                }),
        mutant(
            "store.per-entry",
            "the first entry of a get that fails ends the call",
            "CANCELLED",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult get(List<GetOp> ops, Deadline by) {
                    BatchResult all = super.get(ops, by);
                    BatchResult.Builder result = BatchResult.builder(ops.size());
                    boolean over = false;
                    for (int i = 0; i < all.size(); i++) {
                      if (over) {
                        result.failed(i, StoreFailure.of(FailureCode.CANCELLED, "given up"));
                      } else if (all.status(i) == ObjectStatus.FAILED) {
                        result.failed(i, all.failure(i));
                        over = true;
                      } else {
                        result.set(i, all.status(i));
                      }
                    }
                    return result.build();
                  }
                }),
        mutant(
            "store.per-entry",
            "a read answers with the object of the next entry",
            "not 0x",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    if (keys.size() > 6 && new HashSet<>(keys).size() == keys.size()) {
                      for (int i = 1; i < held.size(); i++) {
                        if (held.get(i) != null && held.get(i - 1) != null) {
                          Collections.swap(held, i, i - 1);
                        }
                      }
                    }
                    return super.session(keys, held, opened);
                  }
                }),
        mutant(
            "store.per-entry",
            "an empty put is refused",
            "a CacheException",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    if (ops.isEmpty()) {
                      throw new io.unifiedcache.api.CacheException(
                          FailureCode.REFUSED, "nothing to put");
                    }
                    return super.put(ops, by);
                  }
                }),
        mutant(
            "store.duplicate-in-batch",
            "the second target of a key is forgotten",
            "target 1",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult get(List<GetOp> ops, Deadline by) {
                    Map<ObjectKey, GetOp> byKey = new HashMap<>();
                    List<GetOp> once = new ArrayList<>();
                    for (GetOp op : ops) {
                      boolean again = op.byteSize() > 1 && byKey.putIfAbsent(op.key(), op) != null;
                      once.add(again ? byKey.get(op.key()) : op);
                    }
                    return super.get(once, by);
                  }
                }),
        mutant(
            "store.duplicate-in-batch",
            "the last put of a key in a batch wins",
            "PRESENT",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    BatchResult.Builder result = BatchResult.builder(ops.size());
                    begin(ops.size());
                    for (int i = ops.size() - 1; i >= 0; i--) {
                      put(ops.get(i), result, i);
                    }
                    return result.build();
                  }
                }),
        mutant(
            "store.duplicate-in-batch",
            "a session holds a key once",
            "ABSENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected ReadSession session(
                      List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                    for (int i = 0; i < keys.size(); i++) {
                      if (keys.indexOf(keys.get(i)) < i) {
                        held.set(i, null);
                      }
                    }
                    return super.session(keys, held, opened);
                  }
                }));
  }

  // store.limits

  private static List<Mutant> limits() {
    return List.of(
        mutant(
            "store.limits",
            "a batch may have one entry more than its limit",
            "it returned",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void begin(int entries) {
                    super.begin(entries - 1);
                  }
                }),
        Mutant.ofStore(
            Set.of("store.limits", "store.per-entry"),
            "a batch must have one entry less than its limit",
            "2049 entries",
            () ->
                StoreUnderTest.of(
                    "mutant",
                    () ->
                        new ReferenceStore() {
                          @Override
                          protected void begin(int entries) {
                            super.begin(entries == limits().batch() ? entries + 1 : entries);
                          }
                        })),
        mutant(
            "store.limits",
            "a put that is too large stores its first entries",
            "OK",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    if (ops.size() > limits().batch()) {
                      super.put(ops.subList(0, 3), by);
                    }
                    return super.put(ops, by);
                  }
                }),
        mutant(
            "store.limits",
            "a get that is too large fills its first targets",
            "not 0x5a",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult get(List<GetOp> ops, Deadline by) {
                    if (ops.size() > limits().batch()) {
                      super.get(ops.subList(0, 1), by);
                    }
                    return super.get(ops, by);
                  }
                }),
        refusing(
            "a refusal does not name the limit",
            "name the limit",
            (store, key, pieces, bytes) ->
                store
                    .honest(key, pieces, bytes)
                    .map(failure -> StoreFailure.of(failure.code(), "this is not possible"))),
        refusing(
            "the limit of a key counts letters",
            "REFUSED",
            (store, key, pieces, bytes) ->
                key.value().length() <= store.limits().keyBytes()
                    ? store.honest(new ObjectKey("short"), pieces, bytes)
                    : store.honest(key, pieces, bytes)),
        refusing(
            "a key may not be as long as its limit",
            "FAILED",
            (store, key, pieces, bytes) ->
                key.value().length() == store.limits().keyBytes()
                    ? store.honest(new ObjectKey(key + "x"), pieces, bytes)
                    : store.honest(key, pieces, bytes)),
        refusing(
            "there is no room for an object over the limit",
            "NO_SPACE",
            (store, key, pieces, bytes) ->
                store
                    .honest(key, pieces, bytes)
                    .map(
                        failure ->
                            bytes == store.limits().objectBytes() + 1
                                ? StoreFailure.of(FailureCode.NO_SPACE, "objectBytes")
                                : failure)),
        refusing(
            "an object may have as many pieces as it likes",
            "REFUSED",
            (store, key, pieces, bytes) -> store.honest(key, 1, bytes)),
        mutant(
            "store.limits",
            "an entry with a key that is too long takes the entry behind it along",
            "neighbour",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    BatchResult all = super.put(ops, by);
                    if (ops.size() != 3 || all.status(1) != ObjectStatus.FAILED) {
                      return all;
                    }
                    return BatchResult.builder(3)
                        .set(0, all.status(0))
                        .failed(1, all.failure(1))
                        .failed(2, all.failure(1))
                        .build();
                  }
                }));
  }

  private interface Refusal {
    Optional<StoreFailure> of(Refusing store, ObjectKey key, int pieces, long bytes);
  }

  /** Refuses otherwise than it should. */
  private static final class Refusing extends ReferenceStore {
    private final Refusal refusal;

    Refusing(Refusal refusal) {
      this.refusal = refusal;
    }

    @Override
    protected Optional<StoreFailure> refusal(ObjectKey key, int pieces, long bytes) {
      return refusal.of(this, key, pieces, bytes);
    }

    Optional<StoreFailure> honest(ObjectKey key, int pieces, long bytes) {
      return super.refusal(key, pieces, bytes);
    }
  }

  private static Mutant refusing(String what, String says, Refusal refusal) {
    return mutant("store.limits", what, says, () -> new Refusing(refusal));
  }

  // store.long-sizes

  private static List<Mutant> large() {
    return List.of(
        mutant(
            "store.long-sizes",
            "the size of a target is an int",
            "SIZE_MISMATCH",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void get(GetOp op, BatchResult.Builder result, int i) {
                    Memory first = op.pieces().isEmpty() ? null : op.pieces().getFirst();
                    long bytes = (int) op.byteSize();
                    if (first != null && bytes >= 0 && bytes < op.byteSize()) {
                      super.get(new GetOp(op.key(), List.of(first.slice(0, bytes))), result, i);
                    } else {
                      super.get(op, result, i);
                    }
                  }
                }),
        mutant(
            "store.long-sizes",
            "the size of a put is an int",
            "NO_SPACE",
            () ->
                new ReferenceStore() {
                  @Override
                  protected Optional<StoreFailure> refusal(ObjectKey key, int pieces, long bytes) {
                    int narrow = (int) bytes;
                    return super.refusal(key, pieces, narrow);
                  }
                }),
        ranges(
            "the offset of a range has 32 bits",
            "SIZE_MISMATCH",
            range -> new Range(range.objectOffset() & 0xffff_ffffL, range.target())),
        ranges(
            "the end of a range may run over",
            "an answer",
            range -> {
              if (range.objectOffset() + range.target().byteSize() < 0) {
                throw new IndexOutOfBoundsException("the copy");
              }
              return range;
            }));
  }

  private static Mutant ranges(String what, String says, UnaryOperator<Range> changed) {
    return mutant(
        "store.long-sizes",
        what,
        says,
        () ->
            new ReferenceStore() {
              @Override
              protected ReadSession session(
                  List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
                return new Session(keys, held, opened) {
                  @Override
                  protected void read(ReadOp op, BatchResult.Builder result, int i) {
                    List<Range> ranges = op.ranges().stream().map(changed).toList();
                    super.read(new ReadOp(op.entry(), ranges), result, i);
                  }
                };
              }
            });
  }

  static Mutant mutant(
      String rule, String what, String says, Supplier<? extends CacheStore> store) {
    return Mutant.ofStore(Set.of(rule), what, says, () -> StoreUnderTest.of("mutant", store));
  }
}
