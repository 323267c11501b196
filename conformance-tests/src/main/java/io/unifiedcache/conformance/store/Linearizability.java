package io.unifiedcache.conformance.store;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Tells whether some order of the calls on one key explains all of their answers.
 *
 * <p>The order keeps two calls as they were where one had returned before the other began. It is
 * searched for depth first, and no set of calls that led to the same state is tried twice, as in J.
 * M. Wing and C. Gong, "Testing and Verifying Concurrent Objects", 1993.
 */
final class Linearizability {
  /** The state of a key without an object; any other state is the value of its object. */
  private static final int ABSENT = 0;

  private static final int IMPOSSIBLE = -1;

  /** What the answer of a call says about the object of its key. */
  enum Effect {
    /** There was none, and now it is the value. */
    STORES,
    /** There was one and it stays, or there was none and now it is the value. */
    STORES_OR_KEEPS,
    /** It is the value. */
    FINDS,
    /** There is one. */
    FINDS_ANY,
    /** There is none. */
    FINDS_NONE,
    /** There was one, and now there is none. */
    REMOVES,
    /** As {@link #STORES}, at any time after the call began, or never. */
    MAY_STORE,
    /** There is none any more, at any time after the call began, or nothing has happened. */
    MAY_REMOVE;

    boolean isUndecided() {
      return this == MAY_STORE || this == MAY_REMOVE;
    }
  }

  /**
   * A call and its answer.
   *
   * @param thread who called
   * @param effect what the answer says
   * @param value the value that is stored or found, from 1; 0 where there is none
   * @param began when the call began
   * @param returned when it had returned
   */
  record Call(int thread, Effect effect, int value, long began, long returned) {
    /** Returns the latest time at which it took effect. */
    private long latest() {
      return effect.isUndecided() ? Long.MAX_VALUE : returned;
    }

    /** Returns the call in words, its times counted from the given one in microseconds. */
    String describe(long from) {
      return "thread %d %s%s from %d to %d"
          .formatted(
              thread,
              effect,
              value == ABSENT ? "" : " " + value,
              (began - from) / 1_000,
              (returned - from) / 1_000);
    }
  }

  private record Reached(long done, int state) {}

  private final List<Call> calls;
  private final boolean evicts;
  private final Set<Reached> tried = new HashSet<>();

  private Linearizability(List<Call> calls, boolean evicts) {
    this.calls = calls;
    this.evicts = evicts;
  }

  /**
   * Tells whether there is such an order, for a key without an object at first.
   *
   * @param calls at most 63, in any order
   * @param evicts whether the object may go at any time
   */
  static boolean holds(List<Call> calls, boolean evicts) {
    if (calls.size() > 63) {
      throw new IllegalArgumentException("at most 63 calls, not " + calls.size());
    }
    return new Linearizability(calls, evicts).leadsToEnd(0, ABSENT);
  }

  private boolean leadsToEnd(long done, int state) {
    long earliestEnd = Long.MAX_VALUE;
    boolean over = true;
    for (int i = 0; i < calls.size(); i++) {
      if (!isDone(done, i) && !calls.get(i).effect().isUndecided()) {
        over = false;
        earliestEnd = Math.min(earliestEnd, calls.get(i).latest());
      }
    }
    if (over) {
      return true;
    }
    if (!tried.add(new Reached(done, state))) {
      return false;
    }
    for (int i = 0; i < calls.size(); i++) {
      Call call = calls.get(i);
      // One that began after another had ended cannot come before it.
      if (isDone(done, i) || call.began() > earliestEnd) {
        continue;
      }
      int next = after(call, state);
      if (next != IMPOSSIBLE && leadsToEnd(done | 1L << i, next)) {
        return true;
      }
      if (evicts && state != ABSENT) {
        next = after(call, ABSENT);
        if (next != IMPOSSIBLE && leadsToEnd(done | 1L << i, next)) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isDone(long done, int i) {
    return (done & 1L << i) != 0;
  }

  private static int after(Call call, int state) {
    boolean there = state != ABSENT;
    return switch (call.effect()) {
      case STORES, MAY_STORE -> there ? IMPOSSIBLE : call.value();
      case STORES_OR_KEEPS -> there ? state : call.value();
      case FINDS -> state == call.value() ? state : IMPOSSIBLE;
      case FINDS_ANY -> there ? state : IMPOSSIBLE;
      case FINDS_NONE -> there ? IMPOSSIBLE : ABSENT;
      case REMOVES -> there ? ABSENT : IMPOSSIBLE;
      case MAY_REMOVE -> ABSENT;
    };
  }
}
