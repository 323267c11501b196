package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import java.time.Duration;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;

/**
 * Random lives of linkers over the memory store, one half of them in stores too small for what they
 * put, for {@code -Dsoak.seconds} seconds in all; {@code -Dsoak.seed} repeats one life.
 *
 * <p>It is here since this module has the linker and the store on one class path.
 */
class MemorySoakTest {
  private final CacheStoreProvider memory = Backends.discover().named("memory");

  @Test
  @Timeout(60)
  @DisplayName("load.*, offload.*, linker.quiesce: random lives over the memory store")
  void live_overTheMemoryStore(TestReporter reporter) {
    soak(5, reporter);
  }

  @Test
  @Tag("stress")
  @Timeout(3600)
  void live_overTheMemoryStore_long(TestReporter reporter) {
    soak(300, reporter);
  }

  private void soak(long usualSeconds, TestReporter reporter) {
    Soak.Tally tally = new Soak.Tally();
    Long only = Long.getLong("soak.seed");
    SplittableRandom seeds = new SplittableRandom();
    Deadline by = Deadline.after(Duration.ofSeconds(Long.getLong("soak.seconds", usualSeconds)));
    long evicted = 0;
    do {
      long seed = only == null ? seeds.nextLong() : only;
      boolean small = (seed & 2) == 0;
      CacheStore store = open(small ? "4KiB" : "1MiB");
      Soak.live(seed, store, /* evicts= */ small, tally);
      evicted += store.stats().evicted();
    } while (!by.hasPassed());
    reporter.publishEntry("soak", tally + ", " + evicted + " objects evicted");
    assertThat(tally.loadsOk).as("loads that worked").isPositive();
    assertThat(only != null || evicted > 0).as("objects evicted").isTrue();
  }

  private CacheStore open(String capacity) {
    return memory.open(
        SettingsSources.of(Map.of("capacity", capacity, "copy-threads", "2"))
            .resolve(memory.options()),
        StoreContext.of("soak"));
  }
}
