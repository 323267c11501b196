package io.unifiedcache.linker.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.linker.golden.Allocations;
import io.unifiedcache.linker.key.KeyTemplate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PrefixLookupTest {
  private static final StoreFailure FAILURE = StoreFailure.of(FailureCode.IO, "a broken disk");

  private final Set<String> there = new HashSet<>();
  private final Set<String> failing = new HashSet<>();
  private final Set<String> suspects = new HashSet<>();
  private final List<List<String>> calls = new ArrayList<>();
  private final List<StoreFailure> failures = new ArrayList<>();

  @Test
  void lookup_allPages_admitsEveryLengthOfTheLeadingRun() {
    put("a", 0, 1, 2, 4);

    PoolTransferResult result = lookup(6, all("a"));

    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(1, 2, 3));
    assertThat(result.hits()).isEqualTo(Map.of(new PoolName("a"), 3));
  }

  @Test
  void lookup_trailingWindow_admitsLengthsBehindHoles() {
    put("a", 0, 2, 3, 5);

    assertThat(lookup(6, trailing("a", 2)).restorable()).isEqualTo(RestorablePrefixes.of(1, 4));
    assertThat(lookup(6, trailing("a", 1)).restorable())
        .isEqualTo(RestorablePrefixes.of(1, 3, 4, 6));
  }

  @Test
  void lookup_windowLongerThanThePrompt_needsAllOfThePrefix() {
    put("a", 0, 1, 3);

    assertThat(lookup(4, trailing("a", Integer.MAX_VALUE)).restorable())
        .isEqualTo(RestorablePrefixes.of(1, 2));
  }

  @Test
  void lookup_severalPools_intersectsSetsNotMaxima() {
    put("a", 0, 2);
    put("b", 1, 2);

    PoolTransferResult result = lookup(3, trailing("a", 1), trailing("b", 1));

    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(3));
    put("c", 0);
    assertThat(lookup(3, trailing("c", 1), trailing("b", 1)).restorable().isEmpty()).isTrue();
  }

  @Test
  void lookup_componentMissing_pageIsAbsent() {
    put("kv#0", 0, 1, 2);
    put("kv#1", 0, 2);

    assertThat(lookup(3, anchor(2)).restorable()).isEqualTo(RestorablePrefixes.of(1));
  }

  @Test
  void lookup_anchor_asksOthersOnlyAboutItsHitsAndTogether() {
    put("kv", 0, 1, 3);
    put("a", 0, 1, 2, 3);
    put("b", 1);

    PoolTransferResult result = lookup(4, all("a"), anchor(1), trailing("b", 1));

    assertThat(calls)
        .containsExactly(
            List.of("p0/kv", "p1/kv", "p2/kv", "p3/kv"), List.of("p0/a", "p1/a", "p0/b", "p1/b"));
    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(2));
    assertThat(result.hits())
        .isEqualTo(Map.of(PoolName.KV, 2, new PoolName("a"), 2, new PoolName("b"), 2));
  }

  @Test
  void lookup_anchorWithoutHits_asksNothingMore() {
    put("a", 0, 1);

    PoolTransferResult result = lookup(2, anchor(1), all("a"));

    assertThat(calls).containsExactly(List.of("p0/kv", "p1/kv"));
    assertThat(result.restorable().isEmpty()).isTrue();
    assertThat(result.hits()).isEmpty();
  }

  @Test
  void lookup_noAnchor_asksAllPoolsAtOnce() {
    put("a", 0);
    put("b", 0, 1);

    PoolTransferResult result = lookup(2, all("a"), all("b"));

    assertThat(calls).containsExactly(List.of("p0/a", "p1/a", "p0/b", "p1/b"));
    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(1));
  }

  @Test
  void lookup_setAlreadyEmpty_laterPoolsHaveNoHits() {
    put("kv", 0, 1);
    put("b", 0, 1);

    assertThat(lookup(2, anchor(1), all("a"), all("b")).hits()).isEqualTo(Map.of(PoolName.KV, 2));
  }

  @Test
  void lookup_noPages_asksNothing() {
    PoolTransferResult result = lookup(0, anchor(1), all("a"));

    assertThat(calls).isEmpty();
    assertThat(result.restorable().isEmpty()).isTrue();
    assertThat(result.hits()).isEmpty();
  }

  @Test
  void lookup_noPools_nothingRestricts() {
    assertThat(lookup(3).restorable()).isEqualTo(RestorablePrefixes.upTo(3));
    assertThat(calls).isEmpty();
  }

  @Test
  void lookup_batchLimit_splitsEachPhase() {
    put("kv#0", 0, 1, 2, 3, 4);
    put("kv#1", 0, 1, 2, 3, 4);
    put("a", 0, 1, 2, 3, 4);

    PoolTransferResult result =
        lookup(4, key -> false).lookup(pages(5), List.of(anchor(2), all("a")));

    assertThat(calls).extracting(List::size).containsExactly(4, 4, 2, 4, 1);
    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.upTo(5));
  }

  @Test
  void lookup_failedObject_shortensTheAnswerAndIsTold() {
    put("kv", 0, 1, 2);
    put("a", 0, 1, 2);
    failing.add("p1/a");

    PoolTransferResult result = lookup(3, anchor(1), all("a"));

    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(1));
    assertThat(failures).containsExactly(FAILURE);
  }

  @Test
  void lookup_suspectObject_isAbsentAndNotAskedAbout() {
    put("kv", 0, 1, 2, 3);
    put("a", 0, 1, 2, 3);
    suspects.add("p1/a");
    suspects.add("p3/kv");

    PoolTransferResult result = lookup(4, anchor(1), trailing("a", 1));

    assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(1, 3));
    assertThat(calls).containsExactly(List.of("p0/kv", "p1/kv", "p2/kv"), List.of("p0/a", "p2/a"));
    assertThat(failures).isEmpty();
  }

  @Test
  void lookup_suspectComponent_keepsTheOthersOfItsPageFromBeingAsked() {
    put("kv#0", 0, 1);
    put("kv#1", 0, 1);
    suspects.add("p1/kv#1");

    assertThat(lookup(2, anchor(2)).restorable()).isEqualTo(RestorablePrefixes.of(1));
    assertThat(calls).containsExactly(List.of("p0/kv#0", "p0/kv#1"));
  }

  @Test
  void lookup_storeAnswersTooFew_countsAsFailure() {
    PrefixLookup lookup =
        new PrefixLookup(
            10,
            key -> false,
            keys -> BatchResult.all(keys.size() - 1, ObjectStatus.OK),
            failures::add);

    assertThat(lookup.lookup(pages(2), List.of(anchor(1))).restorable().isEmpty()).isTrue();
    assertThat(failures)
        .singleElement()
        .satisfies(
            failure -> {
              assertThat(failure.code()).isEqualTo(FailureCode.INTERNAL);
              assertThat(failure.message()).contains("1 entries").contains("about 2");
            });
  }

  @Test
  void lookup_storeThrows_throws() {
    CacheException closed = new CacheException(FailureCode.CLOSED, "closed");
    PrefixLookup lookup =
        new PrefixLookup(
            10,
            key -> false,
            keys -> {
              throw closed;
            },
            failures::add);

    assertThatThrownBy(() -> lookup.lookup(pages(1), List.of(anchor(1)))).isSameAs(closed);
  }

  @Test
  void lookup_twoAnchors_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> lookup(1, anchor(1), anchor(2)))
        .withMessageContaining("at most one anchor");
  }

  @Test
  void constructor_limitBelow1_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> lookup(0, key -> false))
        .withMessageContaining("at least 1 key, not 0");
  }

  @Test
  void askedPool_mistakes_areRefused() {
    List<KeyTemplate> one = templates("a", 1);
    PoolName name = new PoolName("a");

    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AskedPool(name, List.of(), HitPolicy.ALL_PAGES, 1, false))
        .withMessageContaining("pool a has no objects");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AskedPool(name, one, HitPolicy.TRAILING_PAGES, 0, false))
        .withMessageContaining("window of pool a must be at least 1 page, not 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AskedPool(name, one, HitPolicy.TRAILING_PAGES, 1, true))
        .withMessageContaining("needs all pages, not trailing_pages");
  }

  /** Holds lookups of random prompts against the words of the rules, tried out length by length. */
  @Test
  void lookup_randomStores_equalsTheDefinition() {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    for (int round = 0; round < 3000; round++) {
      there.clear();
      failing.clear();
      suspects.clear();
      calls.clear();
      failures.clear();
      int pages = random.nextInt(12);
      int limit = 1 + random.nextInt(20);
      List<AskedPool> pools = randomPools(random, pages);

      PoolTransferResult result =
          lookup(limit, key -> suspects.contains(key.value())).lookup(pages(pages), pools);

      String what = "seed %d, round %d: %d pages of %s".formatted(seed, round, pages, pools);
      assertThat(result.restorable()).as(what).isEqualTo(defined(pages, pools));
      assertThat(result.hits()).as(what).isEqualTo(definedHits(pages, pools));
      assertThat(calls).as(what).allSatisfy(call -> assertThat(call).hasSizeBetween(1, limit));
      if (suspects.isEmpty()) {
        assertThat(calls).as(what).hasSize(definedCalls(pages, pools, limit));
      }
    }
  }

  @Test
  void lookup_longPrompt_allocatesLittleBeyondTheKeys() {
    int pages = 100_000;
    Map<PageKey, ObjectKey> keys = new HashMap<>();
    List<PageKey> prompt = pages(pages);
    prompt.forEach(page -> keys.put(page, new ObjectKey(page.value())));
    KeyTemplate template =
        page -> {
          ObjectKey key = keys.get(page);
          return key == null ? new ObjectKey(page.value()) : key;
        };
    List<AskedPool> pools =
        List.of(new AskedPool(PoolName.KV, List.of(template), HitPolicy.ALL_PAGES, 1, true));
    BatchResult all = BatchResult.all(pages, ObjectStatus.OK);
    PrefixLookup lookup =
        new PrefixLookup(Integer.MAX_VALUE, key -> false, batch -> all, failures::add);

    assertThat(lookup.lookup(prompt, pools).usablePages()).isEqualTo(pages);
    assertThat(Allocations.of(() -> lookup.lookup(prompt, pools))).isLessThan(16L * pages);
  }

  private List<AskedPool> randomPools(Random random, int pages) {
    List<AskedPool> pools = new ArrayList<>();
    double density = random.nextDouble();
    boolean anchored = random.nextBoolean();
    int others = random.nextInt(4) + (anchored ? 0 : 1);
    if (anchored) {
      pools.add(anchor(1 + random.nextInt(3)));
    }
    for (int i = 0; i < others; i++) {
      HitPolicy policy = random.nextBoolean() ? HitPolicy.ALL_PAGES : HitPolicy.TRAILING_PAGES;
      pools.add(
          random.nextInt(pools.size() + 1),
          new AskedPool(
              new PoolName("s" + i),
              templates("s" + i, 1 + random.nextInt(3)),
              policy,
              1 + random.nextInt(6),
              false));
    }
    boolean troubled = random.nextInt(3) == 0;
    for (AskedPool pool : pools) {
      for (PageKey page : pages(pages)) {
        for (KeyTemplate template : pool.templates()) {
          String key = template.key(page).value();
          if (random.nextDouble() < density) {
            there.add(key);
          }
          if (troubled && random.nextInt(10) == 0) {
            (random.nextBoolean() ? failing : suspects).add(key);
          }
        }
      }
    }
    return pools;
  }

  /** Returns the lengths at which all pools can resume, as the rules say it. */
  private RestorablePrefixes defined(int pages, List<AskedPool> pools) {
    return RestorablePrefixes.of(
        IntStream.rangeClosed(1, pages)
            .filter(length -> pools.stream().allMatch(pool -> admits(pool, length)))
            .toArray());
  }

  private Map<PoolName, Integer> definedHits(int pages, List<AskedPool> pools) {
    Map<PoolName, Integer> hits = new HashMap<>();
    int reach = reach(pages, pools);
    List<AskedPool> ordered = new ArrayList<>(pools);
    ordered.sort((a, b) -> Boolean.compare(b.anchor(), a.anchor()));
    for (int i = 0; i < ordered.size(); i++) {
      if (defined(reach, ordered.subList(0, i)).isEmpty()) {
        break;
      }
      for (int length = reach; length > 0; length--) {
        if (admits(ordered.get(i), length)) {
          hits.put(ordered.get(i).name(), length);
          break;
        }
      }
    }
    return hits;
  }

  /** Returns how many pages the anchor has in a row, or all where there is none. */
  private int reach(int pages, List<AskedPool> pools) {
    return defined(pages, pools.stream().filter(AskedPool::anchor).toList()).longest();
  }

  private int definedCalls(int pages, List<AskedPool> pools, int limit) {
    int anchored = 0;
    int others = 0;
    for (AskedPool pool : pools) {
      if (pool.anchor()) {
        anchored += pages * pool.templates().size();
      } else {
        others += reach(pages, pools) * pool.templates().size();
      }
    }
    return Math.ceilDiv(anchored, limit) + Math.ceilDiv(others, limit);
  }

  private boolean admits(AskedPool pool, int length) {
    int first = pool.policy() == HitPolicy.ALL_PAGES ? 0 : Math.max(0, length - pool.window());
    for (int page = first; page < length; page++) {
      for (KeyTemplate template : pool.templates()) {
        String key = template.key(new PageKey("p" + page)).value();
        if (!there.contains(key) || failing.contains(key) || suspects.contains(key)) {
          return false;
        }
      }
    }
    return true;
  }

  private PoolTransferResult lookup(int pages, AskedPool... pools) {
    return lookup(Integer.MAX_VALUE, key -> suspects.contains(key.value()))
        .lookup(pages(pages), List.of(pools));
  }

  private PrefixLookup lookup(int limit, Predicate<ObjectKey> suspect) {
    return new PrefixLookup(limit, suspect, this::exists, failures::add);
  }

  private BatchResult exists(List<ObjectKey> keys) {
    calls.add(keys.stream().map(ObjectKey::value).toList());
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      String key = keys.get(i).value();
      if (failing.contains(key)) {
        result.failed(i, FAILURE);
      } else {
        result.set(i, there.contains(key) ? ObjectStatus.OK : ObjectStatus.ABSENT);
      }
    }
    return result.build();
  }

  private void put(String object, int... pages) {
    for (int page : pages) {
      there.add("p" + page + "/" + object);
    }
  }

  private static AskedPool anchor(int objects) {
    return new AskedPool(PoolName.KV, templates("kv", objects), HitPolicy.ALL_PAGES, 1, true);
  }

  private static AskedPool all(String pool) {
    return new AskedPool(new PoolName(pool), templates(pool, 1), HitPolicy.ALL_PAGES, 1, false);
  }

  private static AskedPool trailing(String pool, int window) {
    return new AskedPool(
        new PoolName(pool), templates(pool, 1), HitPolicy.TRAILING_PAGES, window, false);
  }

  private static List<KeyTemplate> templates(String pool, int objects) {
    if (objects == 1) {
      return List.of(page -> new ObjectKey(page + "/" + pool));
    }
    List<KeyTemplate> templates = new ArrayList<>();
    for (int i = 0; i < objects; i++) {
      int object = i;
      templates.add(page -> new ObjectKey(page + "/" + pool + "#" + object));
    }
    return templates;
  }

  private static List<PageKey> pages(int count) {
    List<PageKey> pages = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      pages.add(new PageKey("p" + i));
    }
    return pages;
  }
}
