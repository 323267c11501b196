package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.ScriptedStore.bytes;
import static io.unifiedcache.backend.mooncake.ScriptedStore.get;
import static io.unifiedcache.backend.mooncake.ScriptedStore.key;
import static io.unifiedcache.backend.mooncake.ScriptedStore.put;
import static io.unifiedcache.backend.mooncake.ScriptedStore.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tenants on a master that keeps them apart.
 *
 * <p>A class for each client, since a process can have only one of them.
 */
abstract class Tenants {
  private static final long QUOTA = 16 << 20;

  @RegisterExtension
  static final MooncakeCluster CLUSTER =
      MooncakeCluster.withLeases(1_000).tenants(QUOTA, "default", "red", "blue");

  private final Choice client;
  private final List<CacheStore> stores = new ArrayList<>();

  Tenants(Choice client) {
    this.client = client;
  }

  @AfterEach
  void close() {
    stores.forEach(CacheStore::close);
  }

  @Test
  void put_sameKeysOfTwoTenants_areObjectsOfTheirOwn() {
    CacheStore red = open("red");
    CacheStore blue = open("blue");
    assertThat(
            red.put(List.of(put("page", 1, 10), put("only-red", 1, 10)), soon())
                .count(ObjectStatus.OK))
        .isEqualTo(2);
    assertThat(blue.put(List.of(put("page", 2, 20)), soon()).isOk(0)).isTrue();
    GetOp ofRed = get("page", 10);
    GetOp ofBlue = get("page", 20);
    assertThat(red.get(List.of(ofRed), soon()).isOk(0)).isTrue();
    assertThat(blue.get(List.of(ofBlue), soon()).isOk(0)).isTrue();
    assertThat(bytes(ofRed.pieces())).containsOnly(1);
    assertThat(bytes(ofBlue.pieces())).containsOnly(2);
    assertThat(blue.exists(List.of(key("only-red")), soon()).status(0))
        .isEqualTo(ObjectStatus.ABSENT);
    assertThat(open("default").exists(List.of(key("page")), soon()).status(0))
        .isEqualTo(ObjectStatus.ABSENT);
  }

  @Test
  void put_tenantThatTheMasterDoesNotKnow_isRefusedByName() {
    BatchResult result = open("green").put(List.of(put("page", 1, 10)), soon());
    assertThat(result.failure(0).code()).isEqualTo(FailureCode.REFUSED);
    assertThat(result.failure(0).message()).contains("-1701", "tenant_id");
  }

  @Test
  void put_beyondTheQuotaOfATenant_findsNoRoomAndLeavesOthersAlone() {
    CacheStore red = open("red");
    BatchResult result = red.put(List.of(put("large", 1, QUOTA + 1)), soon());
    assertThat(result.failure(0).code()).isEqualTo(FailureCode.NO_SPACE);
    assertThat(result.failure(0).message()).contains("-1700", "tenant_id");
    assertThat(putSmall(red, "small")).isTrue();
    assertThat(putSmall(open("blue"), "small")).isTrue();
  }

  @Test
  void clear_keysOfATenant_removesThoseAlone_andFailsWhereNobodyTellsWhatIsLeft() {
    CacheStore red = open("red");
    CacheStore blue = open("blue");
    assertThat(putSmall(red, "c.1")).isTrue();
    assertThat(putSmall(blue, "c.1")).isTrue();
    assertThatThrownBy(() -> red.clear(KeyPrefix.of("c."), soon()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.UNREACHABLE))
        .hasMessageContainingAll("0 objects under c. were removed", "tenant_id");
    CLUSTER.await("all of red is removed", () -> isCleared(red));
    assertThat(red.clear(KeyPrefix.of("c."), soon())).isEqualTo(new ClearResult(0, 0));
    assertThat(blue.exists(List.of(key("c.1")), soon()).isOk(0)).isTrue();
  }

  private static boolean isCleared(CacheStore store) {
    try {
      return store.clear(KeyPrefix.EVERYTHING, soon()).kept() == 0;
    } catch (CacheException e) {
      return false;
    }
  }

  private static boolean putSmall(CacheStore store, String key) {
    return store.put(List.of(put(key, 1, 10)), soon()).isOk(0);
  }

  private CacheStore open(String tenant) {
    Map<String, String> settings = new TreeMap<>(CLUSTER.settings(client));
    settings.put("tenant_id", tenant);
    CacheStore store =
        MooncakeStore.open(
            ScriptedStore.settings(settings, Map.of()), StoreContext.of("mooncake-tenants"));
    stores.add(store);
    return store;
  }
}
