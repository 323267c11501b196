package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.linker.Completion;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * The transfers that have no terminal answer yet, in the order in which they get one.
 *
 * <p>Each is answered once (rule {@code load.exactly-once}): by {@link #poll}, or by whoever took
 * it with {@link #takeAll}. Thread-safe, with one thread that polls.
 */
final class Ledger {
  /** Learns what the ranks found of a transfer, before its completion is returned. */
  interface Verdicts {
    /**
     * Takes the verdict on a transfer. Called without a lock.
     *
     * @param everywhere what is so on every rank
     */
    void agreed(Transfer transfer, PageVerdicts everywhere);

    /** Ends a transfer that has not become ready in time. Called without a lock. */
    default void overdue(Transfer transfer) {}
  }

  private final String name;
  private final Verdicts verdicts;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<Transfer> order = new ArrayDeque<>();
  private final Map<String, Transfer> byId = new HashMap<>();

  /** Transfers that were taken and may not have ended. */
  private List<Transfer> unended = List.of();

  private boolean closed;

  /**
   * Creates an empty ledger.
   *
   * @param name what the transfers are, equal on all ranks
   */
  Ledger(String name, Verdicts verdicts) {
    this.name = name;
    this.verdicts = verdicts;
  }

  /** Adds a transfer behind all others. */
  void add(Transfer transfer) {
    lock.lock();
    try {
      order.add(transfer);
      byId.put(transfer.id(), transfer);
    } finally {
      lock.unlock();
    }
  }

  /** Tells whether the transfer of the given id has ended on this rank; empty if there is none. */
  Optional<Boolean> hasEnded(String id) {
    lock.lock();
    try {
      return Optional.ofNullable(byId.get(id)).map(Transfer::hasEnded);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Notes that a transfer has ended on this rank, once nothing touches its slots any more. Harmless
   * for one that has been taken.
   */
  void end(Transfer transfer) {
    transfer.whenReleased(
        () -> {
          lock.lock();
          try {
            transfer.setEnded();
            changed.signalAll();
          } finally {
            lock.unlock();
          }
          // Not under the lock: what the engine hangs on it may call the linker from any thread.
          transfer.tellReleased();
        });
  }

  /**
   * Returns the completions of the transfers at the head that have ended on every rank. An
   * interrupt ends the wait early and is kept.
   *
   * @param atMost how long to wait for the first one to end on this rank
   */
  List<Completion> poll(Duration atMost, Agreement agreement) {
    List<Transfer> heads = awaitHeads(atMost, agreement);
    if (heads.isEmpty()) {
      return List.of();
    }
    BitSet bits = new BitSet();
    int page = 0;
    for (Transfer transfer : heads) {
      transfer.verdicts().write(transfer.pages(), bits, page);
      page += transfer.pages();
    }
    BitSet everywhere = agreement.and(() -> "pages of " + subject(heads), bits, Duration.ZERO);
    List<Completion> completions = new ArrayList<>(heads.size());
    page = 0;
    for (Transfer transfer : heads) {
      PageVerdicts verdict = PageVerdicts.read(transfer.pages(), everywhere, page);
      page += transfer.pages();
      verdicts.agreed(transfer, verdict);
      completions.add(transfer.completion(verdict.good(), agreement.elsewhere()));
    }
    remove(heads);
    return completions;
  }

  /** Returns the transfers at the head that have ended on every rank, which stay in the ledger. */
  private List<Transfer> awaitHeads(Duration atMost, Agreement agreement) {
    awaitHead(atMost).forEach(verdicts::overdue);
    List<Transfer> all;
    BitSet ended = new BitSet();
    lock.lock();
    try {
      throwIfClosed();
      if (order.isEmpty()) {
        return List.of();
      }
      all = List.copyOf(order);
      for (int i = 0; i < all.size() && all.get(i).hasEnded(); i++) {
        ended.set(i);
      }
    } finally {
      lock.unlock();
    }
    BitSet endedEverywhere = agreement.and(() -> "ends of " + subject(all), ended, atMost);
    return all.subList(0, (agreement.isLost() ? ended : endedEverywhere).nextClearBit(0));
  }

  /**
   * Waits until the first transfer has ended, or should have become ready; returns all of which the
   * latter is so.
   */
  private List<Transfer> awaitHead(Duration atMost) {
    long nanos = TimeUnit.NANOSECONDS.convert(atMost);
    boolean interrupted = false;
    lock.lock();
    try {
      while (!closed && nanos > 0 && !order.isEmpty() && !order.getFirst().hasEnded()) {
        long wait = Math.min(nanos, order.getFirst().nanosToBeReady());
        if (wait == 0) {
          break;
        }
        try {
          nanos -= wait - changed.awaitNanos(wait);
        } catch (InterruptedException e) {
          // Ranks that came for this poll must not be left waiting, so it goes on without a wait.
          interrupted = true;
          nanos = 0;
        }
      }
      return order.stream().filter(each -> each.nanosToBeReady() == 0).toList();
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private String subject(List<Transfer> transfers) {
    return name + " " + transfers.stream().map(Transfer::subject).toList();
  }

  private void remove(List<Transfer> heads) {
    lock.lock();
    try {
      throwIfClosed();
      for (Transfer transfer : heads) {
        order.removeFirst();
        byId.remove(transfer.id());
      }
    } finally {
      lock.unlock();
    }
  }

  private void throwIfClosed() {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the linker is closed");
    }
  }

  /** Takes every transfer out, to be answered by the caller; {@link #awaitEnds} waits for them. */
  List<Transfer> takeAll() {
    lock.lock();
    try {
      List<Transfer> all = List.copyOf(order);
      order.clear();
      byId.clear();
      unended = Stream.concat(unended.stream(), all.stream()).toList();
      return all;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until all transfers that were ever taken have ended on this rank.
   *
   * @return those that had not by the deadline
   */
  List<Transfer> awaitEnds(Deadline by) {
    boolean interrupted = false;
    lock.lock();
    try {
      while (true) {
        unended = unended.stream().filter(transfer -> !transfer.hasEnded()).toList();
        if (unended.isEmpty() || by.hasPassed()) {
          return unended;
        }
        try {
          long unused = changed.awaitNanos(by.remainingNanos());
        } catch (InterruptedException e) {
          // Slots that are still in use are worse than a late interrupt.
          interrupted = true;
        }
      }
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns the transfers that were taken and have not ended. */
  List<Transfer> unended() {
    lock.lock();
    try {
      return unended.stream().filter(transfer -> !transfer.hasEnded()).toList();
    } finally {
      lock.unlock();
    }
  }

  /** Makes every poll throw, those that wait included. */
  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  int size() {
    lock.lock();
    try {
      return order.size();
    } finally {
      lock.unlock();
    }
  }
}
