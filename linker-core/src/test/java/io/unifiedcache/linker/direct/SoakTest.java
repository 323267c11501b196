package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.function.LongFunction;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;

/**
 * Random lives of linkers, for {@code -Dsoak.seconds} seconds in all; {@code -Dsoak.seed} repeats
 * one life.
 */
class SoakTest {
  @Test
  @Timeout(120)
  @DisplayName("load.*, offload.*, linker.quiesce: random lives over a store that goes wrong")
  void live_overTheScriptedStore(TestReporter reporter) {
    soak(share(10, 1), SoakTest::scripted, /* evicts= */ false, reporter);
  }

  @Test
  @Tag("stress")
  @Timeout(3600)
  void live_overTheScriptedStore_long(TestReporter reporter) {
    soak(share(600, 1), SoakTest::scripted, /* evicts= */ false, reporter);
  }

  /** Returns one test's share of the time. */
  private static Duration share(long usualSeconds, int tests) {
    return Duration.ofSeconds(Long.getLong("soak.seconds", usualSeconds)).dividedBy(tests);
  }

  private static void soak(
      Duration time, LongFunction<CacheStore> stores, boolean evicts, TestReporter reporter) {
    Soak.Tally tally = new Soak.Tally();
    Long only = Long.getLong("soak.seed");
    SplittableRandom seeds = new SplittableRandom();
    Deadline by = Deadline.after(time);
    do {
      long seed = only == null ? seeds.nextLong() : only;
      Soak.live(seed, stores.apply(seed), evicts, tally);
    } while (!by.hasPassed());
    reporter.publishEntry("soak", tally.toString());
    assertThat(tally.loadsOk).as("loads that worked").isPositive();
  }

  private static CacheStore scripted(long seed) {
    return (seed & 1) == 0
        ? new ScriptedStore(StoreLimits.NONE, Capability.REMOVE)
        : new ScriptedStore();
  }
}
