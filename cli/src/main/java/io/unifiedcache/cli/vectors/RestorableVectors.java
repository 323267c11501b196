package io.unifiedcache.cli.vectors;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.key.KeyTemplate;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks rows of restorable sets with lookups of the linker.
 *
 * <p>Keys play no part here, so they are strict ones. Where no pool has memory, which the linker
 * refuses, a pool that the store has in full stands in: it admits every length.
 */
final class RestorableVectors {
  private static final CacheIdentity IDENTITY = CacheIdentity.builder().model("vectors").build();

  private static final KeyLayout LAYOUT =
      KeyLayout.of(KeyForm.STRICT, IDENTITY, /* rankReplicated= */ false, EmptySegments.KEEP);

  private static final PoolName STAND_IN = new PoolName("stand-in");

  private final List<PageKey> pages = new ArrayList<>();
  private final List<DevicePool> pools = new ArrayList<>();
  private final List<PoolQuery> queries = new ArrayList<>();
  private final Map<String, ObjectStatus> objects = new HashMap<>();
  private final HostMemory memory = HostMemory.of(Arena.ofAuto().allocate(8));

  private RestorableVectors(int pages) {
    for (int page = 0; page < pages; page++) {
      this.pages.add(new PageKey("p" + page));
    }
  }

  static Verdict check(Row row) throws VectorException {
    List<Row> sidePools = row.objects("pools");
    List<HitPolicy> policies = new ArrayList<>();
    for (Row pool : sidePools) {
      try {
        policies.add(HitPolicy.parse(pool.text("policy")));
      } catch (IllegalArgumentException e) {
        return row.has("error")
            ? Verdict.matched()
            : Verdict.onPurpose("SGLang overlooks an unknown policy: " + e.getMessage());
      }
    }
    RestorableVectors vectors = new RestorableVectors(row.number("pages"));
    boolean physical = row.flag("kvPhysical");
    if (physical) {
      vectors.add(
          PoolQuery.allPages(PoolName.KV), row.number("kvMultiplier"), row.matrix("kvExists"));
    }
    for (int i = 0; i < sidePools.size(); i++) {
      Row pool = sidePools.get(i);
      int window = Math.max(1, pool.number("trailing", /* absent= */ 0));
      vectors.add(
          new PoolQuery(new PoolName(pool.text("name")), policies.get(i), window),
          pool.number("multiplier"),
          pool.matrix("exists"));
    }
    if (vectors.pools.isEmpty()) {
      vectors.add(
          PoolQuery.allPages(STAND_IN), 1, vectors.pages.stream().map(page -> List.of(1)).toList());
    }
    if (row.has("error")) {
      return Verdict.refuses(row.text("error"), vectors::lookup);
    }
    return compare(row, physical, vectors.lookup());
  }

  /** Adds a pool, and to the store the objects that it has of each page. */
  private void add(PoolQuery query, int multiplier, List<List<Integer>> exists)
      throws VectorException {
    PoolName name = query.source();
    List<Component> components = new ArrayList<>();
    for (String component : components(name, multiplier)) {
      components.add(new Component(component, List.of(new LayerBuffer(0, memory, 1))));
    }
    DevicePool pool = new DevicePool(name, components);
    pools.add(pool);
    queries.add(query);
    List<KeyTemplate> templates = LAYOUT.templates(pool);
    for (int page = 0; page < pages.size(); page++) {
      for (int i = 0; i < templates.size(); i++) {
        objects.put(templates.get(i).key(pages.get(page)).value(), status(exists.get(page).get(i)));
      }
    }
  }

  private static List<String> components(PoolName pool, int count) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add(pool + "-" + i);
    }
    return names;
  }

  private static ObjectStatus status(int answer) {
    return answer == 1 ? ObjectStatus.OK : answer == 0 ? ObjectStatus.ABSENT : ObjectStatus.FAILED;
  }

  private PoolTransferResult lookup() {
    try (CacheLinker linker =
        UnifiedCache.builder()
            .store(ScriptedStore.having(objects))
            .identity(IDENTITY)
            .pools(new DevicePools(pools, /* rankReplicated= */ false))
            .instance("vectors")
            .open()) {
      return linker.lookup(pages, queries);
    }
  }

  private static Verdict compare(Row row, boolean physical, PoolTransferResult found)
      throws VectorException {
    Map<String, Integer> expectedHits = row.numbersByName("hitCount");
    if (!physical) {
      expectedHits.remove(PoolName.KV.value());
    }
    Map<String, Integer> foundHits = new LinkedHashMap<>();
    found.hits().forEach((pool, hits) -> foundHits.put(pool.value(), hits));
    foundHits.remove(STAND_IN.value());
    List<Integer> lengths = new ArrayList<>();
    found.restorable().forEach(lengths::add);
    List<Integer> expectedLengths = row.numbers("restorable");
    int expectedPages = row.number("kvHitPages");
    return Verdict.compare("restorable", expectedLengths, lengths)
        .and(() -> Verdict.compare("kvHitPages", expectedPages, found.usablePages()))
        .and(() -> Verdict.compare("hitCount", expectedHits, foundHits));
  }
}
