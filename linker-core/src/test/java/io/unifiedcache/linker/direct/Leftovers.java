package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.CacheLinker;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Map;
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

  private static Object field(CacheLinker linker, String name) {
    try {
      Field field = DirectLinker.class.getDeclaredField(name);
      field.setAccessible(true);
      return field.get(linker);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError("a linker has no field " + name, e);
    }
  }
}
