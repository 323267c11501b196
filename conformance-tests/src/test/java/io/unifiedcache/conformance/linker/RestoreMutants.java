package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.LinkerSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;

/** Small edits of this project's linker, each of which breaks a rule of restorable sets. */
public final class RestoreMutants {
  private RestoreMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        Edits.mutant(
            "restore.all-pages",
            "a pool of which all pages are needed is asked for its last",
            "longest restorable length",
            asking(
                query ->
                    query.policy() == HitPolicy.ALL_PAGES
                        ? PoolQuery.trailingPages(query.source(), 1)
                        : query)),
        Edits.mutant(
            "restore.all-pages",
            "all pages that are there count, those behind a hole included",
            "longest restorable length",
            RestoreMutants::counting),
        Edits.mutant(
            "restore.trailing-window",
            "a window is never longer than two pages",
            "longest restorable length",
            asking(
                query ->
                    new PoolQuery(query.source(), query.policy(), Math.min(2, query.window())))),
        Edits.mutant(
            "restore.trailing-window",
            "a long window is taken for all pages, so that nothing behind a hole counts",
            "longest restorable length",
            asking(query -> query.window() > 2 ? PoolQuery.allPages(query.source()) : query)),
        Edits.mutant(
            "restore.trailing-window",
            "no prefix shorter than a long window is admitted",
            "longest restorable length",
            finding(
                (spec, pages, queries, found) ->
                    only(
                        found.restorable(),
                        length ->
                            queries.stream()
                                .allMatch(each -> each.window() < 3 || length >= each.window())))),
        Edits.mutant(
            "restore.every-length",
            "only the longest length is answered",
            "restorable lengths",
            finding(
                (spec, pages, queries, found) ->
                    only(found.restorable(), length -> length == found.usablePages()))),
        Edits.mutant(
            "restore.every-length",
            "every length below the longest is answered, too",
            "restorable lengths",
            finding(
                (spec, pages, queries, found) ->
                    found.usablePages() > 3
                        ? RestorablePrefixes.upTo(found.usablePages())
                        : found.restorable())),
        Edits.mutant(
            "restore.intersection",
            "of the pools of a rank the minimum of their maxima is taken",
            "longest restorable length",
            finding(
                (spec, pages, queries, found) ->
                    hasKv(spec) && spec.ranks().size() == 1
                        ? with(found.restorable(), minimumOfMaxima(spec, found))
                        : found.restorable())),
        Edits.mutant(
            "restore.intersection",
            "of several ranks the minimum of their maxima is taken",
            "can both resume at",
            finding(
                (spec, pages, queries, found) ->
                    spec.ranks().size() > 1
                        ? with(found.restorable(), minimumOfRanks(spec, found))
                        : found.restorable())),
        Edits.mutant(
            "restore.intersection",
            "a rank answers what it finds by itself",
            "can both resume at",
            finding(
                (spec, pages, queries, found) ->
                    spec.ranks().size() > 1 && minimumOfRanks(spec, found) > 0
                        ? with(found.restorable(), minimumOfMaxima(spec, found))
                        : found.restorable())),
        Edits.mutant(
                "restore.all-components",
                "only the first object of a page counts",
                "lacks object",
                seeing(
                    (keys, store) -> {
                      BatchResult real = store.apply(keys);
                      BatchResult.Builder told = BatchResult.builder(keys.size());
                      for (int i = 0; i < keys.size(); i++) {
                        tell(told, i, real, isLater(keys.get(i)) ? ObjectStatus.OK : null);
                      }
                      return told.build();
                    }))
            .alsoBreaking("linker.outage"),
        Edits.mutant(
                "restore.all-components",
                "a page is there if any of its objects is",
                "lacks object",
                seeing(
                    (keys, store) -> {
                      BatchResult real = store.apply(keys);
                      Map<String, Boolean> anyThere = new HashMap<>();
                      for (int i = 0; i < keys.size(); i++) {
                        anyThere.merge(page(keys.get(i)), real.isOk(i), Boolean::logicalOr);
                      }
                      BatchResult.Builder told = BatchResult.builder(keys.size());
                      for (int i = 0; i < keys.size(); i++) {
                        boolean any = anyThere.getOrDefault(page(keys.get(i)), false);
                        tell(told, i, real, any ? ObjectStatus.OK : null);
                      }
                      return told.build();
                    }))
            .alsoBreaking("linker.outage"),
        Edits.mutant(
            "restore.anchor",
            "nothing is found where there is no physical KV",
            "longest restorable length",
            finding(
                (spec, pages, queries, found) ->
                    hasKv(spec) ? found.restorable() : RestorablePrefixes.none())),
        Edits.mutant(
            "restore.anchor",
            "everything is found where there is no physical KV",
            "longest restorable length",
            finding(
                (spec, pages, queries, found) ->
                    hasKv(spec) ? found.restorable() : RestorablePrefixes.upTo(pages.size()))),
        Edits.mutant(
            "restore.bounded-query",
            "side pools are asked for pages beyond those that KV has",
            "and for nothing else",
            RestoreMutants::askingBeyond),
        Edits.mutant(
            "restore.bounded-query",
            "each key is asked for in a call of its own",
            "to take no more than",
            seeing((keys, store) -> inParts(keys, store, ObjectKey::value))),
        Edits.mutant(
            "restore.bounded-query",
            "each pool is asked for in a call of its own",
            "to take no more than",
            seeing((keys, store) -> inParts(keys, store, RestoreMutants::pool))),
        Edits.mutant(
            "restore.bounded-query",
            "each key is asked for twice",
            "to ask for each key once",
            seeing(
                (keys, store) -> {
                  var unused = store.apply(keys);
                  return store.apply(keys);
                })),
        Edits.mutant(
                "restore.failed-lookup",
                "what the store could not tell of counts as there",
                "to find nothing but",
                seeing(
                    (keys, store) -> {
                      BatchResult real = store.apply(keys);
                      BatchResult.Builder told = BatchResult.builder(keys.size());
                      for (int i = 0; i < keys.size(); i++) {
                        boolean failed = real.status(i) == ObjectStatus.FAILED;
                        tell(told, i, real, failed ? ObjectStatus.OK : null);
                      }
                      return told.build();
                    }))
            .alsoBreaking("linker.outage"),
        Edits.mutant(
            "restore.failed-lookup",
            "a failure of the store is thrown",
            "it threw",
            RestoreMutants::throwing),
        Edits.mutant(
            "restore.failed-lookup",
            "failures of lookups are not counted",
            "to be counted",
            spec ->
                new EditedLinker(LinkerFactory.unifiedCache().open(spec)) {
                  @Override
                  public LinkerStats stats() {
                    LinkerStats real = super.stats();
                    return new LinkerStats(
                        real.lookups(),
                        /* lookupFailures= */ 0,
                        real.outages(),
                        real.loads(),
                        real.failedLoads(),
                        real.offloads(),
                        real.failedOffloads(),
                        real.objectsLoaded(),
                        real.bytesLoaded(),
                        real.objectsStored(),
                        real.bytesStored(),
                        real.objectsPresent(),
                        real.suspects(),
                        real.failures());
                  }
                }));
  }

  // Edits of what is asked and found.

  /** Returns linkers that are asked something else than the engine asks. */
  private static LinkerFactory asking(Function<PoolQuery, PoolQuery> edit) {
    return spec ->
        new EditedLinker(LinkerFactory.unifiedCache().open(spec)) {
          @Override
          public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
            return super.lookup(pages, pools.stream().map(edit).toList());
          }
        };
  }

  /** Counts the pages that are there, in lookups of all pages of kv and of another pool. */
  private static CacheLinker counting(LinkerSpec spec) {
    CacheLinker linker = LinkerFactory.unifiedCache().open(spec);
    if (!hasKv(spec) || spec.pools().pools().size() != 2) {
      return linker;
    }
    return new EditedLinker(linker) {
      @Override
      public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
        PoolTransferResult found = super.lookup(pages, pools);
        if (!pools.stream().allMatch(each -> each.policy() == HitPolicy.ALL_PAGES)) {
          return found;
        }
        int there = 0;
        for (PageKey page : pages) {
          there += super.lookup(List.of(page), pools).usablePages();
        }
        return new PoolTransferResult(RestorablePrefixes.upTo(there), found.hits());
      }
    };
  }

  private interface Finding {
    RestorablePrefixes edit(
        LinkerSpec spec, List<PageKey> pages, List<PoolQuery> queries, PoolTransferResult found);
  }

  /** Returns linkers that answer something else than they find. */
  private static LinkerFactory finding(Finding edit) {
    return spec ->
        new EditedLinker(LinkerFactory.unifiedCache().open(spec)) {
          @Override
          public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
            PoolTransferResult found = super.lookup(pages, pools);
            return new PoolTransferResult(edit.edit(spec, pages, pools, found), found.hits());
          }
        };
  }

  private static RestorablePrefixes only(RestorablePrefixes set, Predicate<Integer> kept) {
    BitSet bits = new BitSet();
    set.forEach(length -> bits.set(length - 1, kept.test(length)));
    return RestorablePrefixes.ofBits(bits);
  }

  private static RestorablePrefixes with(RestorablePrefixes set, int length) {
    BitSet bits = set.toBits();
    if (length > 0) {
      bits.set(length - 1);
    }
    return RestorablePrefixes.ofBits(bits);
  }

  private static boolean hasKv(LinkerSpec spec) {
    return spec.pools().pools().stream().anyMatch(pool -> pool.name().equals(PoolName.KV));
  }

  /** Returns the least of the longest lengths of the pools, 0 if one admits none. */
  private static int minimumOfMaxima(LinkerSpec spec, PoolTransferResult found) {
    return found.hits().size() < spec.pools().pools().size()
        ? 0
        : found.hits().values().stream().mapToInt(each -> each).min().orElse(0);
  }

  /** Returns the least of the longest lengths of the ranks, 0 if one is lost. */
  private static int minimumOfRanks(LinkerSpec spec, PoolTransferResult found) {
    BitSet own = new BitSet();
    own.set(0, minimumOfMaxima(spec, found));
    try {
      return spec.ranks().and(own, Deadline.after(Duration.ofSeconds(10))).length();
    } catch (RankLostException e) {
      return 0;
    }
  }

  // Edits of what a lookup sees of the store.

  private interface Seeing {
    BatchResult exists(List<ObjectKey> keys, Function<List<ObjectKey>, BatchResult> store);
  }

  /** Returns linkers whose lookups, and nothing else, see something else than the store says. */
  private static LinkerFactory seeing(Seeing edit) {
    return spec -> seeing(spec, edit);
  }

  private static CacheLinker seeing(LinkerSpec spec, Seeing edit) {
    // Lookups may ask the store on any thread.
    AtomicInteger looking = new AtomicInteger();
    LinkerSpec edited =
        Edits.withStore(
            spec,
            store ->
                new EditedStore(store) {
                  @Override
                  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
                    return looking.get() > 0
                        ? edit.exists(keys, some -> store.exists(some, by))
                        : store.exists(keys, by);
                  }
                });
    return new EditedLinker(LinkerFactory.unifiedCache().open(edited)) {
      @Override
      public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
        looking.incrementAndGet();
        try {
          return super.lookup(pages, pools);
        } finally {
          looking.decrementAndGet();
        }
      }
    };
  }

  /** Sets a status, or the real one if it is null. */
  private static void tell(
      BatchResult.Builder told,
      int i,
      BatchResult real,
      @org.jspecify.annotations.Nullable ObjectStatus status) {
    if (status != null) {
      told.set(i, status);
    } else if (real.status(i) == ObjectStatus.FAILED) {
      told.failed(i, real.failure(i));
    } else {
      told.set(i, real.status(i));
    }
  }

  /** Returns the key without the name of the component. */
  private static String page(ObjectKey key) {
    return key.value().substring(0, key.value().lastIndexOf('_'));
  }

  private static String component(ObjectKey key) {
    return key.value().substring(key.value().lastIndexOf('_') + 1);
  }

  /** Returns the name of the pool, which is before that of its layout in the strict form. */
  private static String pool(ObjectKey key) {
    String pool = page(key).substring(0, page(key).lastIndexOf('_'));
    return pool.substring(pool.lastIndexOf('_') + 1);
  }

  private static boolean isLater(ObjectKey key) {
    return component(key).equals("v") || component(key).startsWith("c");
  }

  /** Asks in a call of its own for each run of keys with the same name. */
  private static BatchResult inParts(
      List<ObjectKey> keys,
      Function<List<ObjectKey>, BatchResult> store,
      Function<ObjectKey, String> name) {
    BatchResult.Builder told = BatchResult.builder(keys.size());
    for (int from = 0; from < keys.size(); ) {
      int to = from + 1;
      while (to < keys.size() && name.apply(keys.get(to)).equals(name.apply(keys.get(from)))) {
        to++;
      }
      BatchResult part = store.apply(keys.subList(from, to));
      for (int i = from; i < to; i++) {
        if (part.status(i - from) == ObjectStatus.FAILED) {
          told.failed(i, part.failure(i - from));
        } else {
          told.set(i, part.status(i - from));
        }
      }
      from = to;
    }
    return told.build();
  }

  /** Tells the lookup that all of KV is there, and cuts what it finds. */
  private static CacheLinker askingBeyond(LinkerSpec spec) {
    if (spec.ranks().size() > 1 || !hasKv(spec)) {
      return LinkerFactory.unifiedCache().open(spec);
    }
    List<Boolean> kv = new ArrayList<>();
    CacheLinker linker =
        seeing(
            spec,
            (keys, store) -> {
              BatchResult real = store.apply(keys);
              BatchResult.Builder told = BatchResult.builder(keys.size());
              for (int i = 0; i < keys.size(); i++) {
                boolean isKv = pool(keys.get(i)).equals("kv");
                if (isKv) {
                  kv.add(real.isOk(i));
                }
                boolean hidden = isKv && real.status(i) == ObjectStatus.ABSENT;
                tell(told, i, real, hidden ? ObjectStatus.OK : null);
              }
              return told.build();
            });
    int components =
        spec.pools().pools().stream()
            .filter(pool -> pool.name().equals(PoolName.KV))
            .mapToInt(pool -> pool.components().size())
            .sum();
    return new EditedLinker(linker) {
      @Override
      public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
        kv.clear();
        PoolTransferResult found = super.lookup(pages, pools);
        int hits = kv.contains(false) ? kv.indexOf(false) / components : pages.size();
        return new PoolTransferResult(
            only(found.restorable(), length -> length <= hits), found.hits());
      }
    };
  }

  private static CacheLinker throwing(LinkerSpec spec) {
    List<CacheException> thrown = new ArrayList<>();
    CacheLinker linker =
        seeing(
            spec,
            (keys, store) -> {
              try {
                return store.apply(keys);
              } catch (CacheException e) {
                thrown.add(e);
                throw e;
              }
            });
    return new EditedLinker(linker) {
      @Override
      public PoolTransferResult lookup(List<PageKey> pages, List<PoolQuery> pools) {
        thrown.clear();
        PoolTransferResult found = super.lookup(pages, pools);
        if (!thrown.isEmpty()) {
          throw thrown.getFirst();
        }
        return found;
      }
    };
  }
}
