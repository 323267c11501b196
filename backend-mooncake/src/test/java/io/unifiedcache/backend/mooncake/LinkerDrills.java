package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A linker that loads pages, layer by layer where the client can, while processes of the cluster
 * are killed. Each load ends once, in time, and with the right bytes or as failed; hits resume.
 *
 * <p>A class for each client, since a process can have only one of them.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class LinkerDrills {
  private static final int PAGES = 32;
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** What a lookup, a load and a busy machine may take in all. */
  private static final Duration LONGEST = TIMEOUT.multipliedBy(2).plusSeconds(6);

  @RegisterExtension
  static final MooncakeCluster CLUSTER =
      MooncakeCluster.withLeases(1_000).flag("client_ttl", "5").segment(64 << 20);

  private final Choice client;

  LinkerDrills(Choice client) {
    this.client = client;
  }

  /** What happens to the cluster while pages are loaded. */
  private interface Event {
    void happen() throws Exception;
  }

  @Test
  void ownerDies_loadsFailOrAreRightAndHitsResume() throws Exception {
    whileLoading(
        () -> {
          CLUSTER.killOwner();
          CLUSTER.startOwner();
        });
  }

  @Test
  void masterDies_loadsFailOrAreRightAndHitsResume() throws Exception {
    whileLoading(
        () -> {
          CLUSTER.killMaster();
          CLUSTER.startMaster();
          CLUSTER.await("the owner has mounted its memory again", CLUSTER::hasSegment);
        });
  }

  private void whileLoading(Event event) throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    try (EnginePages engine = engine()) {
      engine.fill(1);
      List<String> expected = engine.hashes();
      CLUSTER.await("pages can be loaded", () -> storeAndLoad(engine, expected));
      CountDownLatch loading = new CountDownLatch(2);
      FutureTask<Boolean> loads =
          new FutureTask<>(
              () -> {
                while (!over.get()) {
                  loading.countDown();
                  if (!engine.tryLoad(expected)) {
                    // Nothing is found from here on, which takes no time.
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                  }
                }
                return true;
              });
      Thread.ofPlatform().daemon().start(loads);
      assertThat(loading.await(1, TimeUnit.MINUTES)).isTrue();
      event.happen();
      over.set(true);
      try (EnginePages other = engine()) {
        // A load of what the dead have left would wait with its memory for a minute, too.
        CLUSTER.await("what was there is forgotten", () -> other.hits() == 0);
        CLUSTER.await("hits resume", () -> storeAndLoad(other, expected));
      }
      // The memory of a load may be in use for as long as Mooncake waits for a transfer.
      if (loads.isDone()) {
        assertThat(loads.get()).isTrue();
      }
      assertThat(engine.longest()).isLessThan(LONGEST);
    }
  }

  /** Stores what is not there; keys of an owner that has died are for some time. */
  private static boolean storeAndLoad(EnginePages engine, List<String> expected) {
    engine.fill(1);
    return engine.canOffload() && engine.tryLoad(expected);
  }

  private EnginePages engine() {
    Map<String, String> settings = new TreeMap<>(CLUSTER.settings(client));
    settings.put("linker.close-timeout", "1s");
    for (String what : List.of("lookup", "load", "offload")) {
      settings.put("linker." + what + "-timeout", TIMEOUT.toSeconds() + "s");
    }
    return new EnginePages("drill", /* packed= */ false, EnginePages.keys(1, PAGES), settings);
  }
}
