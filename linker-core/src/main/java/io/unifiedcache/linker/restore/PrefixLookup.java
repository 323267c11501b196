package io.unifiedcache.linker.restore;

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
import io.unifiedcache.linker.key.KeyTemplate;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Finds the prefix lengths of a prompt at which this rank can resume, by asking a store which
 * objects it has.
 *
 * <p>The anchor is asked about first, then the other pools together and only about the pages that
 * the anchor has; without an anchor all pools are asked about at once (rules {@code
 * restore.bounded-query}, {@code restore.anchor}). A failed object and a suspect one count as
 * absent, so that both shorten the answer (rule {@code restore.failed-lookup}); what they decide
 * alone is not asked about.
 *
 * <p>Immutable; as thread-safe as the functions it is given. Beyond the keys a lookup allocates a
 * list of them and a few bits per page.
 */
public final class PrefixLookup {
  private final int batchLimit;
  private final Predicate<ObjectKey> suspect;
  private final Function<List<ObjectKey>, BatchResult> exists;
  private final Consumer<StoreFailure> failures;

  /**
   * Creates a lookup.
   *
   * @param batchLimit the most keys of one call of {@code exists}, at least 1
   * @param suspect whether an object failed to load and was not stored anew since
   * @param exists asks a store; one status per key, in order. What it throws, a lookup throws
   * @param failures receives the failure of each object that the store could not tell of
   * @throws IllegalArgumentException if the limit is below 1
   */
  public PrefixLookup(
      int batchLimit,
      Predicate<ObjectKey> suspect,
      Function<List<ObjectKey>, BatchResult> exists,
      Consumer<StoreFailure> failures) {
    if (batchLimit < 1) {
      throw new IllegalArgumentException("a batch has at least 1 key, not " + batchLimit);
    }
    this.batchLimit = batchLimit;
    this.suspect = Objects.requireNonNull(suspect, "suspect");
    this.exists = Objects.requireNonNull(exists, "exists");
    this.failures = Objects.requireNonNull(failures, "failures");
  }

  /**
   * Returns every length at which all pools can resume (rules {@code restore.every-length}, {@code
   * restore.intersection}), and for each pool the longest length that it alone admits.
   *
   * <p>Pools are evaluated in their order, the anchor first. A pool that admits nothing, or comes
   * after the set has become empty, is not in the map of hits. Without a pool nothing restricts the
   * set; that a model has one is seen to where its pools are put together.
   *
   * @param pages the pages of the prompt, from the first on; without any, no question is asked
   * @param pools the pools, in the order in which they are evaluated
   * @throws IllegalArgumentException if there are two anchors
   */
  public PoolTransferResult lookup(List<PageKey> pages, List<AskedPool> pools) {
    List<AskedPool> anchors = pools.stream().filter(AskedPool::anchor).toList();
    if (anchors.size() > 1) {
      throw new IllegalArgumentException("a lookup has at most one anchor, not " + anchors);
    }
    if (pages.isEmpty()) {
      return new PoolTransferResult(RestorablePrefixes.none(), Map.of());
    }
    Map<PoolName, Integer> hits = new HashMap<>();
    int reach = pages.size();
    if (!anchors.isEmpty()) {
      reach = ask(pages, anchors).get(0).nextClearBit(0);
      if (reach == 0) {
        return new PoolTransferResult(RestorablePrefixes.none(), hits);
      }
      hits.put(anchors.get(0).name(), reach);
    }
    BitSet lengths = new BitSet(reach);
    lengths.set(0, reach);
    List<AskedPool> others = pools.stream().filter(pool -> !pool.anchor()).toList();
    List<BitSet> complete = ask(pages.subList(0, reach), others);
    for (int i = 0; i < others.size() && !lengths.isEmpty(); i++) {
      BitSet admitted = admitted(others.get(i), complete.get(i), reach);
      if (!admitted.isEmpty()) {
        hits.put(others.get(i).name(), admitted.length());
      }
      lengths.and(admitted);
    }
    return new PoolTransferResult(RestorablePrefixes.ofBits(lengths), hits);
  }

  /** Returns, for each pool, the pages all of whose objects the store has. */
  private List<BitSet> ask(List<PageKey> pages, List<AskedPool> pools) {
    List<BitSet> asked = new ArrayList<>(pools.size());
    List<ObjectKey> keys = new ArrayList<>(objects(pages.size(), pools));
    for (AskedPool pool : pools) {
      asked.add(collect(pages, pool, keys));
    }
    BitSet there = query(keys);
    int key = 0;
    int absent = there.nextClearBit(0);
    for (int i = 0; i < pools.size(); i++) {
      int objects = pools.get(i).templates().size();
      BitSet complete = asked.get(i);
      for (int page = complete.nextSetBit(0); page >= 0; page = complete.nextSetBit(page + 1)) {
        if (absent < key) {
          absent = there.nextClearBit(key);
        }
        if (absent < key + objects) {
          complete.clear(page);
        }
        key += objects;
      }
    }
    return asked;
  }

  private static int objects(int pages, List<AskedPool> pools) {
    int objects = 0;
    for (AskedPool pool : pools) {
      objects = Math.addExact(objects, Math.multiplyExact(pages, pool.templates().size()));
    }
    return objects;
  }

  /**
   * Adds the keys of the pool's pages, page after page, and returns which pages those are: not
   * those with a suspect object, nor, where all pages are needed, any after the first of them.
   */
  private BitSet collect(List<PageKey> pages, AskedPool pool, List<ObjectKey> keys) {
    List<KeyTemplate> templates = pool.templates();
    BitSet asked = new BitSet(pages.size());
    int page = 0;
    for (PageKey each : pages) {
      int before = keys.size();
      boolean sound = true;
      for (int i = 0; i < templates.size(); i++) {
        ObjectKey key = templates.get(i).key(each);
        sound &= !suspect.test(key);
        keys.add(key);
      }
      if (sound) {
        asked.set(page);
      } else {
        keys.subList(before, keys.size()).clear();
        if (pool.policy() == HitPolicy.ALL_PAGES) {
          break;
        }
      }
      page++;
    }
    return asked;
  }

  /** Returns which of the keys the store has, asked for in as few calls as the limit allows. */
  private BitSet query(List<ObjectKey> keys) {
    BitSet there = new BitSet(keys.size());
    for (int from = 0; from < keys.size(); ) {
      int to = (int) Math.min(keys.size(), (long) from + batchLimit);
      List<ObjectKey> batch = Collections.unmodifiableList(keys.subList(from, to));
      BatchResult result = exists.apply(batch);
      if (result.size() != batch.size()) {
        failures.accept(miscounted(batch.size(), result.size()));
      } else {
        for (int i = 0; i < batch.size(); i++) {
          if (result.isOk(i)) {
            there.set(from + i);
          } else if (result.status(i) == ObjectStatus.FAILED) {
            failures.accept(result.failure(i));
          }
        }
      }
      from = to;
    }
    return there;
  }

  private static StoreFailure miscounted(int asked, int answered) {
    return StoreFailure.of(
        FailureCode.INTERNAL,
        "the store answered " + answered + " entries when it was asked about " + asked);
  }

  /**
   * Returns the lengths that a pool admits, bit {@code i} standing for length {@code i + 1} (rules
   * {@code restore.all-pages}, {@code restore.trailing-window}).
   */
  private static BitSet admitted(AskedPool pool, BitSet complete, int pages) {
    BitSet lengths = new BitSet(pages);
    if (pool.policy() == HitPolicy.ALL_PAGES) {
      lengths.set(0, complete.nextClearBit(0));
      return lengths;
    }
    for (int from = complete.nextSetBit(0); from >= 0; ) {
      int to = complete.nextClearBit(from);
      // A run from the first page on fills the window of every length; a later one must be as long.
      long first = from == 0 ? 0 : (long) from + pool.window() - 1;
      if (first < to) {
        lengths.set((int) first, to);
      }
      from = complete.nextSetBit(to);
    }
    return lengths;
  }
}
