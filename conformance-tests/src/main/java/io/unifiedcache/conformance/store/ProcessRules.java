package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/** The rules of stores that outlive a process, or that several processes use. */
public final class ProcessRules {
  private ProcessRules() {}

  // Durable.

  @Rule(
      id = "store.durable",
      scope = Scope.STORE,
      needs = Capability.DURABLE,
      alone = true,
      text =
          "After close and reopen, and after kill -9 at any step of a put, every object is whole or"
              + " absent, and there if its put had been answered; leftovers are cleaned up; the"
              + " budget and the counts are right at once.",
      hint =
          "Write where nobody looks, make an object visible in one step when it is whole, and"
              + " answer only then: what the kernel has been given outlives the process. On"
              + " opening, drop what is not whole, and count what is.")
  static void durable(Trial trial) {
    trial.despiteEviction(attempt -> reopen(trial, "reopened-" + attempt + "-"));
    int rounds = trial.effort().quick() ? 2 : 10;
    for (int i = 0; i < rounds; i++) {
      String round = "killed-" + i + "-";
      trial.despiteEviction(attempt -> killWhilePutting(trial, round + attempt + "-"));
    }
  }

  private static void reopen(Trial trial, String name) {
    List<Sized> objects = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      long bytes = Math.min(trial.limits().objectBytes(), 1L << (i * 2));
      objects.add(new Sized(trial.key(name + i), new Content(i), bytes));
    }
    Sized gone = objects.get(5);
    StoreStats start;
    StoreStats end;
    try (CacheStore store = trial.open()) {
      start = store.stats();
      for (Sized each : objects) {
        trial.put(store, each.key(), each.content(), each.bytes());
      }
      if (trial.has(Capability.REMOVE)) {
        store.remove(List.of(gone.key()), /* evenIfLeased= */ true, trial.soon());
      }
      end = store.stats();
    }
    try (CacheStore store = opened(trial, "after it was closed")) {
      StoreStats now = store.stats();
      long readable = 0;
      long bytes = 0;
      for (Sized each : objects) {
        boolean removed = each.equals(gone) && trial.has(Capability.REMOVE);
        BatchResult exists = store.exists(List.of(each.key()), trial.soon());
        trial.expectStatus(
            "exists, after reopening, of an object that was " + (removed ? "removed" : "put"),
            exists,
            0,
            removed ? ObjectStatus.ABSENT : ObjectStatus.OK);
        if (!removed) {
          trial.expectObject(store, each.key(), each.content(), each.bytes());
          readable++;
          bytes += each.bytes();
        }
      }
      expectCounts(trial, "after reopening", start, now, readable, bytes);
      if (now.objects() != StoreStats.UNKNOWN && trial.ownsStore()) {
        trial.expectEqual("objects after reopening", end.objects(), now.objects());
      }
      expectPutAgain(trial, store, objects);
      expectListed(trial, store, name, objects);
    }
  }

  private static CacheStore opened(Trial trial, String when) {
    try {
      return trial.open();
    } catch (CacheException e) {
      throw new Violation("the store to open " + when, e.code() + ": " + e.getMessage(), e);
    }
  }

  /** An object that a rule has put, or wanted to. */
  private record Sized(ObjectKey key, Content content, long bytes) {}

  private static void expectCounts(
      Trial trial, String when, StoreStats before, StoreStats now, long objects, long bytes) {
    if (!trial.ownsStore()) {
      return;
    }
    if (now.objects() != StoreStats.UNKNOWN) {
      trial.expectEqual(
          "objects to have become more " + when, objects, now.objects() - before.objects());
    }
    if (now.liveBytes() != StoreStats.UNKNOWN) {
      trial.expectEqual(
          "live bytes to have become more " + when, bytes, now.liveBytes() - before.liveBytes());
    }
    trial.expect(
        now.capacityBytes() == StoreStats.UNKNOWN || now.liveBytes() <= now.capacityBytes(),
        "live bytes within the budget of " + now.capacityBytes() + " " + when,
        () -> now.liveBytes() + " bytes");
  }

  private static void expectPutAgain(Trial trial, CacheStore store, List<Sized> objects) {
    for (Sized each : objects) {
      HostMemory source = trial.memory(each.bytes(), each.content());
      BatchResult result = store.put(List.of(new PutOp(each.key(), List.of(source))), trial.soon());
      trial.expectStatus("put after reopening", result, 0, ObjectStatus.OK, ObjectStatus.PRESENT);
      trial.expectObject(store, each.key(), each.content(), each.bytes());
    }
  }

  private static void expectListed(
      Trial trial, CacheStore store, String name, List<Sized> objects) {
    if (!trial.has(Capability.LIST)) {
      return;
    }
    Set<ObjectKey> expected = new HashSet<>();
    objects.forEach(each -> expected.add(each.key()));
    List<ObjectKey> listed = new ArrayList<>();
    store.list(
        trial.prefix(),
        key -> {
          if (key.value().startsWith(trial.key(name).value())) {
            listed.add(key);
          }
          return true;
        },
        trial.soon());
    for (ObjectKey key : listed) {
      trial.expect(
          expected.remove(key),
          "list after reopening to pass on each live key once",
          () -> Trial.name(key) + " was passed on");
    }
    trial.expect(
        expected.isEmpty(),
        "list after reopening to pass on every live key",
        () -> expected.size() + " were not passed on");
  }

  private static void killWhilePutting(Trial trial, String name) {
    StoreStats before;
    try (CacheStore store = trial.open()) {
      before = store.stats();
    }
    Random random = trial.random();
    List<Sized> objects = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      long bytes = Math.min(trial.limits().objectBytes(), (64 << 10) + random.nextInt(192 << 10));
      objects.add(new Sized(trial.key(name + i), new Content(100 + i), bytes));
    }
    trial.willPut(objects.stream().map(Sized::key).toList());
    List<String> answers = putUntilKilled(trial, objects, random);

    try (CacheStore store = opened(trial, "after kill -9 of the process that had it open")) {
      StoreStats now = store.stats();
      long readable = 0;
      long bytes = 0;
      List<Sized> there = new ArrayList<>();
      for (int i = 0; i < objects.size(); i++) {
        Sized each = objects.get(i);
        boolean stored = i < answers.size();
        if (isWhole(trial, store, each, stored)) {
          readable++;
          bytes += each.bytes();
          there.add(each);
        }
      }
      expectCounts(trial, "after kill -9", before, now, readable, bytes);
      expectListed(trial, store, name, there);
      expectPutAgain(trial, store, objects);
    }
  }

  /** Returns the answers to the first puts; the process was killed in the middle of a later one. */
  private static List<String> putUntilKilled(Trial trial, List<Sized> objects, Random random) {
    OtherProcess other = OtherProcess.start(trial);
    other.awaitReady();
    for (Sized each : objects) {
      other.sendPut(each.key(), each.content().id(), each.bytes());
    }
    List<String> answers = new ArrayList<>();
    int enough = 1 + random.nextInt(objects.size() / 2);
    while (answers.size() < enough) {
      answers.add(other.servedAnswer());
    }
    LockSupport.parkNanos(random.nextInt(2_000_000));
    other.kill();
    for (String each = other.answer(); !each.isEmpty(); each = other.answer()) {
      answers.add(each);
    }
    for (String each : answers) {
      trial.expectEqual("the answer to a put in another process", "OK", each);
    }
    return answers;
  }

  private static boolean isWhole(Trial trial, CacheStore store, Sized object, boolean stored) {
    HostMemory target = trial.memory(object.bytes());
    BatchResult got = store.get(List.of(new GetOp(object.key(), List.of(target))), trial.soon());
    String what =
        "get, after kill -9, of an object whose put "
            + (stored ? "had been answered OK" : "had not been answered");
    if (stored) {
      trial.expectStatus(what, got, 0, ObjectStatus.OK);
    } else {
      trial.expectStatus(what, got, 0, ObjectStatus.OK, ObjectStatus.ABSENT);
    }
    BatchResult exists = store.exists(List.of(object.key()), trial.soon());
    trial.expectStatus("exists after " + what, exists, 0, got.status(0));
    if (got.isOk(0)) {
      trial.expectBytes("an object after kill -9", object.content(), target, 0);
    }
    return got.isOk(0);
  }

  // Shared.

  @Rule(
      id = "store.shared",
      scope = Scope.STORE,
      needs = Capability.SHARED,
      alone = true,
      text =
          "Several processes use one store: no torn object, no failure because a folder or file"
              + " already exists, and a put in one is seen in the others.",
      hint =
          "Name what is being written after its process, take \"exists already\" for an answer and"
              + " not for an error, and ask below again before an object is called absent.")
  static void shared(Trial trial) {
    List<OtherProcess> others = new ArrayList<>();
    int count = trial.effort().quick() ? 2 : 3;
    for (int i = 0; i < count; i++) {
      others.add(OtherProcess.start(trial));
    }
    CacheStore store = trial.store();
    others.forEach(OtherProcess::awaitReady);
    for (int i = 0; i < 3; i++) {
      String name = "seen-" + i + "-";
      trial.despiteEviction(attempt -> putIsSeen(trial, store, others, name + attempt));
    }
    int rounds = trial.effort().quick() ? 3 : 20;
    for (int i = 0; i < rounds; i++) {
      String name = "raced-" + i + "-";
      trial.despiteEviction(attempt -> putTogether(trial, store, others, name + attempt + "-"));
    }
  }

  private static void putIsSeen(
      Trial trial, CacheStore store, List<OtherProcess> others, String name) {
    ObjectKey key = trial.key(name);
    long bytes = Math.min(trial.limits().objectBytes(), 5_000);
    OtherProcess writer = others.getFirst();
    OtherProcess reader = others.getLast();
    trial.willPut(List.of(key));
    trial.expectEqual(
        "exists in another process before a put", "ABSENT", reader.ask("exists", key));
    trial.expectEqual(
        "get in another process before a put", "ABSENT", reader.ask("get", key, bytes));
    trial.expectStatus(
        "exists before a put in another process",
        store.exists(List.of(key), trial.soon()),
        0,
        ObjectStatus.ABSENT);
    trial.expectEqual("put", "OK", writer.ask("put", key, 1, bytes));
    trial.expectEqual("exists after a put in another process", "OK", reader.ask("exists", key));
    trial.expectEqual(
        "get after a put in another process",
        "OK " + checksum(trial, 1, bytes),
        reader.ask("get", key, bytes));
    trial.expectObject(store, key, new Content(1), bytes);
    if (!trial.has(Capability.REMOVE)) {
      return;
    }
    BatchResult removed = store.remove(List.of(key), /* evenIfLeased= */ true, trial.soon());
    trial.expectStatus("remove of what another process has put", removed, 0, ObjectStatus.OK);
    trial.expectEqual(
        "exists after a remove in another process", "ABSENT", reader.ask("exists", key));
    trial.expectEqual(
        "get after a remove in another process", "ABSENT", reader.ask("get", key, bytes));
    trial.put(store, key, new Content(2), bytes);
    trial.expectEqual(
        "get after a second put in another process",
        "OK " + checksum(trial, 2, bytes),
        reader.ask("get", key, bytes));
  }

  private static long checksum(Trial trial, long content, long bytes) {
    return StoreServer.checksum(trial.memory(bytes, new Content(content)).segment());
  }

  /** All processes put the same keys, each its own content, and some keys of their own. */
  private static void putTogether(
      Trial trial, CacheStore store, List<OtherProcess> others, String name) {
    long bytes = Math.min(trial.limits().objectBytes(), 128 << 10);
    List<ObjectKey> same = trial.keys(name + "same/", 8);
    List<HostMemory> contents = new ArrayList<>();
    for (int i = 0; i <= others.size(); i++) {
      contents.add(trial.memory(bytes, new Content(i)));
    }
    List<ObjectKey> own = trial.keys(name + "own/", others.size());
    trial.willPut(same);
    trial.willPut(own);
    for (int i = 0; i < others.size(); i++) {
      for (ObjectKey key : shuffled(trial, same, i)) {
        others.get(i).sendPut(key, i, bytes);
      }
      others.get(i).sendPut(own.get(i), i, bytes);
    }
    HostMemory source = contents.getLast();
    HostMemory target = trial.memory(bytes);
    for (ObjectKey key : shuffled(trial, same, 0)) {
      BatchResult put = store.put(List.of(new PutOp(key, List.of(source))), trial.soon());
      trial.expectStatus(
          "put while others put the same", put, 0, ObjectStatus.OK, ObjectStatus.PRESENT);
      if (store.get(List.of(new GetOp(key, List.of(target))), trial.soon()).isOk(0)) {
        expectOneOf(trial, contents, StoreServer.checksum(target.segment()));
      }
    }
    for (OtherProcess other : others) {
      for (int i = 0; i <= same.size(); i++) {
        String answer = other.servedAnswer();
        trial.expect(
            answer.equals("OK") || answer.equals("PRESENT"),
            "put in another process while others put the same to answer OK or PRESENT",
            () -> answer);
      }
    }
    for (ObjectKey key : same) {
      BatchResult got = store.get(List.of(new GetOp(key, List.of(target))), trial.soon());
      trial.expectStatus("get of what several processes have put", got, 0, ObjectStatus.OK);
      long seen = StoreServer.checksum(target.segment());
      expectOneOf(trial, contents, seen);
      for (OtherProcess other : others) {
        trial.expectEqual(
            "get, in another process, of what several have put",
            "OK " + seen,
            other.ask("get", key, bytes));
      }
    }
    for (int i = 0; i < others.size(); i++) {
      trial.expectObject(store, own.get(i), new Content(i), bytes);
    }
  }

  /** The same order for some, so that they meet, and another for others. */
  private static List<ObjectKey> shuffled(Trial trial, List<ObjectKey> keys, int process) {
    List<ObjectKey> order = new ArrayList<>(keys);
    if (process % 2 == 1) {
      Collections.shuffle(order, trial.random());
    }
    return order;
  }

  private static void expectOneOf(Trial trial, List<HostMemory> contents, long seen) {
    trial.expect(
        contents.stream().anyMatch(each -> StoreServer.checksum(each.segment()) == seen),
        "an object that several processes put at once to have the bytes of one of them",
        () -> "it has the bytes of none");
  }

  // Exclusive.

  @Rule(
      id = "store.exclusive",
      scope = Scope.STORE,
      needs = Capability.DURABLE,
      alone = true,
      text =
          "An exclusive store, one that is durable and not shared, refuses a second opener with a"
              + " message that names the holder: its process id or its instance.",
      hint =
          "Hold a lock that ends with the process, write the process id and the instance beside it,"
              + " and read them for the message; within one JVM, too.")
  static void exclusive(Trial trial) {
    if (trial.has(Capability.SHARED)) {
      throw trial.notApplicable("SHARED is declared: several may open it");
    }
    long here = ProcessHandle.current().pid();
    try (CacheStore holder = trial.open()) {
      expectRefused(
          trial, "open while it is open here", here, "conformance-" + trial.subject().name());
      trial.put(holder, trial.key("held"), new Content(1), 1);
    }
    OtherProcess other = OtherProcess.start(trial);
    other.awaitReady();
    expectRefused(
        trial,
        "open while another process has it open",
        other.pid(),
        StoreServer.instance(trial.subject().name()));
    String answer = other.ask("put", trial.key("held-by-other"), 1, 1);
    trial.expectEqual("put of the holder once another opener was refused", "OK", answer);
    other.close();
    opened(trial, "once its holder has closed it").close();
  }

  private static void expectRefused(Trial trial, String what, long pid, String instance) {
    CacheException refusal;
    try {
      trial.open().close();
      trial.expect(false, what + " to be refused", () -> "it was opened");
      return;
    } catch (CacheException e) {
      refusal = e;
    }
    trial.expect(
        refusal.code() == FailureCode.BUSY || refusal.code() == FailureCode.REFUSED,
        what + " to be refused as BUSY or REFUSED",
        () -> refusal.code() + ": " + refusal.getMessage());
    String message = String.valueOf(refusal.getMessage());
    trial.expect(
        Pattern.compile("(?<!\\d)" + pid + "(?!\\d)").matcher(message).find()
            || message.contains(instance),
        "the refusal to name the holder: process " + pid + " or instance " + instance,
        () -> message);
  }
}
