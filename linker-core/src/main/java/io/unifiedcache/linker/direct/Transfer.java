package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A load or an offload on its way: what it moves, and what has become of each page.
 *
 * <p>A page of the request is held by every pool that takes its slots from the page's source, which
 * differ from rank to rank: a draft model lives on one stage only. So failures are kept per pool,
 * and ranks agree on the pages of the request, which are the same on all.
 *
 * <p>Failures are written by the one thread that runs the transfer, and read by others once the
 * {@link Ledger} knows that it has ended.
 */
final class Transfer {
  /**
   * The pages of a request in one pool.
   *
   * @param firstPage the place of the first page among the pages of the request
   * @param firstPlace the place of the first page among those of all pools
   */
  record PoolPages(PageObjects objects, PoolTransfer transfer, int firstPage, int firstPlace) {
    int size() {
      return transfer.keys().size();
    }
  }

  /** One object of a transfer. */
  record Entry(Transfer transfer, PoolPages pages, int index, int component, ObjectKey key) {
    /** Returns the place of the object's page among those of all pools. */
    int place() {
      return pages.firstPlace() + index;
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

  /** Why all pages have failed that have no failure of their own. */
  private @Nullable StoreFailure whole;

  private boolean unasked;

  private final List<CompletableFuture<?>> holds = new ArrayList<>();
  private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);

  /**
   * Ends, never exceptionally, with why the memory may not be touched. A future of our own: the
   * engine's stage may be of any kind, and nothing else may complete this one.
   */
  private final CompletableFuture<Optional<StoreFailure>> ready = new CompletableFuture<>();

  /** When the transfer is given up if it is not ready. */
  private Deadline readyBy = Deadline.never();

  /** Why the memory may not be touched, though it is ready; set before the transfer is run. */
  private @Nullable StoreFailure refusal;

  /** Which request of its batch a load is; used by the load thread. */
  private int requestNumber;

  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();

  /** Guarded by the lock of the ledger. */
  private boolean ended;

  /** Expands a request to the pools that take their slots from its sources. */
  Transfer(TransferRequest request, List<PageObjects> pools) {
    this.request = request;
    List<PoolPages> reached = new ArrayList<>();
    int places = 0;
    for (PageObjects objects : pools) {
      int page = 0;
      for (PoolTransfer transfer : request.transfers()) {
        if (transfer.source().equals(objects.source())) {
          reached.add(new PoolPages(objects, transfer, page, places));
          places = Math.addExact(places, transfer.keys().size());
        }
        page = Math.addExact(page, transfer.keys().size());
      }
    }
    this.pools = List.copyOf(reached);
    this.pages = request.transfers().stream().mapToInt(each -> each.keys().size()).sum();
    this.failures = new @Nullable StoreFailure[places];
    request
        .ready()
        .whenComplete(
            (value, problem) -> ready.complete(Optional.ofNullable(problem).map(this::notReady)));
  }

  /** Returns why nothing is moved: whatever ended the stage has given the request up. */
  private StoreFailure notReady(Throwable problem) {
    return StoreFailure.of(
        FailureCode.CANCELLED,
        "what request " + id() + " waited for failed: " + StoreAccess.text(problem));
  }

  String id() {
    return request.id();
  }

  List<PoolTransfer> transfers() {
    return request.transfers();
  }

  /**
   * Returns what makes the request the same on every rank: all but its slots. No text of it can be
   * taken for another's, since those of the engine have their length before them.
   */
  String subject() {
    StringBuilder subject = new StringBuilder(prefixed(id()));
    for (PoolTransfer transfer : request.transfers()) {
      List<PageKey> keys = transfer.keys();
      subject
          .append(' ')
          .append(prefixed(transfer.source().value()))
          .append(' ')
          .append(keys.size())
          .append(' ')
          .append(prefixed(keys.getFirst().value()))
          .append(' ')
          .append(prefixed(keys.getLast().value()));
    }
    return subject.toString();
  }

  private static String prefixed(String text) {
    return text.length() + ":" + text;
  }

  /** Returns the number of pages of the request. */
  int pages() {
    return pages;
  }

  List<PoolPages> pools() {
    return pools;
  }

  /** Sets how long the engine may take to say that the memory may be touched. */
  void setReadyTimeout(Duration timeout) {
    readyBy = Deadline.after(timeout);
  }

  /** Returns how long the engine may still take; 0 once that is over, endless once it is ready. */
  long nanosToBeReady() {
    return isReady() ? Long.MAX_VALUE : readyBy.remainingNanos();
  }

  /** Returns whether the engine has said that the memory may be touched, or never will be. */
  boolean isReady() {
    return ready.isDone();
  }

  /** Runs the action once the transfer {@linkplain #isReady is ready}, on whatever thread. */
  void whenReady(Runnable action) {
    whenDone(ready, action);
  }

  /** Has nothing moved, though the engine has said that the memory may be touched. */
  void refuse(String why) {
    refusal = StoreFailure.of(FailureCode.REFUSED, why);
  }

  /** Returns why the memory may never be touched, or null; asked once ready. */
  @Nullable StoreFailure readyFailure() {
    if (refusal != null) {
      return refusal;
    }
    return ready.getNow(Optional.empty()).orElse(null);
  }

  void setRequestNumber(int number) {
    this.requestNumber = number;
  }

  int requestNumber() {
    return requestNumber;
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

  /** Cancels the transfer if it has not begun; returns whether it had not, nor been cancelled. */
  boolean giveUp() {
    return state.compareAndSet(State.WAITING, State.CANCELLED);
  }

  /** Cancels the transfer, and tells whether it had not begun, so that nothing will touch it. */
  boolean cancel() {
    return state.getAndSet(State.CANCELLED) == State.WAITING;
  }

  boolean isCancelled() {
    return state.get() == State.CANCELLED;
  }

  /** Fails an object's page; its first failure stays. Keeps the slots for as long as in use. */
  void fail(Entry entry, StoreFailure cause) {
    fail(entry.place(), cause);
  }

  /**
   * Fails every page that has not failed, for a reason that is no object's; the first one stays.
   */
  void failAll(StoreFailure cause) {
    if (whole == null) {
      whole = cause;
    }
    hold(cause);
  }

  private void fail(int place, StoreFailure cause) {
    if (failures[place] == null) {
      failures[place] = cause;
    }
    hold(cause);
  }

  private void hold(StoreFailure cause) {
    if (cause.memory() instanceof MemoryState.InUse inUse) {
      CompletableFuture<@Nullable Void> hold = new CompletableFuture<>();
      inUse.released().whenComplete((value, problem) -> hold.complete(null));
      holds.add(hold);
    }
  }

  /** Fails every page without having asked the store for any, so that nothing is known of them. */
  void failUnasked(StoreFailure cause) {
    unasked = true;
    failAll(cause);
  }

  /** Returns whether the transfer failed before the store was asked. */
  boolean isUnasked() {
    return unasked;
  }

  boolean hasFailed() {
    if (whole != null) {
      return true;
    }
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

  /** Ends the stage of {@link #released}, and so runs what the engine has hung on it. */
  void tellReleased() {
    released.complete(null);
  }

  boolean hasEnded() {
    return ended;
  }

  /** Returns the stage that ends when the transfer has ended, and nothing touches its slots. */
  CompletionStage<?> released() {
    return released;
  }

  /** Returns the pages of the request that have not failed on this rank. */
  BitSet goodPages() {
    return whole == null ? pagesWithout(failure -> true) : new BitSet();
  }

  /** Returns what this rank can tell of the pages of the request. */
  PageVerdicts verdicts() {
    return new PageVerdicts(
        goodPages(),
        whole == null || unasked || !SuspectObjects.isRaisedByWhole(whole)
            ? pagesWithout(SuspectObjects::isRaisedBy)
            : new BitSet(),
        pagesWithout(failure -> failure.code().provesBadObject()));
  }

  private BitSet pagesWithout(Predicate<StoreFailure> failing) {
    BitSet without = allPages();
    for (PoolPages of : pools) {
      for (int index = 0; index < of.size(); index++) {
        StoreFailure failure = failures[of.firstPlace() + index];
        if (failure != null && failing.test(failure)) {
          without.clear(of.firstPage() + index);
        }
      }
    }
    return without;
  }

  BitSet allPages() {
    BitSet all = new BitSet(pages);
    all.set(0, pages);
    return all;
  }

  /**
   * Returns the completion of a transfer that has ended, given the pages that are good on all
   * ranks.
   *
   * @param elsewhere why a page is not good that has not failed on this rank
   */
  Completion completion(BitSet good, StoreFailure elsewhere) {
    List<PageFailure> list = new ArrayList<>();
    int page = 0;
    for (PoolTransfer transfer : request.transfers()) {
      for (int index = 0; index < transfer.keys().size(); index++, page++) {
        PageKey key = transfer.keys().get(index);
        int before = list.size();
        for (PoolPages of : pools) {
          StoreFailure failure =
              of.objects().source().equals(transfer.source())
                  ? failures[of.firstPlace() + index]
                  : null;
          if (failure != null) {
            list.add(new PageFailure(of.objects().name(), key, failure));
          }
        }
        if (list.size() == before && !good.get(page)) {
          list.add(new PageFailure(transfer.source(), key, whole == null ? elsewhere : whole));
        }
      }
    }
    return new Completion(id(), list);
  }

  /** Returns the completion of a transfer that nobody waited for. */
  Completion abandoned(StoreFailure cause) {
    List<PageFailure> list = new ArrayList<>();
    for (PoolTransfer transfer : request.transfers()) {
      for (PageKey page : transfer.keys()) {
        list.add(new PageFailure(transfer.source(), page, cause));
      }
    }
    return new Completion(id(), list);
  }

  /** Passes the key of every object of the given pages of the request to the action. */
  void eachKey(BitSet ofPages, Consumer<ObjectKey> action) {
    for (PoolPages of : pools) {
      for (int index = 0; index < of.size(); index++) {
        if (ofPages.get(of.firstPage() + index)) {
          PageKey page = of.transfer().keys().get(index);
          for (int component = 0; component < of.objects().components(); component++) {
            action.accept(of.objects().key(page, component));
          }
        }
      }
    }
  }

  /** Tells whether a slot of a pool is among those of the transfer. */
  boolean uses(PageObjects objects, long slot) {
    for (PoolPages of : pools) {
      if (of.objects() == objects) {
        for (int index = 0; index < of.size(); index++) {
          if (of.transfer().slots().slot(index) == slot) {
            return true;
          }
        }
      }
    }
    return false;
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
