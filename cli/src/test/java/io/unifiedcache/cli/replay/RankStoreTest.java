package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RankStoreTest {
  private static final int LAYERS = 4;
  private static final int BYTES = 16;
  private static final Deadline NEVER = Deadline.never();

  private final List<ObjectKey> keys =
      IntStream.range(0, 3).mapToObj(i -> new ObjectKey("key-" + i)).toList();

  private final CacheStore shared = open();
  private final RankStore store = new RankStore(shared, LAYERS);

  private static CacheStore open() {
    CacheStoreProvider provider = Backends.discover().named("memory");
    return provider.open(
        Settings.builder(provider.options()).build(), StoreContext.of("rank-store-test"));
  }

  private static HostMemory memory() {
    return HostMemory.of(Arena.ofAuto().allocate(BYTES));
  }

  @BeforeEach
  void fill() {
    store.put(keys.stream().map(key -> new PutOp(key, List.of(memory()))).toList(), NEVER);
  }

  @AfterEach
  void closeShared() {
    shared.close();
  }

  private BatchResult readAll(ReadSession session) {
    return session.read(
        IntStream.range(0, keys.size())
            .mapToObj(entry -> new ReadOp(entry, List.of(new Range(0, memory()))))
            .toList(),
        NEVER);
  }

  private BatchResult getAll() {
    return store.get(keys.stream().map(key -> new GetOp(key, List.of(memory()))).toList(), NEVER);
  }

  @Test
  void bytesStored_countsWhatWasNewAlone() {
    store.put(List.of(new PutOp(keys.getFirst(), List.of(memory()))), NEVER);
    store.put(List.of(new PutOp(new ObjectKey("new"), List.of(memory()))), NEVER);

    assertThat(store.bytesStored()).isEqualTo(4 * BYTES);
  }

  @Test
  void failNextLoad_layers_failsOneObjectOfOneRead() {
    store.failNextLoad(/* bits= */ 1 * LAYERS + 2); // object 1, layer 2
    try (ReadSession session = store.openSession(keys, NEVER)) {
      for (int layer = 0; layer < LAYERS; layer++) {
        BatchResult result = readAll(session);

        assertThat(result.count(ObjectStatus.FAILED))
            .as("layer %d", layer)
            .isEqualTo(layer == 2 ? 1 : 0);
        assertThat(result.isOk(1)).isEqualTo(layer != 2);
      }
    }
  }

  @Test
  void failNextLoad_pages_failsOneObjectOfTheFirstRead() {
    store.failNextLoad(/* bits= */ 5 * LAYERS + 2); // object 5 modulo 3

    BatchResult first = getAll();
    BatchResult second = getAll();

    assertThat(first.count(ObjectStatus.FAILED)).isEqualTo(1);
    assertThat(first.status(2)).isEqualTo(ObjectStatus.FAILED);
    assertThat(second.count(ObjectStatus.OK)).isEqualTo(3);
  }

  @Test
  void failNoMore_takesAnUnusedFaultBack() {
    store.failNextLoad(/* bits= */ 0);
    store.failNoMore();

    assertThat(getAll().count(ObjectStatus.OK)).isEqualTo(3);
  }

  @Test
  void close_leavesTheSharedStoreOpen() {
    store.close();

    assertThat(shared.exists(keys, NEVER).count(ObjectStatus.OK)).isEqualTo(3);
  }
}
