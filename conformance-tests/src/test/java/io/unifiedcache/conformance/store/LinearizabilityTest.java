package io.unifiedcache.conformance.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.conformance.store.Linearizability.Call;
import io.unifiedcache.conformance.store.Linearizability.Effect;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LinearizabilityTest {
  private static Call call(Effect effect, int value, long began, long returned) {
    return new Call(1, effect, value, began, returned);
  }

  private static boolean holds(Call... calls) {
    return Linearizability.holds(List.of(calls), /* evicts= */ false);
  }

  private static boolean holdsWithEviction(Call... calls) {
    return Linearizability.holds(List.of(calls), /* evicts= */ true);
  }

  @Test
  void holds_noCalls() {
    assertThat(holds()).isTrue();
  }

  @Test
  void holds_oneAfterAnother() {
    assertThat(
            holds(
                call(Effect.FINDS_NONE, 0, 0, 1),
                call(Effect.STORES, 1, 2, 3),
                call(Effect.FINDS, 1, 4, 5),
                call(Effect.FINDS_ANY, 0, 6, 7),
                call(Effect.REMOVES, 0, 8, 9),
                call(Effect.FINDS_NONE, 0, 10, 11),
                call(Effect.STORES, 2, 12, 13),
                call(Effect.FINDS, 2, 14, 15)))
        .isTrue();
  }

  @Test
  void holds_readBeforeThePutReturned() {
    assertThat(holds(call(Effect.STORES, 1, 0, 10), call(Effect.FINDS, 1, 2, 3))).isTrue();
  }

  @Test
  void fails_readBeforeThePutBegan() {
    assertThat(holds(call(Effect.FINDS, 1, 0, 1), call(Effect.STORES, 1, 2, 3))).isFalse();
    assertThat(holdsWithEviction(call(Effect.FINDS, 1, 0, 1), call(Effect.STORES, 1, 2, 3)))
        .isFalse();
  }

  @Test
  void fails_absentAfterThePut_unlessEvicted() {
    Call put = call(Effect.STORES, 1, 0, 1);
    Call get = call(Effect.FINDS_NONE, 0, 2, 3);

    assertThat(holds(put, get)).isFalse();
    assertThat(holdsWithEviction(put, get)).isTrue();
  }

  @Test
  void fails_backAfterEviction() {
    assertThat(
            holdsWithEviction(
                call(Effect.STORES, 1, 0, 1),
                call(Effect.FINDS_NONE, 0, 2, 3),
                call(Effect.FINDS, 1, 4, 5)))
        .isFalse();
  }

  @Test
  void fails_seenAndThenNotYet() {
    assertThat(
            holds(
                call(Effect.STORES, 1, 0, 10),
                call(Effect.FINDS, 1, 2, 3),
                call(Effect.FINDS_NONE, 0, 4, 5)))
        .isFalse();
  }

  @Test
  void fails_twoPutsBothStore() {
    assertThat(holds(call(Effect.STORES, 1, 0, 10), call(Effect.STORES, 2, 0, 10))).isFalse();
    assertThat(holdsWithEviction(call(Effect.STORES, 1, 0, 10), call(Effect.STORES, 2, 0, 10)))
        .isTrue();
  }

  @Test
  void holds_twoPutsStoreAroundARemove() {
    assertThat(
            holds(
                call(Effect.STORES, 1, 0, 10),
                call(Effect.STORES, 2, 0, 10),
                call(Effect.REMOVES, 0, 0, 10),
                call(Effect.FINDS, 1, 11, 12)))
        .isTrue();
  }

  @Test
  void fails_presentWithNothingPut() {
    assertThat(holds(call(Effect.FINDS_ANY, 0, 0, 1))).isFalse();
    assertThat(holdsWithEviction(call(Effect.FINDS_ANY, 0, 0, 1))).isFalse();
  }

  @Test
  void fails_twoRemovesOfOneObject() {
    assertThat(
            holds(
                call(Effect.STORES, 1, 0, 1),
                call(Effect.REMOVES, 0, 2, 5),
                call(Effect.REMOVES, 0, 2, 5)))
        .isFalse();
  }

  @Test
  void fails_existsAfterARemove() {
    assertThat(
            holdsWithEviction(
                call(Effect.STORES, 1, 0, 1),
                call(Effect.REMOVES, 0, 2, 3),
                call(Effect.FINDS_ANY, 0, 4, 5)))
        .isFalse();
  }

  @Test
  void holds_putThatDoesNotTellKeepsTheFirst() {
    assertThat(
            holds(
                call(Effect.STORES_OR_KEEPS, 1, 0, 1),
                call(Effect.STORES_OR_KEEPS, 2, 2, 3),
                call(Effect.FINDS, 1, 4, 5)))
        .isTrue();
    assertThat(
            holds(
                call(Effect.STORES_OR_KEEPS, 1, 0, 1),
                call(Effect.STORES_OR_KEEPS, 2, 2, 3),
                call(Effect.FINDS, 2, 4, 5)))
        .isFalse();
  }

  @Test
  void holds_undecidedPutAppearsLateOrNever() {
    Call undecided = call(Effect.MAY_STORE, 1, 0, 1);

    assertThat(holds(undecided)).isTrue();
    assertThat(holds(undecided, call(Effect.FINDS_NONE, 0, 2, 3))).isTrue();
    assertThat(holds(undecided, call(Effect.FINDS_NONE, 0, 2, 3), call(Effect.FINDS, 1, 4, 5)))
        .isTrue();
    assertThat(holds(undecided, call(Effect.FINDS, 1, 2, 3), call(Effect.FINDS_NONE, 0, 4, 5)))
        .isFalse();
  }

  @Test
  void fails_undecidedPutBeforeItBegan() {
    assertThat(holds(call(Effect.FINDS, 1, 0, 1), call(Effect.MAY_STORE, 1, 2, 3))).isFalse();
  }

  @Test
  void holds_undecidedRemove() {
    Call put = call(Effect.STORES, 1, 0, 1);
    Call undecided = call(Effect.MAY_REMOVE, 0, 2, 3);

    assertThat(holds(put, undecided, call(Effect.FINDS, 1, 4, 5))).isTrue();
    assertThat(holds(put, undecided, call(Effect.FINDS_NONE, 0, 4, 5))).isTrue();
  }

  /** Histories made of an order, with each call stretched around its place in it. */
  @Test
  void holds_whateverAnOrderExplains() {
    for (long seed = 0; seed < 300; seed++) {
      List<Call> calls = explained(new Random(seed), 30);
      Collections.shuffle(calls, new Random(seed));
      assertThat(Linearizability.holds(calls, false)).as("seed %d: %s", seed, calls).isTrue();
    }
  }

  /** The same, in which one read finds what was never there. */
  @Test
  void fails_oneWrongRead() {
    for (long seed = 0; seed < 300; seed++) {
      List<Call> calls = explained(new Random(seed), 30);
      calls.set(
          15, new Call(1, Effect.FINDS, 1_000, calls.get(15).began(), calls.get(15).returned()));
      assertThat(Linearizability.holds(calls, true)).as("seed %d: %s", seed, calls).isFalse();
    }
  }

  private static List<Call> explained(Random random, int count) {
    List<Call> calls = new ArrayList<>();
    int state = 0;
    for (int i = 1; i <= count; i++) {
      long at = 10L * i;
      Effect effect;
      int value = 0;
      switch (random.nextInt(4)) {
        case 0 -> {
          effect = state == 0 ? Effect.STORES : Effect.FINDS_ANY;
          value = state == 0 ? i : 0;
          state = state == 0 ? i : state;
        }
        case 1 -> {
          effect = state == 0 ? Effect.FINDS_NONE : Effect.REMOVES;
          state = 0;
        }
        default -> {
          effect = state == 0 ? Effect.FINDS_NONE : Effect.FINDS;
          value = state;
        }
      }
      calls.add(
          new Call(
              random.nextInt(3), effect, value, at - random.nextInt(25), at + random.nextInt(25)));
    }
    return calls;
  }

  @Test
  void holds_tooManyCalls_areRefused() {
    List<Call> calls = Collections.nCopies(64, call(Effect.FINDS_NONE, 0, 0, 1));

    assertThatThrownBy(() -> Linearizability.holds(calls, false))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("63");
  }
}
