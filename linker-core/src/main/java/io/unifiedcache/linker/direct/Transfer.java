package io.unifiedcache.linker.direct;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.TransferRequest;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A load or an offload on its way: what it moves, and what has become of each page.
 *
 * <p>Pages are counted over all pools that the request reaches: a page that two pools hold counts
 * twice. Failures are written by the one thread that runs the transfer, and read by others once the
 * {@link Ledger} knows that it has ended.
 */
final class Transfer {
  /** The pages of a request in one pool. */
  record PoolPages(PageObjects objects, PoolTransfer transfer, int firstPage) {
    int size() {
      return transfer.keys().size();
    }
  }

  /** One object of a transfer. */
  record Entry(Transfer transfer, PoolPages pages, int index, int component, ObjectKey key) {
    /** Returns the place of the object's page among all pages of the transfer. */
    int page() {
      return pages.firstPage() + index;
    }

    long slot() {
      return pages.transfer().slots().slot(index);
    }

    long bytes() {
      return pages.objects().objectBytes(component);
    }

    List<Memory> pieces() {
      return pages.objects().pieces(component, slot());
    }
  }

  private enum State {
    WAITING,
    RUNNING,
    CANCELLED
  }

  private final TransferRequest request;
  private final List<PoolPages> pools;
  private final int pages;
  private final @Nullable StoreFailure[] failures;
  private final List<CompletableFuture<?>> holds = new ArrayList<>();
  private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
  private final CompletableFuture<?> ready;

  /** Which request of its batch a load is; used by the load thread. */
  private int place;

  /** Guarded by the lock of the ledger. */
  private boolean ended;

  /** Expands a request to the pools that take their slots from its sources. */
  Transfer(TransferRequest request, List<PageObjects> pools) {
    this.request = request;
    List<PoolPages> reached = new ArrayList<>();
    int count = 0;
    for (PageObjects objects : pools) {
      for (PoolTransfer transfer : request.transfers()) {
        if (transfer.source().equals(objects.source())) {
          reached.add(new PoolPages(objects, transfer, count));
          count = Math.addExact(count, transfer.keys().size());
        }
      }
    }
    this.pools = List.copyOf(reached);
    this.pages = count;
    this.failures = new @Nullable StoreFailure[count];
    // A future of our own: the engine's stage may be of any kind, and nobody may complete it for
    // us.
    CompletableFuture<@Nullable Void> ready = new CompletableFuture<>();
    request
        .ready()
        .whenComplete(
            (value, problem) -> {
              if (problem == null) {
                ready.complete(null);
              } else {
                ready.completeExceptionally(problem);
              }
            });
    this.ready = ready;
  }

  String id() {
    return request.id();
  }

  /** Returns the number of pages, over all pools. */
  int pages() {
    return pages;
  }

  List<PoolPages> pools() {
    return pools;
  }

  /** Tells whether the engine has said that the memory may be touched, or never will be. */
  boolean isReady() {
    return ready.isDone();
  }

  /** Runs the action once the transfer {@linkplain #isReady is ready}, on whatever thread. */
  void whenReady(Runnable action) {
    whenDone(ready, action);
  }

  /** Returns why the memory may never be touched, or null; asked once ready. */
  @Nullable StoreFailure readyFailure() {
    if (!ready.isCompletedExceptionally()) {
      return null;
    }
    return StoreFailure.of(
        FailureCode.CANCELLED,
        "what request " + id() + " waited for failed: " + ready.exceptionNow());
  }

  void setPlace(int place) {
    this.place = place;
  }

  int place() {
    return place;
  }

  /** Adds every object of one pool's pages to {@code entries}, page after page. */
  void addEntries(PoolPages of, List<Entry> entries) {
    for (int index = 0; index < of.size(); index++) {
      PageKey page = of.transfer().keys().get(index);
      for (int component = 0; component < of.objects().components(); component++) {
        entries.add(new Entry(this, of, index, component, of.objects().key(page, component)));
      }
    }
  }

  /** Claims the transfer for the calling thread; false if it was cancelled. */
  boolean begin() {
    return state.compareAndSet(State.WAITING, State.RUNNING);
  }

  /** Cancels the transfer, and tells whether it had not begun, so that nothing will touch it. */
  boolean cancel() {
    return state.getAndSet(State.CANCELLED) == State.WAITING;
  }

  boolean isCancelled() {
    return state.get() == State.CANCELLED;
  }

  /** Fails one page; its first failure stays. Keeps the slots for as long as they are in use. */
  void fail(int page, StoreFailure cause) {
    if (failures[page] == null) {
      failures[page] = cause;
    }
    if (cause.memory() instanceof MemoryState.InUse inUse) {
      CompletableFuture<@Nullable Void> hold = new CompletableFuture<>();
      inUse.released().whenComplete((value, problem) -> hold.complete(null));
      holds.add(hold);
    }
  }

  /** Fails every page that has not failed. */
  void failAll(StoreFailure cause) {
    for (int page = 0; page < pages; page++) {
      fail(page, cause);
    }
  }

  boolean hasFailed() {
    for (@Nullable StoreFailure failure : failures) {
      if (failure != null) {
        return true;
      }
    }
    return false;
  }

  /** Runs the action once nothing touches the slots any more, on whatever thread. */
  void whenReleased(Runnable action) {
    whenDone(CompletableFuture.allOf(holds.toArray(CompletableFuture[]::new)), action);
  }

  private static void whenDone(CompletionStage<?> stage, Runnable action) {
    stage.whenComplete((value, problem) -> action.run());
  }

  void setEnded() {
    ended = true;
  }

  boolean hasEnded() {
    return ended;
  }

  /** Returns the pages that have not failed on this rank. */
  BitSet goodPages() {
    BitSet good = new BitSet(pages);
    for (int page = 0; page < pages; page++) {
      good.set(page, failures[page] == null);
    }
    return good;
  }

  /**
   * Returns the completion of a transfer that has ended, given the pages that are good on all
   * ranks.
   *
   * @param elsewhere why a page is not good that has not failed on this rank
   */
  Completion completion(BitSet good, StoreFailure elsewhere) {
    List<PageFailure> list = new ArrayList<>();
    for (PoolPages of : pools) {
      for (int index = 0; index < of.size(); index++) {
        int page = of.firstPage() + index;
        StoreFailure cause = failures[page];
        if (cause == null && !good.get(page)) {
          cause = elsewhere;
        }
        if (cause != null) {
          list.add(new PageFailure(of.objects().name(), of.transfer().keys().get(index), cause));
        }
      }
    }
    return new Completion(id(), list);
  }

  /** Returns the completion of a transfer that nobody waited for. */
  Completion abandoned(StoreFailure cause) {
    List<PageFailure> list = new ArrayList<>();
    for (PoolPages of : pools) {
      for (PageKey page : of.transfer().keys()) {
        list.add(new PageFailure(of.objects().name(), page, cause));
      }
    }
    return new Completion(id(), list);
  }

  /** Returns the memory of every object of the transfer. */
  List<Memory> memory() {
    List<Memory> memory = new ArrayList<>();
    for (PoolPages of : pools) {
      for (int index = 0; index < of.size(); index++) {
        for (int component = 0; component < of.objects().components(); component++) {
          memory.addAll(of.objects().pieces(component, of.transfer().slots().slot(index)));
        }
      }
    }
    return memory;
  }
}
