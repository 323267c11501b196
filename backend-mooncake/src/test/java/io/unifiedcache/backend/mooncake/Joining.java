package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.ScriptedStore.get;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static io.unifiedcache.backend.mooncake.ScriptedStore.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Joining a cluster that cannot be joined now: it fails in time, disturbs no other store, and
 * succeeds later.
 *
 * <p>A class for each client, since a process can have only one of them.
 */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Isolated("to join a master that hangs can keep all of Python waiting")
abstract class Joining {
  @RegisterExtension
  static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(300).segment(64 << 20);

  private final Choice client;

  Joining(Choice client) {
    this.client = client;
  }

  @Test
  void silentPorts_otherStoresGoOn() throws Exception {
    try (CacheStore store = open(CLUSTER.settings(client));
        ServerSocket mute = mute()) {
      assertThat(store.put(List.of(put("other", 1, 1000)), soon()).isOk(0)).isTrue();
      String silent = "127.0.0.1:" + mute.getLocalPort();
      for (Map<String, String> settings :
          List.of(
              Map.of("master_server_address", silent),
              Map.of("metadata_server", "http://" + silent + "/metadata"),
              Map.of("metadata_server", silent))) {
        CompletableFuture<CacheException> opening =
            CompletableFuture.supplyAsync(() -> refusal(settings));
        while (!opening.isDone()) {
          // Mooncake's own time to join is half a minute.
          assertThat(
                  store
                      .get(List.of(get("other", 1000)), Deadline.after(Duration.ofSeconds(10)))
                      .isOk(0))
              .isTrue();
        }
        assertThat(opening.get().code()).isEqualTo(FailureCode.UNREACHABLE);
        assertThat(opening.get()).hasMessageContainingAll(silent, "does not answer within 2 s");
      }
    }
  }

  @Test
  void eachCause_hasItsOwnMessage() throws Exception {
    int nobody = MooncakeCluster.freePort();
    assertThat(refusal(Map.of("master_server_address", "127.0.0.1:" + CLUSTER.httpPort())))
        .hasMessageContaining("a web server answers, where the master's RPC port is expected");
    assertThat(refusal(Map.of("master_server_address", "127.0.0.1:" + CLUSTER.ownerPort())))
        .hasMessageContaining("a server of Mooncake answers that is no master");
    assertThat(refusal(Map.of("metadata_server", "http://127.0.0.1:" + nobody + "/metadata")))
        .hasMessageContaining("(metadata_server) cannot be reached");
    assertThat(
            refusal(
                Map.of("metadata_server", "http://127.0.0.1:" + CLUSTER.httpPort() + "/metadata")))
        .hasMessageContaining("(metadata_server) answers 404");
    assertThat(refusal(Map.of("protocol", "smoke-signals")))
        .hasMessageContainingAll("answered -600", "protocol smoke-signals", "the master answers");
    if (RdmaDevices.ofThisMachine().names().isEmpty()) {
      assertThat(refusal(Map.of("protocol", "rdma")).code()).isEqualTo(FailureCode.REFUSED);
    }
  }

  @Test
  void clusterWithoutMemory_isDown() throws Exception {
    try (MooncakeCluster bare = MooncakeCluster.withLeases(300)) {
      bare.startMasterAlone();
      try (CacheStore store = open(bare.settings(client))) {
        StoreHealth health = store.probe(soon());
        assertThat(health.state()).isEqualTo(StoreHealth.State.DOWN);
        assertThat(health.detail()).contains("the cluster has no memory");
        bare.startOwner();
        assertThat(store.probe(soon()).state()).isEqualTo(StoreHealth.State.UP);
        assertThat(bare.keys()).isEmpty();
      }
    }
  }

  @Test
  void masterHangs_degradedLinkerStartsAndHasHitsOnceItGoesOn() throws Exception {
    CLUSTER.stopMaster();
    try {
      assertThat(refusal(Map.of()))
          .hasMessageContaining("the master of Mooncake at " + CLUSTER.address() + " hangs");
      try (EnginePages engine = degraded("hanging", Map.of())) {
        assertThat(engine.hits()).isZero();
        CLUSTER.continueMaster();
        CLUSTER.await("pages can be stored", engine::canOffload);
        engine.load();
      }
    } finally {
      CLUSTER.continueMaster();
    }
  }

  @Test
  void masterDropsConnections_isUnreachableAndSaysTheSameEachTime() throws Exception {
    try (Gate gate = new Gate(CLUSTER.address())) {
      Map<String, String> settings = Map.of("master_server_address", gate.address());
      CacheException refusal = refusal(settings);
      assertThat(refusal.code()).isEqualTo(FailureCode.UNREACHABLE);
      assertThat(refusal)
          .hasMessageContainingAll(gate.address(), "connections are taken and dropped");
      assertThat(refusal(settings)).hasMessage(refusal.getMessage());
    }
  }

  @Test
  void masterDropsConnections_degradedLinkerStartsAndHasHitsOnceItTakesThem() throws Exception {
    try (Gate gate = new Gate(CLUSTER.address());
        EnginePages engine = degraded("gate", Map.of("master_server_address", gate.address()))) {
      assertThat(engine.hits()).isZero();
      gate.open();
      CLUSTER.await("pages can be stored", engine::canOffload);
      engine.load();
    }
  }

  /** Returns a port that takes connections, and is all that a process that hangs still has. */
  private static ServerSocket mute() throws Exception {
    return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  private EnginePages degraded(String tag, Map<String, String> others) {
    Map<String, String> settings = settings(others);
    settings.put("linker.start-policy", "degraded");
    settings.put("linker.retry-interval", "100ms");
    return new EnginePages(tag, /* packed= */ false, EnginePages.keys(2, 4), settings);
  }

  /** Returns why a store cannot be opened. */
  private CacheException refusal(Map<String, String> others) {
    CacheException refusal =
        catchThrowableOfType(CacheException.class, () -> open(settings(others)).close());
    assertThat(refusal).as("why it cannot be opened").isNotNull();
    return refusal;
  }

  private Map<String, String> settings(Map<String, String> others) {
    Map<String, String> settings = new TreeMap<>(CLUSTER.settings(client));
    settings.putAll(others);
    return settings;
  }

  private static CacheStore open(Map<String, String> settings) {
    return MooncakeStore.open(
        ScriptedStore.settings(settings, Map.of()), StoreContext.of("mooncake-joining"));
  }
}
