package io.unifiedcache.conformance.store;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The rule of capabilities: what is declared is offered, and nothing else. */
public final class CapabilityRules {
  private CapabilityRules() {}

  @Rule(
      id = "store.capability-honest",
      scope = Scope.STORE,
      text =
          "A declared operation works; an undeclared one is refused uniformly and changes nothing;"
              + " a declared promise is kept.",
      hint =
          "Leave what is not offered to the default methods of CacheStore, which refuse it, and"
              + " declare no more than the provider does.")
  static void capabilityHonest(Trial trial) {
    declaresNoMore(trial);
    Attempts.at(trial, "there", name -> operations(trial, trial.key(name)));
  }

  private static void declaresNoMore(Trial trial) {
    trial.expectEqual(
        "what is declared later on", trial.capabilities(), trial.store().capabilities());
    trial.expectEqual("the limits later on", trial.limits(), trial.store().limits());
    if (trial.subject().isNamed()) {
      Set<Capability> most = trial.subject().provider().capabilities();
      Set<Capability> beyond = new TreeSet<>(trial.capabilities());
      beyond.removeAll(most);
      trial.expect(
          beyond.isEmpty(),
          "the store to declare what its provider can at most, " + new TreeSet<>(most),
          () -> "it also declares " + beyond);
    }
  }

  private static void operations(Trial trial, ObjectKey key) {
    CacheStore store = trial.store();
    trial.put(store, key, new Content(1), 1);
    ObjectKey absent = trial.key("absent");
    // On the object that is there if it must change nothing, else on one that is not.
    Map<Capability, List<Runnable>> calls = new EnumMap<>(Capability.class);
    for (ObjectKey each : List.of(key, absent)) {
      KeyPrefix prefix = KeyPrefix.of(each.value());
      boolean forced = each.equals(key);
      calls.put(
          Capability.REMOVE,
          List.of(
              () -> store.remove(List.of(each), forced, trial.soon()),
              () -> store.remove(List.of(), /* evenIfLeased= */ true, trial.soon())));
      calls.put(Capability.CLEAR, List.of(() -> store.clear(prefix, trial.soon())));
      calls.put(Capability.LIST, List.of(() -> store.list(prefix, any -> true, trial.soon())));
      calls.put(
          Capability.RANGED_READ,
          List.of(
              () -> store.openSession(List.of(each), trial.soon()).close(),
              () -> store.openSession(List.of(), trial.soon()).close()));
      for (Map.Entry<Capability, List<Runnable>> operation : calls.entrySet()) {
        boolean declared = trial.has(operation.getKey());
        if (declared == each.equals(absent)) {
          operation.getValue().forEach(call -> expectHonest(trial, operation.getKey(), call));
        }
      }
    }
    BatchResult there = store.exists(List.of(key), trial.soon());
    if (there.status(0) == ObjectStatus.ABSENT && !trial.has(Capability.BOUNDED)) {
      throw new Violation(
          "operations that are not declared to change nothing", "the object is gone");
    }
    Attempts.expectOk(trial, "exists after operations that are not declared", there, 0);
  }

  private static void expectHonest(Trial trial, Capability capability, Runnable call) {
    if (trial.has(capability)) {
      // Whether it does what it should is a rule of its own.
      call.run();
    } else {
      trial.expectRefused(capability + ", which is not declared,", FailureCode.REFUSED, call);
    }
  }
}
