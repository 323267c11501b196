package io.unifiedcache.conformance.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The rule of keys: different ones are different objects. */
public final class ExactKeyRules {
  private static final int LONG = 4_000;

  /** What a store must not take for one another: a path, a pattern, a folded or trimmed name. */
  private static final List<String> NAMES =
      List.of(
          "a/b",
          "a-b",
          "a_b",
          "A/b",
          "a/B",
          "a%2Fb",
          "a%2fb",
          "a%252Fb",
          "a\\b",
          "a:b",
          "a",
          "a/",
          "a//b",
          "a/./b",
          "a/../a/b",
          "a/b/c",
          "a*b",
          "a?b",
          "a+b",
          "a b",
          "..",
          ".",
          "../x",
          "/x",
          "x",
          "x.",
          "x ",
          "x\t",
          "CON",
          "con",
          "CON.txt",
          "line\n",
          "line",
          "line\r\n",
          "nul\0a",
          "nul\0b",
          "nul",
          "\ud83d\ude00",
          "\ud83d\ude01",
          "?",
          "\u00e9",
          "e\u0301",
          "e",
          "\u212a",
          "K",
          "k",
          "stra\u00dfe",
          "strasse",
          "\u0130",
          "i",
          "'; --",
          "${x}",
          "~");

  private ExactKeyRules() {}

  @Rule(
      id = "store.exact-key",
      scope = Scope.STORE,
      text =
          "Distinct keys are distinct objects and a key is stored as given: with slashes, dots, a"
              + " trailing dot or blank, a reserved file name, a newline, emoji, composed and"
              + " decomposed letters, upper and lower case, percent signs, or 4,000 characters; or"
              + " there is one clear refusal before anything is touched.",
      hint =
          "Derive names below the store from the bytes of the whole key in a way that can be"
              + " undone, or refuse what cannot be named.")
  static void exactKey(Trial trial) {
    List<String> names = new ArrayList<>(NAMES);
    String filling = "x".repeat(LONG - trial.key("in-1/").value().length() - 1);
    names.add("1" + filling);
    names.add("2" + filling);
    names.add(filling + "1");
    names.add(filling + "2");
    Attempts.at(trial, "in", name -> exactKey(trial, name + "/", names));
  }

  private static void exactKey(Trial trial, String folder, List<String> names) {
    List<ObjectKey> keys = names.stream().map(name -> trial.key(folder + name)).toList();
    // All of one size, so that an object that is taken for another is seen by its bytes.
    long bytes = Math.min(64, trial.limits().objectBytes());
    List<PutOp> puts = new ArrayList<>();
    List<GetOp> gets = new ArrayList<>();
    List<Pieces> targets = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      puts.add(new PutOp(keys.get(i), Pieces.of(trial, bytes).fill(new Content(i)).readOnly()));
      targets.add(Pieces.of(trial, bytes));
      gets.add(new GetOp(keys.get(i), targets.get(i).writable()));
    }
    BatchResult put = Batches.call(trial, puts, some -> trial.store().put(some, trial.soon()));
    BatchResult got = Batches.call(trial, gets, some -> trial.store().get(some, trial.soon()));
    BatchResult there = Batches.call(trial, keys, some -> trial.store().exists(some, trial.soon()));

    Set<ObjectKey> stored = new LinkedHashSet<>();
    for (int i = 0; i < keys.size(); i++) {
      String name = " of key " + Trial.name(keys.get(i));
      if (put.status(i) == ObjectStatus.FAILED) {
        expectRefused(trial, name, put, got, there, i);
        targets.get(i).expectUntouched("the get" + name + ", which was refused");
        continue;
      }
      trial.expectStatus("put" + name + ", which is new", put, i, ObjectStatus.OK);
      Attempts.expectOk(trial, "get" + name, got, i);
      targets.get(i).expectBytes("the object" + name, new Content(i), 0);
      Attempts.expectOk(trial, "exists" + name, there, i);
      stored.add(keys.get(i));
    }
    if (trial.has(Capability.LIST)) {
      expectListedAsGiven(trial, trial.key(folder), stored);
    }
  }

  private static void expectRefused(
      Trial trial, String name, BatchResult put, BatchResult got, BatchResult there, int i) {
    trial.note("refused: the key" + name.substring(" of key".length()));
    trial.expectFailure("put" + name + ", unless it is served", put, i, FailureCode.REFUSED);
    trial.expect(
        put.failure(i).memory() instanceof MemoryState.Untouched,
        "the refusal of a key to come before anything is touched",
        () -> "memory is " + put.failure(i).memory());
    for (BatchResult later : List.of(got, there)) {
      if (later.status(i) != ObjectStatus.ABSENT) {
        trial.expectFailure(
            "get and exists" + name + ", whose put was refused", later, i, FailureCode.REFUSED);
      }
    }
  }

  /** A key that is not listed while one is listed that was not given: it was stored as that. */
  private static void expectListedAsGiven(Trial trial, ObjectKey folder, Set<ObjectKey> stored) {
    Set<ObjectKey> missing = new LinkedHashSet<>(stored);
    Set<ObjectKey> foreign = new LinkedHashSet<>();
    trial
        .store()
        .list(
            KeyPrefix.of(folder.value()),
            key -> {
              if (!missing.remove(key) && !stored.contains(key)) {
                foreign.add(key);
              }
              return true;
            },
            trial.soon());
    trial.expect(
        missing.isEmpty() || foreign.isEmpty(),
        "key " + missing.stream().findFirst().map(Trial::name).orElse("") + " to be listed",
        () -> "key " + foreign.stream().findFirst().map(Trial::name).orElse("") + " is listed");
  }
}
