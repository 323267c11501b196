package io.unifiedcache.examples.llama;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.PageHasher;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;

/**
 * Answers prompts with Gemma 3, and keeps their pages in a store.
 *
 * <p>Prompts are computed in batches that begin where pages begin. So equal tokens are computed in
 * equal batches whether or not those before them came from the store, and the answers are equal to
 * the last bit.
 *
 * <p>Used by one thread.
 */
final class LlamaEngine implements AutoCloseable {
  /** Tokens of a page, and of a batch. */
  static final int PAGE_TOKENS = 64;

  /** The most tokens of a prompt and its answer. */
  static final int CONTEXT_TOKENS = 2048;

  private static final PageHasher HASHER = PageHasher.of(PAGE_TOKENS);

  private final LlamaModel model;
  private final StateLayout layout;
  private final PoolQuery full = PoolQuery.allPages(PoolName.KV);
  private final PoolQuery sliding;
  private final PagePools pools;
  private final MemorySegment stateBuffer;
  private final CacheLinker linker;
  private final PromptCache cache;

  /**
   * Opens a linker to a store for a model.
   *
   * @param model Gemma 3; stays the caller's, who does not use it while the engine is open
   * @param salt engines with different ones use none of each other's pages
   * @param store adds where pages are kept: a backend and its settings, or an open store
   * @throws IllegalArgumentException if the model is not Gemma 3
   * @throws io.unifiedcache.api.CacheException if the linker cannot be opened
   */
  LlamaEngine(LlamaModel model, String salt, UnaryOperator<UnifiedCache.Builder> store) {
    this.model = model;
    // Freed once neither this engine nor its linker knows it any more.
    Arena arena = Arena.ofAuto();
    layout = layout(model);
    sliding = PoolQuery.trailingPages(PoolName.SWA, slidingWindow(model) / PAGE_TOKENS);
    pools =
        new PagePools(
            arena,
            layout.layers(),
            CONTEXT_TOKENS / PAGE_TOKENS,
            PAGE_TOKENS * layout.rowBytes(),
            LlamaEngine::isSliding);
    stateBuffer = arena.allocate(layout.bytes(CONTEXT_TOKENS));
    linker =
        store
            .apply(UnifiedCache.builder())
            .identity(
                CacheIdentity.builder()
                    .model(model.name())
                    .revision(model.digest())
                    .elementType("f16")
                    .pageTokens(PAGE_TOKENS)
                    // Another version's bytes, or those of other batches, could differ a little.
                    .tag("llama.cpp of de.kherud:llama:4.2.0, flash attention")
                    .salt(salt)
                    .build())
            .pools(pools.devicePools())
            .open();
    cache = new PromptCache(linker, layout.layers(), List.of(full, sliding));
  }

  /** Reads the layout off the state of one token. */
  private static StateLayout layout(LlamaModel model) {
    try (Arena scratch = Arena.ofConfined()) {
      model.decode(model.tokens(""), 0, 1);
      return StateLayout.of(model.rows(scratch, 0, 1));
    } finally {
      model.truncate(0);
    }
  }

  private static int slidingWindow(LlamaModel model) {
    return model
        .metadata("gemma3.attention.sliding_window")
        .map(Integer::parseInt)
        .filter(window -> window % PAGE_TOKENS == 0)
        .orElseThrow(() -> new IllegalArgumentException("the model is not Gemma 3"));
  }

  /** In Gemma 3 five layers of six have a sliding window. */
  private static boolean isSliding(int layer) {
    return (layer + 1) % 6 != 0;
  }

  /**
   * Answers a prompt with the likeliest tokens.
   *
   * @param prompt at least one token
   * @param answerTokens how many tokens to answer with
   * @throws IllegalArgumentException if both together are too long
   */
  Answer ask(int[] prompt, int answerTokens) {
    if (prompt.length + answerTokens > CONTEXT_TOKENS) {
      throw new IllegalArgumentException(
          "prompt and answer have more than " + CONTEXT_TOKENS + " tokens");
    }
    long start = System.nanoTime();
    cache.settle();
    int cached = prefill(prompt);
    float[] logits = model.logits();
    int[] answer = new int[answerTokens];
    answer[0] = likeliest(logits);
    Duration firstToken = Duration.ofNanos(System.nanoTime() - start);
    for (int i = 1; i < answerTokens; i++) {
      model.decode(answer, i - 1, 1);
      answer[i] = likeliest(model.logits());
    }
    return new Answer(answer, logits, cached, firstToken);
  }

  /** Restores what it can of a prompt and computes the rest; returns the tokens restored. */
  private int prefill(int[] prompt) {
    List<PageKey> pages = HASHER.pageKeys(prompt);
    // The last token is always computed: its logits are what the answer begins with.
    int most = (prompt.length - 1) / PAGE_TOKENS;
    model.truncate(0);
    int restored = cache.restore(pages.subList(0, most), new Restoration());
    for (int page = restored; page * PAGE_TOKENS < prompt.length; page++) {
      int from = page * PAGE_TOKENS;
      model.decode(prompt, from, Math.min(PAGE_TOKENS, prompt.length - from));
      if (page < pages.size()) {
        cutOut(page);
        cache.offload(pages.get(page), page);
      }
    }
    return restored * PAGE_TOKENS;
  }

  /** Returns the token with the highest score. */
  static int likeliest(float[] logits) {
    int best = 0;
    for (int token = 1; token < logits.length; token++) {
      if (logits[token] > logits[best]) {
        best = token;
      }
    }
    return best;
  }

  /** Copies the rows of a page from llama.cpp into its slot. */
  private void cutOut(int page) {
    int from = page * PAGE_TOKENS;
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment state = model.rows(scratch, from, from + PAGE_TOKENS);
      layout.requireForm(state, PAGE_TOKENS, from);
      for (int layer = 0; layer < layout.layers(); layer++) {
        long bytes = pools.pieceBytes();
        pools.keys(layer, page).copyFrom(state.asSlice(layout.keys(layer, PAGE_TOKENS), bytes));
        pools.values(layer, page).copyFrom(state.asSlice(layout.values(layer, PAGE_TOKENS), bytes));
      }
    }
  }

  /** Puts the rows of pages together, layer by layer as they come, and gives them to llama.cpp. */
  private final class Restoration implements PromptCache.Layers {
    private MemorySegment state = MemorySegment.NULL;
    private int pages;

    @Override
    public void begin(int count) {
      pages = count;
      int cells = count * PAGE_TOKENS;
      state = stateBuffer.asSlice(0, layout.bytes(cells));
      layout.writeForm(state, cells);
    }

    @Override
    public void take(int layer) {
      int cells = pages * PAGE_TOKENS;
      int first = (isSliding(layer) ? sliding : full).firstPage(pages);
      put(layout.keys(layer, cells), first, page -> pools.keys(layer, page));
      put(layout.values(layer, cells), first, page -> pools.values(layer, page));
    }

    /** Rows before the first page are masked, but only numbers times zero are zero. */
    private void put(long rows, int first, IntFunction<MemorySegment> pieces) {
      long bytes = pools.pieceBytes();
      state.asSlice(rows, first * bytes).fill((byte) 0);
      for (int page = first; page < pages; page++) {
        state.asSlice(rows + page * bytes, bytes).copyFrom(pieces.apply(page));
      }
    }

    @Override
    public void end() {
      model.restore(state);
    }
  }

  /** Returns the counters of the linker. */
  LinkerStats stats() {
    return linker.stats();
  }

  @Override
  public void close() {
    // A linker that is closed gives up what it has not stored yet.
    cache.settle();
    linker.close();
  }
}
