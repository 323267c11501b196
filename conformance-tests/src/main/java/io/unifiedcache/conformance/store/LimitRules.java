package io.unifiedcache.conformance.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** The rule of limits: at each it works, and over each it is refused. */
public final class LimitRules {
  /** Limits beyond these are not met by a request that one would make. */
  static final int MOST_KEY_BYTES = 1 << 20;

  private static final int MOST_ENTRIES = 1 << 17;
  private static final int MOST_PIECES = 1 << 17;
  private static final long MOST_BYTES = 16 << 20;

  private LimitRules() {}

  @Rule(
      id = "store.limits",
      scope = Scope.STORE,
      text =
          "A call with too many entries is refused whole and touches nothing; a key, object or"
              + " piece count over its limit is FAILED with REFUSED for that entry, naming the"
              + " limit, and its neighbours proceed; at each limit it works.",
      hint =
          "Count the entries before the first of them is served, and hold each entry against every"
              + " limit before its memory is read.")
  static void limits(Trial trial) {
    if (trial.limits().batch() <= MOST_ENTRIES) {
      Attempts.at(trial, "over", name -> batchOverLimit(trial, name));
      Attempts.at(trial, "batch", name -> batchAtLimit(trial, name));
    } else {
      trial.note("the limit of a batch is out of reach");
    }
    if (trial.limits().keyBytes() <= MOST_KEY_BYTES) {
      Attempts.at(trial, "key", name -> keys(trial, name));
    } else {
      trial.note("the limit of keyBytes is out of reach");
    }
    if (trial.limits().objectBytes() <= MOST_BYTES) {
      Attempts.at(trial, "object", name -> objectAtLimit(trial, name));
    } else {
      trial.note("the limit of objectBytes is out of reach, but from above");
    }
    Attempts.at(trial, "large", name -> objectOverLimit(trial, name));
    if (trial.limits().pieces() <= MOST_PIECES) {
      Attempts.at(trial, "pieces", name -> pieces(trial, name));
    } else {
      trial.note("the limit of pieces is out of reach");
    }
  }

  // Entries.

  private static void batchOverLimit(Trial trial, String name) {
    int count = trial.limits().batch() + 1;
    CacheStore store = trial.store();
    ObjectKey there = trial.key(name);
    trial.put(store, there, new Content(1), 1);
    List<ObjectKey> keys = trial.keys(name + "-", count);
    String call = " of " + count + " entries, where the limit of a batch is " + (count - 1);

    trial.expectRefused(
        "exists" + call, FailureCode.REFUSED, () -> store.exists(keys, trial.soon()));
    List<Memory> source = List.of(trial.memory(1, new Content(1)));
    List<PutOp> puts = keys.stream().map(key -> new PutOp(key, source)).toList();
    trial.expectRefused("put" + call, FailureCode.REFUSED, () -> store.put(puts, trial.soon()));
    BatchResult exists = Batches.call(trial, keys, some -> store.exists(some, trial.soon()));
    for (int i = 0; i < count; i++) {
      trial.expectStatus("exists after a put that was refused", exists, i, ObjectStatus.ABSENT);
    }
    Pieces target = Pieces.of(trial, 1);
    List<GetOp> gets = Collections.nCopies(count, new GetOp(there, target.writable()));
    trial.expectRefused("get" + call, FailureCode.REFUSED, () -> store.get(gets, trial.soon()));
    target.expectUntouched("a get" + call);
    if (trial.has(Capability.RANGED_READ)) {
      trial.expectRefused(
          "openSession" + call, FailureCode.REFUSED, () -> store.openSession(keys, trial.soon()));
    }
    if (trial.has(Capability.REMOVE)) {
      List<ObjectKey> all = Collections.nCopies(count, there);
      trial.expectRefused(
          "remove" + call,
          FailureCode.REFUSED,
          () -> store.remove(all, /* evenIfLeased= */ true, trial.soon()));
    }
    BatchResult kept = store.exists(List.of(there), trial.soon());
    Attempts.expectOk(trial, "exists after calls that were refused", kept, 0);
  }

  private static void batchAtLimit(Trial trial, String name) {
    int count = trial.limits().batch();
    String call = " of " + count + " entries, which is the limit";
    List<ObjectKey> absent = trial.keys(name + "-absent-", count);
    BatchResult exists = trial.store().exists(absent, trial.soon());
    for (int i = 0; i < count; i++) {
      trial.expectStatus("exists" + call, exists, i, ObjectStatus.ABSENT);
    }
    long stride = Math.max(16, trial.limits().alignment());
    if (count * stride > MOST_BYTES) {
      return;
    }
    // Few objects, each of them many times.
    List<ObjectKey> keys = trial.keys(name + "-", 10);
    Content content = new Content(1);
    HostMemory source = trial.memory(1, content);
    HostMemory memory = trial.memory(count * stride);
    List<PutOp> puts = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      puts.add(new PutOp(keys.get(i % 10), List.of(source)));
      gets.add(new GetOp(keys.get(i % 10), List.of(memory.slice(i * stride, 1))));
    }
    BatchResult put = trial.store().put(puts, trial.soon());
    for (int i = 0; i < count; i++) {
      trial.expectStatus("put" + call, put, i, ObjectStatus.OK, ObjectStatus.PRESENT);
    }
    BatchResult got = trial.store().get(gets, trial.soon());
    for (int i = 0; i < count; i++) {
      Attempts.expectOk(trial, "get" + call, got, i);
      trial.expectBytes("get" + call, content, gets.get(i).pieces().getFirst(), 0);
    }
  }

  // Keys.

  private static void keys(Trial trial, String name) {
    int limit = trial.limits().keyBytes();
    serves(trial, padded(trial, name + "-", "k", limit), 1, 1, /* mayRefuse= */ false);
    // The limit counts bytes, not letters.
    serves(trial, padded(trial, name + "-", "\u00e9", limit), 1, 1, /* mayRefuse= */ true);
    refuses(trial, name, padded(trial, name + "-", "k", limit + 1L), "keyBytes", limit, 1, 1);
    BatchResult wide =
        trial
            .store()
            .exists(List.of(padded(trial, name + "-", "\u00e9", limit + 1L)), trial.soon());
    trial.expectFailure(
        "exists of a key of fewer letters than the limit, but of more bytes",
        wide,
        0,
        FailureCode.REFUSED);
  }

  /** Returns a key of so many bytes, as far as letters of two bytes allow. */
  private static ObjectKey padded(Trial trial, String name, String letter, long bytes) {
    String begin = trial.key(name).value();
    int width = letter.getBytes(StandardCharsets.UTF_8).length;
    int missing = Math.toIntExact(bytes) - begin.length();
    return new ObjectKey(
        begin + "-".repeat(Math.floorMod(missing, width)) + letter.repeat(missing / width));
  }

  // Bytes.

  private static void objectAtLimit(Trial trial, String name) {
    serves(trial, trial.key(name), trial.limits().objectBytes(), 1, /* mayRefuse= */ false);
  }

  /** Needs no memory for the object: its pieces are one piece over and over. */
  private static void objectOverLimit(Trial trial, String name) {
    long limit = trial.limits().objectBytes();
    long pieces = Math.min(trial.limits().pieces(), MOST_PIECES);
    if (limit == Long.MAX_VALUE || limit / pieces >= MOST_BYTES) {
      trial.note("there is no memory for an object over the limit of objectBytes");
      return;
    }
    refuses(
        trial, name, trial.key(name), "objectBytes", limit, limit + 1, Math.min(pieces, limit + 1));
  }

  // Pieces and ranges.

  private static void pieces(Trial trial, String name) {
    int limit = trial.limits().pieces();
    long bytes = limit + 1L;
    boolean fits =
        bytes <= trial.limits().objectBytes()
            && 3 * trial.limits().alignment() * bytes <= 2 * MOST_BYTES;
    serves(trial, trial.key(name + "-at"), fits ? limit : 1, limit, /* mayRefuse= */ false);
    if (bytes <= trial.limits().objectBytes()) {
      refuses(trial, name, trial.key(name + "-over"), "pieces", limit, bytes, bytes);
    }
    if (!fits) {
      return;
    }
    ObjectKey key = trial.key(name + "-whole");
    Content content = new Content(3);
    trial.put(trial.store(), key, content, bytes);
    Pieces over = Pieces.of(trial, ones(bytes));
    BatchResult got = trial.store().get(List.of(new GetOp(key, over.writable())), trial.soon());
    Attempts.requireThere("get into too many pieces", got, 0);
    expectNamed(trial, "get into " + bytes + " pieces", got, 0, "pieces", limit);
    over.expectUntouched("a get into too many pieces");
    if (trial.has(Capability.RANGED_READ)) {
      ranges(trial, key, content, limit);
    }
  }

  private static void ranges(Trial trial, ObjectKey key, Content content, int limit) {
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      Attempts.expectOk(trial, "opening an object", session.opened(), 0);
      Pieces at = Pieces.of(trial, ones(limit));
      BatchResult read = session.read(List.of(new ReadOp(0, inOrder(at))), trial.soon());
      trial.expectStatus("read of " + limit + " ranges, the limit", read, 0, ObjectStatus.OK);
      at.expectBytes("a read of " + limit + " ranges", content, 0);
      Pieces over = Pieces.of(trial, ones(limit + 1L));
      BatchResult refused = session.read(List.of(new ReadOp(0, inOrder(over))), trial.soon());
      expectNamed(trial, "read of too many ranges", refused, 0, "pieces", limit);
      over.expectUntouched("a read of too many ranges");
    }
  }

  private static List<Range> inOrder(Pieces pieces) {
    List<Range> ranges = new ArrayList<>();
    long offset = 0;
    for (Memory piece : pieces.writable()) {
      ranges.add(new Range(offset, piece));
      offset += piece.byteSize();
    }
    return ranges;
  }

  private static long[] ones(long count) {
    long[] sizes = new long[Math.toIntExact(count)];
    Arrays.fill(sizes, 1);
    return sizes;
  }

  // Any of them.

  /** Expects that an object at a limit is stored and read. */
  private static void serves(Trial trial, ObjectKey key, long bytes, int count, boolean mayRefuse) {
    Content content = new Content(2);
    long[] sizes = new long[count];
    for (int i = 0; i < count; i++) {
      sizes[i] = i == 0 ? bytes - Math.min(bytes, count) + 1 : i < bytes ? 1 : 0;
    }
    String what =
        "of %d bytes in %d pieces under a key of %d characters, which is within the limits"
            .formatted(bytes, count, key.value().length());
    BatchResult put =
        trial
            .store()
            .put(
                List.of(new PutOp(key, Pieces.of(trial, sizes).fill(content).readOnly())),
                trial.soon());
    if (isFailure(put, FailureCode.NO_SPACE) && trial.has(Capability.BOUNDED)) {
      trial.note("there is no room for an object " + what);
      return;
    }
    if (isFailure(put, FailureCode.REFUSED) && mayRefuse) {
      return;
    }
    trial.expectStatus("put " + what, put, 0, ObjectStatus.OK);
    Pieces target = Pieces.of(trial, sizes);
    BatchResult got = trial.store().get(List.of(new GetOp(key, target.writable())), trial.soon());
    Attempts.expectOk(trial, "get " + what, got, 0);
    target.expectBytes("the object " + what, content, 0);
  }

  private static boolean isFailure(BatchResult result, FailureCode code) {
    return result.status(0) == ObjectStatus.FAILED && result.failure(0).code() == code;
  }

  /** Expects that a put over a limit is refused by name while its neighbours proceed. */
  private static void refuses(
      Trial trial, String name, ObjectKey key, String limit, long most, long bytes, long count) {
    long each = (bytes + count - 1) / count;
    HostMemory piece = trial.memory(each);
    List<Memory> pieces =
        new ArrayList<>(Collections.nCopies(Math.toIntExact(bytes / each), piece));
    if (bytes % each > 0) {
      pieces.add(piece.slice(0, bytes % each));
    }
    List<ObjectKey> keys =
        List.of(trial.key(name + "-left-" + limit), key, trial.key(name + "-right-" + limit));
    Content content = new Content(4);
    List<PutOp> puts =
        List.of(
            new PutOp(keys.get(0), List.of(trial.memory(1, content))),
            new PutOp(key, pieces),
            new PutOp(keys.get(2), List.of(trial.memory(1, content))));
    BatchResult put = Batches.call(trial, puts, some -> trial.store().put(some, trial.soon()));
    BatchResult exists =
        Batches.call(trial, keys, some -> trial.store().exists(some, trial.soon()));

    String what = "put over the limit of " + limit + ", which is " + most;
    expectNamed(trial, what, put, 1, limit, most);
    if (key.value().getBytes(StandardCharsets.UTF_8).length > trial.limits().keyBytes()) {
      expectNamed(trial, "exists of a key that is too long", exists, 1, limit, most);
    } else {
      trial.expectStatus("exists after a " + what, exists, 1, ObjectStatus.ABSENT);
    }
    for (int i : new int[] {0, 2}) {
      trial.expectStatus(
          "the neighbour of a " + what, put, i, ObjectStatus.OK, ObjectStatus.PRESENT);
      Attempts.expectOk(trial, "exists of the neighbour of a " + what, exists, i);
    }
  }

  private static void expectNamed(
      Trial trial, String what, BatchResult result, int i, String limit, long most) {
    trial.expectFailure(what, result, i, FailureCode.REFUSED);
    String message = result.failure(i).message();
    String digits = message.replaceAll("(?<=\\d)[,._' ](?=\\d)", "");
    trial.expect(
        digits.contains(Long.toString(most))
            || message.contains(new ByteSize(most).toString())
            || message.toLowerCase(Locale.ROOT).contains(limit.toLowerCase(Locale.ROOT)),
        what + " to name the limit",
        () -> "\"" + message + "\"");
  }
}
