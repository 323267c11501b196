package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.DrillObjects.getAll;
import static io.unifiedcache.backend.mooncake.DrillObjects.putAll;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A cluster whose processes are killed and started again at random for a long time, under load.
 *
 * <p>{@code -Ddrills.seconds} sets how long, {@code -Ddrills.seed} repeats the order of events.
 */
abstract class DrillsSoak {
  private static final int LOADERS = 3;

  /** What a busy machine may add to a deadline and the grace. */
  private static final Duration SLACK = Duration.ofSeconds(5);

  @RegisterExtension
  static final MooncakeCluster CLUSTER =
      MooncakeCluster.withLeases(300).flag("client_ttl", "5").segment(64 << 20);

  private enum Event {
    MASTER_DIES,
    OWNER_DIES,
    FLOOD,
    STORE_IS_OPENED_ANEW
  }

  private final Choice client;
  private final AtomicLong calls = new AtomicLong();
  private final AtomicLong found = new AtomicLong();
  private final AtomicLong longestNanos = new AtomicLong();

  DrillsSoak(Choice client) {
    this.client = client;
  }

  @Test
  @Timeout(value = 1, unit = TimeUnit.HOURS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void randomDeaths_noHangNoWrongByteHitsResume() throws Exception {
    long seconds = Long.getLong("drills.seconds", 180);
    long seed = Long.getLong("drills.seed", System.nanoTime());
    Random random = new Random(seed);
    Map<Event, Integer> events = new TreeMap<>();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (System.nanoTime() < end) {
      Event event = Event.values()[random.nextInt(Event.values().length)];
      events.merge(event, 1, Integer::sum);
      try {
        goThrough(event, random);
      } catch (AssertionError | Exception e) {
        throw new AssertionError(
            "seed %d, client %s, after %s: %s".formatted(seed, client, events, e), e);
      }
    }
    Duration longest = Duration.ofNanos(longestNanos.get());
    System.out.printf(
        "client %s, seed %d: %s; %d calls, %d objects found, longest call %d ms%n",
        client, seed, events, calls.get(), found.get(), longest.toMillis());
    assertThat(longest).isLessThan(DrillObjects.DEADLINE.plus(Limits.GRACE).plus(SLACK));
  }

  /**
   * Ranges that are read from an owner that dies are waited for by Mooncake for a minute, and the
   * memory is in use for as long.
   */
  @Test
  @Timeout(value = 1, unit = TimeUnit.HOURS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void ownerDiesUnderALinker_eachLoadEndsOnceAndHitsResume() throws Exception {
    CLUSTER.heal();
    Map<String, String> settings = new TreeMap<>(CLUSTER.settings(client));
    settings.put("linker.load-timeout", DrillObjects.DEADLINE.toSeconds() + "s");
    settings.put("quarantine", "1s");
    try (EnginePages engine =
        new EnginePages("soak", /* packed= */ false, EnginePages.keys(1, 32), settings)) {
      engine.fill(1);
      List<String> expected = engine.hashes();
      for (int i = 0; i < 3; i++) {
        CLUSTER.await("hits resume", () -> storeAndLoad(engine, expected));
        AtomicBoolean over = new AtomicBoolean();
        FutureTask<Integer> loads =
            new FutureTask<>(
                () -> {
                  int loaded = 0;
                  // A put that an owner dies under would keep others from its object for a minute.
                  while (!over.get() && engine.tryLoad(expected)) {
                    loaded++;
                  }
                  return loaded;
                });
        Thread.ofPlatform().daemon().start(loads);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
        CLUSTER.killOwner();
        CLUSTER.startOwner();
        over.set(true);
        assertThat(loads.get(5, TimeUnit.MINUTES)).isPositive();
      }
      CLUSTER.await("hits resume", () -> storeAndLoad(engine, expected));
      assertThat(engine.longest()).isLessThan(DrillObjects.DEADLINE.multipliedBy(2).plus(SLACK));
    }
  }

  private static boolean storeAndLoad(EnginePages engine, List<String> expected) {
    engine.fill(1);
    return engine.canOffload() && engine.tryLoad(expected);
  }

  private void goThrough(Event event, Random random) throws Exception {
    CLUSTER.heal();
    try (CacheStore store = open()) {
      CLUSTER.await("all is stored", () -> putAll(store) == DrillObjects.COUNT);
      AtomicBoolean over = new AtomicBoolean();
      List<FutureTask<Boolean>> loaders = new ArrayList<>();
      for (int i = 0; i < LOADERS; i++) {
        FutureTask<Boolean> loader = new FutureTask<>(() -> load(store, over));
        Thread.ofPlatform().daemon().start(loader);
        loaders.add(loader);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(300)));
      switch (event) {
        case MASTER_DIES -> {
          CLUSTER.killMaster();
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(3000)));
          CLUSTER.startMaster();
          CLUSTER.await("the owner has mounted its memory again", CLUSTER::hasSegment);
        }
        case OWNER_DIES -> {
          CLUSTER.killOwner();
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(3000)));
          CLUSTER.startOwner();
        }
        case FLOOD -> {
          for (int i = 0; i < 30; i++) {
            BatchResult unused =
                store.put(
                    List.of(put("flood-" + random.nextLong(), 1, 4 << 20)),
                    Deadline.after(DrillObjects.DEADLINE));
          }
        }
        case STORE_IS_OPENED_ANEW -> {
          try (CacheStore other = open()) {
            assertThat(load(other, new AtomicBoolean(true))).isTrue();
          }
        }
      }
      CLUSTER.await("hits resume", () -> hitsResume(store));
      over.set(true);
      for (FutureTask<Boolean> loader : loaders) {
        assertThat(loader.get()).isTrue();
      }
    }
  }

  private static boolean hitsResume(CacheStore store) {
    return putAll(store) == DrillObjects.COUNT
        && getAll(store, Deadline.after(DrillObjects.DEADLINE)).count(ObjectStatus.OK)
            == DrillObjects.COUNT;
  }

  /** Gets all objects again and again, once at least. */
  private boolean load(CacheStore store, AtomicBoolean over) {
    do {
      long began = System.nanoTime();
      BatchResult result = getAll(store, Deadline.after(DrillObjects.DEADLINE));
      longestNanos.accumulateAndGet(System.nanoTime() - began, Math::max);
      calls.incrementAndGet();
      found.addAndGet(result.count(ObjectStatus.OK));
    } while (!over.get());
    return true;
  }

  private CacheStore open() {
    return MooncakeStore.open(
        ScriptedStore.settings(CLUSTER.settings(client), Map.of()),
        StoreContext.of("mooncake-soak"));
  }
}
