package io.unifiedcache.conformance.store;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.DeviceMemory;
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
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The rules of batches: each entry has its own answer. */
public final class BatchRules {
  private static final int MANY = 10_000;

  /** Enough even where each of the many objects takes a while. */
  private static final Duration LONG = Duration.ofSeconds(100);

  private BatchRules() {}

  @Rule(
      id = "store.per-entry",
      scope = Scope.STORE,
      text =
          "Results follow the request's order and number; one bad entry does not change its"
              + " neighbours; an empty batch is an empty result; 10,000 entries, or the declared"
              + " limit if smaller, work.",
      hint =
          "Set the status of each entry by its place in the request, and go on after an entry that"
              + " fails.")
  static void perEntry(Trial trial) {
    emptyBatches(trial);
    List<Kind> kinds = new ArrayList<>(List.of(Kind.values()));
    kinds.addAll(List.of(Kind.values()));
    kinds.add(Kind.THERE);
    for (int i = 0; i < trial.effort().rounds(20); i++) {
      Attempts.at(trial, "mixed" + i, name -> mixed(trial, name, List.copyOf(kinds)));
      Collections.shuffle(kinds, trial.random());
    }
    Attempts.at(trial, "unusable", name -> unusableMemory(trial, name));
    many(trial);
  }

  private static void emptyBatches(Trial trial) {
    trial.expectEqual(
        "the size of an empty put", 0, trial.store().put(List.of(), trial.soon()).size());
    trial.expectEqual(
        "the size of an empty get", 0, trial.store().get(List.of(), trial.soon()).size());
    trial.expectEqual(
        "the size of an empty exists", 0, trial.store().exists(List.of(), trial.soon()).size());
    if (trial.has(Capability.RANGED_READ)) {
      try (ReadSession session = trial.store().openSession(List.of(), trial.soon())) {
        trial.expectEqual("the size of an empty session", 0, session.opened().size());
        trial.expectEqual(
            "the size of an empty read", 0, session.read(List.of(), trial.soon()).size());
      }
    }
  }

  /** What is the matter with an entry; the bad ones come first. */
  private enum Kind {
    REFUSED,
    WRONG_SIZE,
    ABSENT,
    THERE
  }

  private static void mixed(Trial trial, String name, List<Kind> kinds) {
    long bytes = Math.min(100, trial.limits().objectBytes());
    List<ObjectKey> keys = new ArrayList<>();
    List<PutOp> puts = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    List<Pieces> targets = new ArrayList<>();
    for (int i = 0; i < kinds.size(); i++) {
      Kind kind = kinds.get(i) == Kind.REFUSED && !canBeRefused(trial) ? Kind.ABSENT : kinds.get(i);
      ObjectKey key = trial.key(name + "-" + i);
      keys.add(kind == Kind.REFUSED ? tooLong(trial, key) : key);
      if (kind != Kind.ABSENT) {
        puts.add(new PutOp(keys.get(i), Pieces.of(trial, bytes).fill(new Content(i)).readOnly()));
      }
      targets.add(Pieces.of(trial, kind == Kind.WRONG_SIZE ? bytes + 1 : bytes));
      gets.add(new GetOp(keys.get(i), targets.get(i).writable()));
    }
    BatchResult put = Batches.call(trial, puts, some -> trial.store().put(some, trial.soon()));
    for (int i = 0; i < puts.size(); i++) {
      boolean refused = over(trial, puts.get(i).key());
      expectEntry(trial, "put", put, i, refused ? FailureCode.REFUSED : null, ObjectStatus.OK);
    }
    BatchResult there = Batches.call(trial, keys, some -> trial.store().exists(some, trial.soon()));
    BatchResult got = Batches.call(trial, gets, some -> trial.store().get(some, trial.soon()));
    for (int i = 0; i < keys.size(); i++) {
      boolean refused = over(trial, keys.get(i));
      boolean wrong = kinds.get(i) == Kind.WRONG_SIZE;
      boolean stored = wrong || kinds.get(i) == Kind.THERE;
      ObjectStatus status = stored ? ObjectStatus.OK : ObjectStatus.ABSENT;
      FailureCode refusal = refused ? FailureCode.REFUSED : null;
      expectEntry(trial, "exists", there, i, refusal, status);
      expectEntry(trial, "get", got, i, wrong ? FailureCode.SIZE_MISMATCH : refusal, status);
      if (kinds.get(i) == Kind.THERE) {
        targets.get(i).expectBytes("entry " + i + " of a get", new Content(i), 0);
      } else if (!wrong) {
        targets.get(i).expectUntouched("entry " + i + " of a get, which is " + kinds.get(i));
      }
    }
    if (trial.has(Capability.RANGED_READ)) {
      mixedSession(trial, kinds, keys, bytes);
    }
  }

  private static void mixedSession(
      Trial trial, List<Kind> kinds, List<ObjectKey> keys, long bytes) {
    for (int from = 0; from < keys.size(); ) {
      int to = (int) Math.min(keys.size(), (long) from + trial.limits().batch());
      List<ReadOp> ops = new ArrayList<>();
      List<Pieces> targets = new ArrayList<>();
      for (int i = from; i < to; i++) {
        targets.add(Pieces.of(trial, kinds.get(i) == Kind.WRONG_SIZE ? bytes + 1 : bytes));
        ops.add(
            new ReadOp(i - from, List.of(new Range(0, targets.getLast().writable().getFirst()))));
      }
      try (ReadSession session = trial.store().openSession(keys.subList(from, to), trial.soon())) {
        BatchResult read = session.read(ops, trial.soon());
        for (int i = 0; i < ops.size(); i++) {
          Kind kind = kinds.get(from + i);
          FailureCode refusal = over(trial, keys.get(from + i)) ? FailureCode.REFUSED : null;
          boolean stored = kind == Kind.WRONG_SIZE || kind == Kind.THERE;
          ObjectStatus status = stored ? ObjectStatus.OK : ObjectStatus.ABSENT;
          expectEntry(trial, "open", session.opened(), i, refusal, status);
          expectEntry(
              trial,
              "read",
              read,
              i,
              kind == Kind.WRONG_SIZE ? FailureCode.SIZE_MISMATCH : refusal,
              status);
          if (kind == Kind.THERE) {
            targets.get(i).expectBytes("entry " + i + " of a read", new Content(from + i), 0);
          } else if (kind != Kind.WRONG_SIZE) {
            targets.get(i).expectUntouched("entry " + i + " of a read, which is " + kind);
          }
        }
      }
      from = to;
    }
  }

  private static void expectEntry(
      Trial trial,
      String call,
      BatchResult result,
      int i,
      @Nullable FailureCode failure,
      ObjectStatus status) {
    String what = "entry " + i + " of a " + call + " of mixed entries";
    if (status == ObjectStatus.OK && failure != FailureCode.REFUSED) {
      Attempts.requireThere(what, result, i);
    }
    if (failure == null) {
      trial.expectStatus(what, result, i, status);
    } else {
      trial.expectFailure(what, result, i, failure);
    }
  }

  private static boolean canBeRefused(Trial trial) {
    return trial.limits().keyBytes() <= LimitRules.MOST_KEY_BYTES;
  }

  private static boolean over(Trial trial, ObjectKey key) {
    return key.value().length() > trial.limits().keyBytes();
  }

  private static ObjectKey tooLong(Trial trial, ObjectKey key) {
    int missing = trial.limits().keyBytes() + 1 - key.value().length();
    return new ObjectKey(key.value() + "x".repeat(Math.max(1, missing)));
  }

  /** What is wrong with the memory of an entry. */
  private enum Unusable {
    READ_ONLY {
      @Override
      Memory of(Trial trial, long bytes) {
        return HostMemory.of(trial.memory(bytes).segment().asReadOnly());
      }
    },
    CLOSED_ARENA {
      @Override
      Memory of(Trial trial, long bytes) {
        try (Arena arena = Arena.ofShared()) {
          return HostMemory.of(arena.allocate(bytes, trial.limits().alignment()));
        }
      }
    },
    OF_A_DEVICE {
      @Override
      Memory of(Trial trial, long bytes) {
        return new DeviceMemory("conformance:0", trial.memory(bytes).segment().address(), bytes);
      }
    };

    abstract Memory of(Trial trial, long bytes);
  }

  private static void unusableMemory(Trial trial, String name) {
    long bytes = Math.min(100, trial.limits().objectBytes());
    for (Unusable kind : Unusable.values()) {
      if (kind == Unusable.OF_A_DEVICE && trial.has(Capability.DEVICE_MEMORY)) {
        // Only what the address really is could be told.
        continue;
      }
      List<ObjectKey> keys = trial.keys(name + "-" + kind + "-", 4);
      if (kind != Unusable.READ_ONLY) {
        putUnusable(trial, kind, keys.subList(0, 2), bytes);
      }
      getUnusable(trial, kind, keys.subList(2, 4), bytes);
    }
  }

  private static void putUnusable(Trial trial, Unusable kind, List<ObjectKey> keys, long bytes) {
    List<PutOp> puts =
        List.of(
            new PutOp(keys.get(0), List.of(kind.of(trial, bytes))),
            new PutOp(keys.get(1), Pieces.of(trial, bytes).fill(new Content(1)).readOnly()));
    BatchResult put = Batches.call(trial, puts, some -> trial.store().put(some, trial.soon()));
    String what = "put from memory that is " + kind;
    trial.expectFailure(what, put, 0, FailureCode.REFUSED);
    trial.expectStatus("the entry behind a " + what, put, 1, ObjectStatus.OK);
    BatchResult there = trial.store().exists(keys.subList(0, 1), trial.soon());
    trial.expectStatus("exists after a " + what, there, 0, ObjectStatus.ABSENT);
  }

  private static void getUnusable(Trial trial, Unusable kind, List<ObjectKey> keys, long bytes) {
    Content content = new Content(3);
    keys.forEach(key -> trial.put(trial.store(), key, content, bytes));
    Pieces target = Pieces.of(trial, bytes);
    List<GetOp> gets =
        List.of(
            new GetOp(keys.get(0), List.of(kind.of(trial, bytes))),
            new GetOp(keys.get(1), target.writable()));
    BatchResult got = Batches.call(trial, gets, some -> trial.store().get(some, trial.soon()));
    String what = "get into memory that is " + kind;
    Attempts.requireThere(what, got, 0);
    trial.expectFailure(what, got, 0, FailureCode.REFUSED);
    Attempts.expectOk(trial, "the entry behind a " + what, got, 1);
    target.expectBytes("the entry behind a " + what, content, 0);
    if (!trial.has(Capability.RANGED_READ)) {
      return;
    }
    try (ReadSession session = trial.store().openSession(keys.subList(0, 1), trial.soon())) {
      Attempts.expectOk(trial, "opening an object that was put", session.opened(), 0);
      ReadOp read = new ReadOp(0, List.of(new Range(0, kind.of(trial, bytes))));
      trial.expectFailure(
          "read into memory that is " + kind,
          session.read(List.of(read), trial.soon()),
          0,
          FailureCode.REFUSED);
    }
  }

  private static void many(Trial trial) {
    int most = Math.min(MANY, trial.limits().batch());
    long evicted = trial.store().stats().evicted();
    int[] attempts = {0};
    Attempts.at(
        trial,
        "many",
        name -> {
          // There may be no room for so many at once.
          long now = trial.store().stats().evicted();
          boolean full = now != evicted || now == StoreStats.UNKNOWN;
          many(trial, name, full ? Math.max(1, most >> (3 * attempts[0]++)) : most);
        });
  }

  /** Puts some of many keys, by chance, and gets all. */
  private static void many(Trial trial, String name, int count) {
    long bytes = Math.min(8, trial.limits().objectBytes());
    long stride = Math.max(16, trial.limits().alignment());
    HostMemory memory = trial.memory(count * stride);
    List<ObjectKey> keys = trial.keys(name + "-", count);
    boolean[] chosen = new boolean[count];
    List<PutOp> puts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      chosen[i] = trial.random().nextInt(4) != 0;
      if (chosen[i]) {
        HostMemory source = memory.slice(i * stride, bytes);
        new Content(i).fill(source.segment(), 0);
        puts.add(new PutOp(keys.get(i), List.of(source)));
      }
    }
    BatchResult put = trial.store().put(puts, Deadline.after(LONG));
    for (int i = 0; i < puts.size(); i++) {
      if (trial.has(Capability.BOUNDED)
          && put.status(i) == ObjectStatus.FAILED
          && put.failure(i).code() == FailureCode.NO_SPACE) {
        throw Attempts.gone("room for " + puts.size() + " objects of " + bytes + " bytes");
      }
      trial.expectStatus(entry("put", i, puts.size()), put, i, ObjectStatus.OK);
    }

    memory.segment().fill(Pieces.UNTOUCHED);
    List<GetOp> gets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      gets.add(new GetOp(keys.get(i), List.of(memory.slice(i * stride, bytes))));
    }
    BatchResult there = trial.store().exists(keys, Deadline.after(LONG));
    BatchResult got = trial.store().get(gets, Deadline.after(LONG));
    for (int i = 0; i < count; i++) {
      Memory target = gets.get(i).pieces().getFirst();
      if (chosen[i]) {
        Attempts.expectOk(trial, entry("exists", i, count), there, i);
        Attempts.expectOk(trial, entry("get", i, count), got, i);
        trial.expectBytes(entry("get", i, count), new Content(i), target, 0);
      } else {
        trial.expectStatus(entry("exists", i, count), there, i, ObjectStatus.ABSENT);
        trial.expectStatus(entry("get", i, count), got, i, ObjectStatus.ABSENT);
        trial.expectFilled(entry("get", i, count), Pieces.UNTOUCHED, target);
      }
    }
  }

  private static String entry(String call, int i, int count) {
    return "entry " + i + " of a " + call + " of " + count + " entries";
  }

  @Rule(
      id = "store.duplicate-in-batch",
      scope = Scope.STORE,
      text =
          "The same key twice in one get fills both targets; in one put the first wins; in one"
              + " session each is an entry of its own.",
      hint = "Go through the entries one by one; do not collect them in a map by key.")
  static void duplicateInBatch(Trial trial) {
    if (trial.limits().batch() < 2) {
      throw trial.notApplicable("a batch has one entry at most");
    }
    Attempts.at(trial, "pair", name -> duplicates(trial, name, 2));
    int more = Math.min(50, trial.limits().batch());
    Attempts.at(trial, "more", name -> duplicates(trial, name, more));
  }

  private static void duplicates(Trial trial, String name, int count) {
    ObjectKey key = trial.key(name);
    Content first = new Content(trial.random().nextLong());
    long bytes = Math.min(1000, trial.limits().objectBytes());
    List<PutOp> puts = new ArrayList<>();
    puts.add(new PutOp(key, Pieces.of(trial, bytes).fill(first).readOnly()));
    while (puts.size() < count) {
      // Some of another size than the first.
      long other = Math.max(1, bytes - puts.size() % 2);
      puts.add(new PutOp(key, Pieces.of(trial, other).fill(new Content(puts.size())).readOnly()));
    }
    BatchResult put = trial.store().put(puts, trial.soon());
    trial.expectStatus("the first put of a key in a batch", put, 0, ObjectStatus.OK);
    for (int i = 1; i < count; i++) {
      trial.expectStatus(
          "put " + i + " of one key in a batch", put, i, ObjectStatus.OK, ObjectStatus.PRESENT);
    }

    List<Pieces> targets = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      targets.add(Pieces.of(trial, bytes));
      gets.add(new GetOp(key, targets.get(i).writable()));
    }
    BatchResult there = trial.store().exists(Collections.nCopies(count, key), trial.soon());
    BatchResult got = trial.store().get(gets, trial.soon());
    for (int i = 0; i < count; i++) {
      Attempts.expectOk(trial, "exists " + i + " of one key in a batch", there, i);
      Attempts.expectOk(trial, "get " + i + " of one key in a batch", got, i);
      targets.get(i).expectBytes("target " + i + " of one key in a batch", first, 0);
    }
    if (trial.has(Capability.RANGED_READ)) {
      duplicatesInSession(trial, key, first, bytes, count);
    }
  }

  private static void duplicatesInSession(
      Trial trial, ObjectKey key, Content content, long bytes, int count) {
    List<Pieces> targets = new ArrayList<>();
    List<ReadOp> reads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      targets.add(Pieces.of(trial, bytes));
      reads.add(new ReadOp(i, List.of(new Range(0, targets.get(i).writable().getFirst()))));
    }
    try (ReadSession session =
        trial.store().openSession(Collections.nCopies(count, key), trial.soon())) {
      BatchResult read = session.read(reads, trial.soon());
      for (int i = 0; i < count; i++) {
        Attempts.expectOk(trial, "entry " + i + " of a session", session.opened(), i);
        trial.expectStatus("read " + i + " of one key", read, i, ObjectStatus.OK);
        targets.get(i).expectBytes("read " + i + " of one key", content, 0);
      }
    }
  }
}
