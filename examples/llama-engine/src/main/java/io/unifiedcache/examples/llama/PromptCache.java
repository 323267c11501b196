package io.unifiedcache.examples.llama;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pages of prompts in a store: what this engine asks of the linker.
 *
 * <p>Nothing that happens to the store is an error here: what cannot be restored is computed.
 *
 * <p>Used by one thread.
 */
final class PromptCache {
  /** What the engine does with layers as they come. */
  interface Layers {
    /** The first so many pages of the prompt are coming. */
    void begin(int pages);

    /** A layer of them is in its slots. */
    void take(int layer);

    /** All of them have come. Not called where one has failed. */
    void end();
  }

  private static final Logger LOG = LoggerFactory.getLogger(PromptCache.class);

  /** Beyond the linker's own limits: a wait that ends by itself only if the linker is broken. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private static final int TRIES = 4;

  private final CacheLinker linker;
  private final int layers;
  private final List<PoolQuery> pools;
  private long requests;
  private int offloading;

  /**
   * Creates a cache.
   *
   * @param layers the number of the model's layers
   * @param pools for each pool which pages a prefix needs
   */
  PromptCache(CacheLinker linker, int layers, List<PoolQuery> pools) {
    this.linker = linker;
    this.layers = layers;
    this.pools = List.copyOf(pools);
  }

  /**
   * Loads the longest prefix of the given pages that can be restored.
   *
   * @return the number of its pages; layers that the engine took before a failure are void
   */
  int restore(List<PageKey> pages, Layers engine) {
    for (int tries = 0; tries < TRIES; tries++) {
      int length = linker.lookup(pages, pools).usablePages();
      if (length == 0) {
        return 0;
      }
      if (load(pages.subList(0, length), engine)) {
        return length;
      }
      // What has failed is not offered again: the next try is for less.
    }
    return 0;
  }

  private boolean load(List<PageKey> prefix, Layers engine) {
    linker.load(new TransferRequest(nextId("load"), transfers(prefix)));
    LoadBatch batch = linker.startLayerWiseLoading();
    engine.begin(prefix.size());
    try {
      for (int layer = 0; layer < layers; layer++) {
        batch.awaitLayer(layer, LIMIT);
        engine.take(layer);
      }
    } catch (CacheException e) {
      LOG.info("{} pages could not be restored: {}", prefix.size(), e.getMessage());
    }
    // Only its completion says that a load is good, and that nobody writes to its slots any more.
    List<Completion> ended = awaited(linker::pollLoads);
    boolean ok = ended.getFirst().ok();
    if (ok) {
      engine.end();
    }
    return ok;
  }

  /**
   * Names what each pool needs for a prefix, and the slots: those with the numbers of the pages.
   */
  private List<PoolTransfer> transfers(List<PageKey> prefix) {
    List<PoolTransfer> transfers = new ArrayList<>();
    for (PoolQuery pool : pools) {
      int first = pool.firstPage(prefix.size());
      List<PageKey> needed = prefix.subList(first, prefix.size());
      transfers.add(new PoolTransfer(pool.source(), needed, Slots.range(first, needed.size())));
    }
    return transfers;
  }

  /** Stores a page that has been computed, in all pools, while the engine goes on. */
  void offload(PageKey key, int page) {
    List<PoolTransfer> transfers = new ArrayList<>();
    for (PoolQuery pool : pools) {
      transfers.add(new PoolTransfer(pool.source(), List.of(key), Slots.of(page)));
    }
    linker.offload(new TransferRequest(nextId("offload"), transfers));
    offloading++;
  }

  /** Waits until the slots of all pages that were offloaded are free. */
  void settle() {
    while (offloading > 0) {
      for (Completion end : awaited(linker::pollOffloads)) {
        offloading--;
        end.failures().forEach(failure -> LOG.info("a page was not stored: {}", failure));
      }
    }
  }

  /** Polls until something has ended. An interrupt ends no wait for slots; it is kept for later. */
  private static List<Completion> awaited(Function<Duration, List<Completion>> poll) {
    boolean interrupted = false;
    List<Completion> ended = List.of();
    while (ended.isEmpty()) {
      interrupted |= Thread.interrupted();
      ended = poll.apply(LIMIT);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return ended;
  }

  private String nextId(String kind) {
    return kind + "-" + requests++;
  }
}
