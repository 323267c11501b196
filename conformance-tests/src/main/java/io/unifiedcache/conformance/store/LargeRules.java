package io.unifiedcache.conformance.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** The rule of sizes that do not fit in an {@code int}. */
public final class LargeRules {
  private static final long TWO_GIB = 1L << 31;
  private static final long FOUR_GIB = 1L << 32;

  /** How much of large memory is looked at, from its beginning and from each power of two. */
  private static final long WINDOW = 64 << 10;

  private LargeRules() {}

  @Rule(
      id = "store.long-sizes",
      scope = Scope.STORE,
      text = "Arithmetic on sizes, offsets and totals is exact past 2^31 and 2^32.",
      hint =
          "Look for casts to int, int loop variables and sums of int where sizes, offsets and"
              + " totals are added up; a sum near 2^63 may run over.")
  static void longSizes(Trial trial) {
    long bytes = Math.min(100, trial.limits().objectBytes());
    Optional<HostMemory> sparse = Sparse.memory(FOUR_GIB + WINDOW);
    if (sparse.isEmpty()) {
      trial.note("there is no memory of 4 GiB, not even a sparse file");
    }
    Attempts.at(
        trial,
        "small",
        name -> {
          ObjectKey key = trial.key(name);
          Content content = new Content(trial.random().nextLong());
          trial.put(trial.store(), key, content, bytes);
          sparse.ifPresent(memory -> largeTargets(trial, key, bytes, memory));
          if (trial.has(Capability.RANGED_READ)) {
            farRanges(trial, key, bytes);
          }
          HostMemory target = trial.memory(bytes);
          BatchResult got =
              trial.store().get(List.of(new GetOp(key, List.of(target))), trial.soon());
          Attempts.expectOk(trial, "get of the small object", got, 0);
          trial.expectBytes("the small object", content, target, 0);
        });
    sparse.ifPresent(memory -> largeSources(trial, bytes, memory));
    if (trial.effort().large()) {
      largeObject(trial, TWO_GIB + 4097);
      largeObject(trial, FOUR_GIB + 4097);
    }
  }

  /** Targets whose size, as an {@code int}, is that of the object or negative. */
  private static void largeTargets(Trial trial, ObjectKey key, long bytes, HostMemory sparse) {
    expectMismatch(trial, key, List.of(sparse.slice(0, FOUR_GIB + bytes)), sparse);
    expectMismatch(trial, key, List.of(sparse.slice(0, TWO_GIB + bytes)), sparse);
    if (trial.limits().pieces() >= 3) {
      Memory half = sparse.slice(0, TWO_GIB);
      expectMismatch(trial, key, List.of(half, half, sparse.slice(TWO_GIB, bytes)), sparse);
      expectMismatch(trial, key, List.of(sparse.slice(TWO_GIB, bytes), half, half), sparse);
    }
  }

  private static void expectMismatch(
      Trial trial, ObjectKey key, List<Memory> pieces, HostMemory sparse) {
    GetOp op = new GetOp(key, pieces);
    String what = "get of a small object into %d bytes".formatted(op.byteSize());
    BatchResult got = trial.store().get(List.of(op), trial.soon());
    Attempts.requireThere(what, got, 0);
    if (op.byteSize() > trial.limits().objectBytes()) {
      trial.expectFailure(what, got, 0, FailureCode.SIZE_MISMATCH, FailureCode.REFUSED);
    } else {
      trial.expectFailure(what, got, 0, FailureCode.SIZE_MISMATCH);
    }
    for (long from : new long[] {0, TWO_GIB, FOUR_GIB}) {
      // What lies within the object's length may have been written.
      long begin = from == 0 ? 128 : from;
      trial.expectFilled(
          "the target of a " + what, (byte) 0, sparse.slice(begin, from + WINDOW - begin));
    }
  }

  /** Ranges that lie far past the end of the object. */
  private static void farRanges(Trial trial, ObjectKey key, long bytes) {
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      Attempts.expectOk(trial, "opening the small object", session.opened(), 0);
      for (long offset :
          new long[] {
            TWO_GIB, TWO_GIB + 1, FOUR_GIB, FOUR_GIB + 1, 3 * FOUR_GIB, Long.MAX_VALUE - bytes / 2
          }) {
        Pieces target = Pieces.of(trial, bytes);
        BatchResult read =
            session.read(
                List.of(new ReadOp(0, List.of(new Range(offset, target.writable().getFirst())))),
                trial.soon());
        String what = "read of a range at " + offset + " of an object of " + bytes + " bytes";
        trial.expectFailure(what, read, 0, FailureCode.SIZE_MISMATCH);
        target.expectUntouched("a " + what);
      }
    }
  }

  /** Puts whose size, as an {@code int}, is small: over the limit of an object or the budget. */
  private static void largeSources(Trial trial, long bytes, HostMemory sparse) {
    long budget = trial.has(Capability.BOUNDED) ? trial.store().stats().capacityBytes() : -1;
    for (long size : new long[] {TWO_GIB + bytes, FOUR_GIB + bytes, 2 * FOUR_GIB + bytes}) {
      boolean over = size > trial.limits().objectBytes();
      if (!over && (budget == StoreStats.UNKNOWN || size <= budget)) {
        continue;
      }
      List<Memory> pieces =
          new ArrayList<>(Collections.nCopies((int) (size / FOUR_GIB), sparse.slice(0, FOUR_GIB)));
      pieces.add(sparse.slice(0, size % FOUR_GIB));
      if (pieces.size() > trial.limits().pieces()) {
        continue;
      }
      ObjectKey key = trial.key("large-" + size);
      BatchResult put = trial.store().put(List.of(new PutOp(key, pieces)), trial.soon());
      String what = "put of " + size + " bytes";
      trial.expectFailure(what, put, 0, over ? FailureCode.REFUSED : FailureCode.NO_SPACE);
      BatchResult exists = trial.store().exists(List.of(key), trial.soon());
      trial.expectStatus("exists after a " + what, exists, 0, ObjectStatus.ABSENT);
    }
  }

  // With the memory for it.

  private static void largeObject(Trial trial, long bytes) {
    if (bytes > trial.limits().objectBytes()) {
      trial.note("an object of " + bytes + " bytes is over the limit");
      return;
    }
    ObjectKey key = trial.key("object-" + bytes);
    Content content = new Content(bytes);
    HostMemory memory;
    try {
      memory = trial.memory(bytes, content);
    } catch (OutOfMemoryError e) {
      trial.note(
          "there is no memory for an object of %d bytes; see -XX:MaxDirectMemorySize"
              .formatted(bytes));
      return;
    }
    List<Memory> whole = List.of(memory);
    BatchResult put =
        trial.store().put(List.of(new PutOp(key, whole)), io.unifiedcache.api.Deadline.never());
    if (put.status(0) == ObjectStatus.FAILED && put.failure(0).code() == FailureCode.NO_SPACE) {
      trial.note("there is no room for an object of " + bytes + " bytes");
      return;
    }
    trial.expectStatus("put of " + bytes + " bytes", put, 0, ObjectStatus.OK);
    List<Memory> halves =
        List.of(memory.slice(0, bytes / 2), memory.slice(bytes / 2, bytes - bytes / 2));
    for (List<Memory> pieces :
        trial.limits().pieces() < 2 || trial.limits().alignment() > 1
            ? List.of(whole)
            : Arrays.asList(whole, halves)) {
      memory.segment().fill((byte) 0);
      BatchResult got =
          trial.store().get(List.of(new GetOp(key, pieces)), io.unifiedcache.api.Deadline.never());
      trial.expectStatus("get of " + bytes + " bytes", got, 0, ObjectStatus.OK);
      trial.expectBytes("an object of " + bytes + " bytes", content, memory, 0);
    }
    if (trial.has(Capability.RANGED_READ)) {
      endOf(trial, key, content, bytes);
    }
    if (trial.has(Capability.REMOVE)) {
      BatchResult removed =
          trial.store().remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
      trial.expectStatus("remove of " + bytes + " bytes", removed, 0, ObjectStatus.OK);
    }
  }

  private static void endOf(Trial trial, ObjectKey key, Content content, long bytes) {
    Pieces target = Pieces.of(trial, 4097);
    long offset = bytes - 4097;
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      BatchResult read =
          session.read(
              List.of(new ReadOp(0, List.of(new Range(offset, target.writable().getFirst())))),
              trial.soon());
      trial.expectStatus("read at " + offset, read, 0, ObjectStatus.OK);
      target.expectBytes("a read at " + offset, content, offset);
    }
  }
}
