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
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The rules of one object: what is put is what is read. */
public final class ObjectRules {
  private static final long[] SIZES = {1, 4095, 4096, 4097, 64 << 10, (1 << 20) + 1, 3_333_333};

  private ObjectRules() {}

  @Rule(
      id = "store.roundtrip",
      scope = Scope.STORE,
      text =
          "A get returns the bytes that were put: sizes of 1, 4095, 4096, 4097, 64 Ki, 1 Mi + 1 and"
              + " several Mi; gathered from and scattered into any split of pieces, empty pieces"
              + " included; any alignment; read-only sources.",
      hint =
          "Copy as many bytes as each piece has, from its own address on, and keep no reference to"
              + " the memory of a put once it has returned.")
  static void roundtrip(Trial trial) {
    for (long bytes : SIZES) {
      if (bytes <= trial.limits().objectBytes()) {
        roundtrip(trial, "whole" + bytes, new long[] {bytes}, new long[] {bytes});
        roundtrip(trial, "split" + bytes, Pieces.split(trial, bytes), Pieces.split(trial, bytes));
      }
    }
    for (int i = 0; i < trial.effort().rounds(150); i++) {
      long most = Math.min(trial.limits().objectBytes(), 1L << trial.random().nextInt(18));
      long bytes = 1 + trial.random().nextLong(most);
      roundtrip(trial, "round" + i, Pieces.split(trial, bytes), Pieces.split(trial, bytes));
    }
    Attempts.at(trial, "at-once", name -> wholeAtOnce(trial, name));
  }

  private static final long SAMPLED = 8;
  private static final long STRIDE = 32 << 10;

  /** A store that copies with several threads waits for all of them. */
  private static void wholeAtOnce(Trial trial, String name) {
    long bytes = Math.min(trial.limits().objectBytes(), 2 << 20);
    List<ObjectKey> keys = trial.keys(name + "-", Math.min(3, trial.limits().batch()));
    Content content = new Content(trial.random().nextLong());
    List<HostMemory> targets = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    for (ObjectKey key : keys) {
      trial.put(trial.store(), key, content, bytes);
      targets.add(trial.memory(bytes));
      gets.add(new GetOp(key, List.of(targets.getLast())));
    }
    for (int i = 0; i < trial.effort().rounds(100); i++) {
      targets.forEach(target -> target.segment().fill((byte) 0));
      BatchResult got = trial.store().get(gets, trial.soon());
      Optional<String> missing = Optional.empty();
      for (int j = targets.size() - 1; j >= 0 && missing.isEmpty(); j--) {
        missing = sampled(targets.get(j).segment(), content);
      }
      for (int j = 0; j < targets.size(); j++) {
        Attempts.expectOk(trial, "get of large objects", got, j);
      }
      String found = missing.orElse("");
      trial.expect(found.isEmpty(), "every byte to be there as soon as a get returns", () -> found);
    }
  }

  /** Looks at few bytes, from the end on, and so quickly. */
  private static Optional<String> sampled(MemorySegment target, Content content) {
    for (long at = target.byteSize() - SAMPLED; at >= 0; at -= STRIDE) {
      Optional<String> missing = content.difference(target.asSlice(at, SAMPLED), at);
      if (missing.isPresent()) {
        return missing;
      }
    }
    return Optional.empty();
  }

  private static void roundtrip(Trial trial, String name, long[] from, long[] into) {
    Content content = new Content(trial.random().nextLong());
    Attempts.at(
        trial,
        name,
        key -> {
          Pieces source = Pieces.of(trial, from).fill(content);
          BatchResult put =
              trial
                  .store()
                  .put(List.of(new PutOp(trial.key(key), source.readOnly())), trial.soon());
          trial.expectStatus("put of " + sizes(from), put, 0, ObjectStatus.OK);
          // The memory is the caller's again.
          source.reset();
          expectObject(trial, trial.key(key), content, into);
        });
  }

  private static void expectObject(Trial trial, ObjectKey key, Content content, long... sizes) {
    Pieces target = Pieces.of(trial, sizes);
    String what = "get into " + sizes(sizes);
    Attempts.expectOk(trial, what, get(trial, key, target.writable()), 0);
    target.expectBytes(what, content, 0);
  }

  private static BatchResult get(Trial trial, ObjectKey key, List<Memory> pieces) {
    return trial.store().get(List.of(new GetOp(key, pieces)), trial.soon());
  }

  private static String sizes(long[] sizes) {
    return "pieces of " + Arrays.toString(sizes) + " bytes";
  }

  @Rule(
      id = "store.absent",
      scope = Scope.STORE,
      text =
          "An absent object is ABSENT, never FAILED and never zero bytes; nothing is written to the"
              + " target.",
      hint = "Find out that the object is missing before the target is touched.")
  static void absent(Trial trial) {
    // Neighbours of the absent ones, which are not what is asked for.
    trial.put(trial.store(), trial.key("there"), new Content(1), 1);
    for (String name : List.of("never-put", "ther", "there-too")) {
      ObjectKey key = trial.key(name);
      BatchResult exists = trial.store().exists(List.of(key), trial.soon());
      trial.expectStatus("exists of a key that was never put", exists, 0, ObjectStatus.ABSENT);
      for (long bytes : new long[] {0, 1, Math.min(4096, trial.limits().objectBytes())}) {
        Pieces target = Pieces.of(trial, bytes);
        BatchResult got = get(trial, key, target.writable());
        trial.expectStatus(
            "get of a key that was never put, into " + bytes + " bytes",
            got,
            0,
            ObjectStatus.ABSENT);
        target.expectUntouched("a get of an absent object");
      }
      BatchResult got = get(trial, key, List.of());
      trial.expectStatus(
          "get of a key that was never put, into no piece", got, 0, ObjectStatus.ABSENT);
      if (trial.has(Capability.RANGED_READ)) {
        absentInSession(trial, key);
      }
    }
  }

  private static void absentInSession(Trial trial, ObjectKey key) {
    try (ReadSession session = trial.store().openSession(List.of(key), trial.soon())) {
      trial.expectStatus(
          "opening a key that was never put", session.opened(), 0, ObjectStatus.ABSENT);
      Pieces target = Pieces.of(trial, 1);
      BatchResult read =
          session.read(
              List.of(new ReadOp(0, List.of(new Range(0, target.writable().getFirst())))),
              trial.soon());
      trial.expectStatus("read of a key that was never put", read, 0, ObjectStatus.ABSENT);
      target.expectUntouched("a read of an absent object");
    }
  }

  @Rule(
      id = "store.empty-object",
      scope = Scope.STORE,
      text =
          "An object of zero bytes is stored and read back, or refused with a code; never stored"
              + " and then absent.",
      hint = "Keep the length of an object apart from whether there is one.")
  static void emptyObject(Trial trial) {
    emptyObject(trial, "no-piece");
    emptyObject(trial, "one-piece", 0);
    if (trial.limits().pieces() >= 3) {
      emptyObject(trial, "three-pieces", 0, 0, 0);
    }
  }

  private static void emptyObject(Trial trial, String name, long... sizes) {
    Attempts.at(
        trial,
        name,
        attempt -> {
          ObjectKey key = trial.key(attempt);
          BatchResult put =
              trial
                  .store()
                  .put(List.of(new PutOp(key, Pieces.of(trial, sizes).readOnly())), trial.soon());
          trial.expectStatus("put of no bytes", put, 0, ObjectStatus.OK, ObjectStatus.FAILED);
          BatchResult exists = trial.store().exists(List.of(key), trial.soon());
          if (!put.isOk(0)) {
            trial.note("an empty object is refused: " + put.failure(0).message());
            trial.expectStatus(
                "exists of an empty object that was refused", exists, 0, ObjectStatus.ABSENT);
            return;
          }
          Attempts.expectOk(trial, "exists of an empty object that was stored", exists, 0);
          Attempts.expectOk(
              trial,
              "get of an empty object into " + sizes(sizes),
              get(trial, key, Pieces.of(trial, sizes).writable()),
              0);
          Attempts.expectOk(
              trial, "get of an empty object into no piece", get(trial, key, List.of()), 0);
          Pieces larger = Pieces.of(trial, 1);
          BatchResult got = get(trial, key, larger.writable());
          Attempts.requireThere("get of an empty object into one byte", got, 0);
          trial.expectFailure(
              "get of an empty object into one byte", got, 0, FailureCode.SIZE_MISMATCH);
          larger.expectUntouched("a get of an empty object into one byte");
        });
  }

  @Rule(
      id = "store.size-exact",
      scope = Scope.STORE,
      text =
          "A target larger or smaller than the object is SIZE_MISMATCH, and bytes outside the"
              + " object's length are not touched.",
      hint = "Compare the size of the object with the sum of the pieces before the first copy.")
  static void sizeExact(Trial trial) {
    long most = trial.limits().objectBytes();
    for (long bytes : new long[] {1, 4096, 5000}) {
      if (2 * bytes <= most) {
        Attempts.at(trial, "of" + bytes, name -> sizeExact(trial, trial.key(name), bytes));
      }
    }
  }

  private static void sizeExact(Trial trial, ObjectKey key, long bytes) {
    Content content = new Content(trial.random().nextLong());
    trial.put(trial.store(), key, content, bytes);
    for (long wrong : new long[] {0, 1, bytes - 1, bytes + 1, bytes + 64, 2 * bytes}) {
      if (wrong != bytes) {
        expectMismatch(trial, key, bytes, wrong);
        expectMismatch(trial, key, bytes, Pieces.split(trial, wrong));
      }
    }
    expectObject(trial, key, content, bytes);
  }

  private static void expectMismatch(Trial trial, ObjectKey key, long bytes, long... sizes) {
    String what = "a get of " + bytes + " bytes into " + sizes(sizes);
    Pieces target = Pieces.of(trial, sizes);
    BatchResult got = get(trial, key, target.writable());
    Attempts.requireThere(what, got, 0);
    if (Arrays.stream(sizes).sum() == 0) {
      // A store that has no empty objects may refuse it as one.
      trial.expectFailure(what, got, 0, FailureCode.SIZE_MISMATCH, FailureCode.REFUSED);
    } else {
      trial.expectFailure(what, got, 0, FailureCode.SIZE_MISMATCH);
    }
    target.expectUntouchedFrom(what, bytes);
  }

  @Rule(
      id = "store.groups",
      scope = Scope.STORE,
      text =
          "Objects put with a group hint are stored and read like any other; a store may ignore the"
              + " hint.",
      hint = "Let the hint decide where an object goes at most, never what its key or bytes are.")
  static void groups(Trial trial) {
    List<Optional<String>> hints =
        List.of(
            Optional.empty(),
            Optional.of("group"),
            Optional.of("group"),
            Optional.of("Group"),
            Optional.of(""),
            Optional.of("../a b/\u00e9\ud83d\ude00"),
            Optional.of("long".repeat(250)));
    long bytes = Math.min(1000, trial.limits().objectBytes());
    Attempts.at(
        trial,
        "in",
        name -> {
          List<ObjectKey> keys = trial.keys(name + "-", hints.size());
          List<PutOp> ops = new ArrayList<>();
          for (int i = 0; i < hints.size(); i++) {
            ops.add(new PutOp(keys.get(i), source(trial, i, bytes), hints.get(i)));
          }
          BatchResult put = Batches.call(trial, ops, some -> trial.store().put(some, trial.soon()));
          for (int i = 0; i < hints.size(); i++) {
            trial.expectStatus("put in group " + hints.get(i), put, i, ObjectStatus.OK);
          }
          // A hint given with a key that is there changes nothing, nor is one needed to read.
          BatchResult again =
              trial
                  .store()
                  .put(
                      List.of(
                          new PutOp(
                              keys.getFirst(), source(trial, -1, bytes), Optional.of("other"))),
                      trial.soon());
          trial.expectStatus(
              "put of a key that is there, in another group",
              again,
              0,
              ObjectStatus.OK,
              ObjectStatus.PRESENT);
          for (int i = 0; i < hints.size(); i++) {
            expectObject(trial, keys.get(i), new Content(i), bytes);
          }
        });
  }

  private static List<Memory> source(Trial trial, int content, long bytes) {
    return Pieces.of(trial, bytes).fill(new Content(content)).readOnly();
  }
}
