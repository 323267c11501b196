package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.CacheLinker;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** What a linker still keeps of requests; a linker that has answered all of them keeps nothing. */
final class Leftovers {
  private Leftovers() {}

  /** Returns the counts that are not zero, by name. */
  static Map<String, Integer> of(CacheLinker linker) {
    Map<String, Integer> counts = new TreeMap<>();
    counts.put("queued", ((Map<?, ?>) field(linker, "queued")).size());
    counts.put("loads", ((Ledger) field(linker, "loads")).size());
    counts.put("offloads", ((Ledger) field(linker, "offloads")).size());
    counts.put("batches", ((LayerLoadCounter) field(linker, "counter")).unfinished());
    counts.values().removeIf(count -> count == 0);
    return counts;
  }

  /** Waits until nothing is left: what a reset cancelled passes through the load thread yet. */
  static void awaitNone(CacheLinker linker) {
    Deadline by = Deadline.after(Duration.ofSeconds(20));
    Map<String, Integer> left = of(linker);
    while (!left.isEmpty()) {
      if (by.hasPassed()) {
        throw new AssertionError("left: " + left);
      }
      Thread.onSpinWait();
      left = of(linker);
    }
  }

  /** Returns how many suspicions are kept, expired ones included. */
  static int in(SuspectObjects suspects) {
    return ((Map<?, ?>) field(suspects, "suspicions")).size();
  }

  private static Object field(Object owner, String name) {
    try {
      Field field = owner.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return Objects.requireNonNull(field.get(owner), name);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(owner + " has no field " + name, e);
    }
  }
}
