package io.unifiedcache.backend.mooncake;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Says once that the groups of objects are not passed on. Thread-safe. */
final class IgnoredGroups {
  private final Consumer<String> log;
  private final AtomicBoolean said = new AtomicBoolean();

  /**
   * Creates it.
   *
   * @param log takes the one message
   */
  IgnoredGroups(Consumer<String> log) {
    this.log = log;
  }

  /** Says so if an object has a group, the first time. */
  void see(List<Entry> entries) {
    if (said.get()) {
      return;
    }
    for (Entry entry : entries) {
      if (entry.group != null && said.compareAndSet(false, true)) {
        log.accept(
            "objects are stored without the groups that were asked for, such as "
                + entry.group
                + ": Mooncake's C library takes none (client=python passes them on)");
        return;
      }
    }
  }
}
