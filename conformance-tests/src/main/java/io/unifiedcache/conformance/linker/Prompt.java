package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Script;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Step;
import io.unifiedcache.conformance.run.Violation;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The pages of a prompt, stored in every pool of an engine, of which some are made to look as if
 * they were not; and what a lookup is to answer then, found by trying every length.
 *
 * <p>Used by one thread at a time.
 */
final class Prompt {
  private static final StoreFailure GONE =
      StoreFailure.of(FailureCode.ABSENT, "the object looks absent");
  private static final Step[] FINDING = {Step.EXISTS, Step.OPEN, Step.GET};

  private final Engine engine;
  private final List<PageKey> pages;

  /** By source, all of which have a query: what a lookup asks, and the pages that are there. */
  private final Map<PoolName, PoolQuery> queries = new LinkedHashMap<>();

  private final Map<PoolName, BitSet> there = new LinkedHashMap<>();

  /** Stores so many pages, which no other engine has stored, in every pool. */
  Prompt(Engine engine, int pages) {
    this(engine, "p", pages);
  }

  /** Stores so many pages, named so and counted from 0, in every pool. */
  Prompt(Engine engine, String name, int pages) {
    this.engine = engine;
    this.pages = LinkerRig.pages(name, pages);
    engine.store(this.pages);
    expectPut(engine, this.pages);
    for (PoolName source : engine.pools().sources()) {
      queries.put(source, PoolQuery.allPages(source));
    }
    showAll();
  }

  /** Fails the rule unless objects were put for pages that the engine says it has stored. */
  static void expectPut(Engine engine, List<PageKey> pages) {
    for (PageKey page : pages) {
      for (PoolName source : engine.pools().sources()) {
        if (engine.objects(page, source).isEmpty()) {
          throw new Violation(
              "an offload of page " + page + " of pool " + source + " to put its objects",
              "it told that they are stored, and put none");
        }
      }
    }
  }

  /** Returns the pages. */
  List<PageKey> pages() {
    return pages;
  }

  /** Returns the engine. */
  Engine engine() {
    return engine;
  }

  /** Sets what lookups ask of the pools of a source. */
  Prompt ask(PoolQuery query) {
    queries.put(query.source(), query);
    return this;
  }

  /** Has all pages be there. */
  void showAll() {
    for (PoolName source : queries.keySet()) {
      there.put(source, all());
    }
    engine.store().follow(Script.NONE);
  }

  private BitSet all() {
    BitSet all = new BitSet();
    all.set(0, pages.size());
    return all;
  }

  /** Has the pages of a source be there for which {@code pattern} has a 1, and no others. */
  void show(PoolName source, String pattern) {
    BitSet shown = new BitSet();
    for (int page = 0; page < pages.size(); page++) {
      shown.set(page, pattern.charAt(page) == '1');
    }
    there.put(source, shown);
    hide();
  }

  private void hide() {
    Set<ObjectKey> hidden = new HashSet<>();
    for (Map.Entry<PoolName, BitSet> each : there.entrySet()) {
      for (int page = 0; page < pages.size(); page++) {
        if (!each.getValue().get(page)) {
          hidden.addAll(engine.objects(pages.get(page), each.getKey()));
        }
      }
    }
    engine.store().follow(Script.failing(GONE, hidden, FINDING));
  }

  /** Has all pages be there but for one object. */
  void showAllBut(ObjectKey object) {
    showAll();
    engine.store().follow(Script.failing(GONE, Set.of(object), FINDING));
  }

  /** Looks the first so many pages up. */
  PoolTransferResult lookup(int length) {
    return engine.linker().lookup(pages.subList(0, length), List.copyOf(queries.values()));
  }

  /** Returns what a lookup of the first so many pages is to find. */
  RestorablePrefixes expected(int length) {
    BitSet lengths = new BitSet();
    for (int i = 1; i <= length; i++) {
      lengths.set(i - 1, isRestorable(i));
    }
    return RestorablePrefixes.ofBits(lengths);
  }

  private boolean isRestorable(int length) {
    for (PoolQuery query : queries.values()) {
      // Pools with slots of kv are needed whole.
      boolean last =
          query.policy() == HitPolicy.TRAILING_PAGES && !query.source().equals(PoolName.KV);
      int from = last ? Math.max(0, length - query.window()) : 0;
      BitSet shown = there.getOrDefault(query.source(), new BitSet());
      if (shown.nextClearBit(from) < length) {
        return false;
      }
    }
    return true;
  }

  /**
   * Looks up the first pages, so many for every number there is, and fails the rule unless the
   * longest length of each answer is right: all these tell of every length whether it is admitted.
   */
  void expectLongestOfEach() {
    for (int length = 1; length <= pages.size(); length++) {
      expectLongest(length, expected(length).longest());
    }
  }

  /** Fails the rule unless {@code longest} is the longest length of the first so many pages. */
  void expectLongest(int length, int longest) {
    int observed = lookup(length).usablePages();
    if (observed != longest) {
      throw new Violation(
          "the longest restorable length of the first %d of %s to be %d"
              .formatted(length, this, longest),
          Integer.toString(observed));
    }
  }

  /** Fails the rule unless a lookup of all pages answers every length. */
  void expectExactly(RestorablePrefixes lengths) {
    PoolTransferResult result = lookup(pages.size());
    if (!result.restorable().equals(lengths) || result.usablePages() != lengths.longest()) {
      throw new Violation(
          "the restorable lengths of %s to be %s and the longest %d"
              .formatted(this, lengths, lengths.longest()),
          result.restorable() + " and the longest " + result.usablePages());
    }
  }

  /** Returns the prompt in words, such as {@code 3 pages (kv 111; swa 101, the last 2)}. */
  @Override
  public String toString() {
    List<String> pools = new ArrayList<>();
    for (PoolQuery query : queries.values()) {
      StringBuilder text = new StringBuilder(query.source().value()).append(' ');
      BitSet shown = there.getOrDefault(query.source(), new BitSet());
      for (int page = 0; page < pages.size(); page++) {
        text.append(shown.get(page) ? '1' : '0');
      }
      if (query.policy() == HitPolicy.TRAILING_PAGES) {
        text.append(", the last ").append(query.window());
      }
      pools.add(text.toString());
    }
    return pages.size() + " pages (" + String.join("; ", pools) + ")";
  }
}
