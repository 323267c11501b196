package io.unifiedcache.api.linker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.PrimitiveIterator;
import java.util.Random;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RestorablePrefixesTest {
  private static final Pattern RUN = Pattern.compile("(\\d+)(?:-(\\d+))?");

  @Test
  void everyMethod_agreesWithASortedSet() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 500; round++) {
      int bound = 1 + random.nextInt(200);
      NavigableSet<Integer> one = members(random, bound);
      NavigableSet<Integer> other = members(random, bound);
      String where = "seed " + seed + ", round " + round;

      assertAgree(of(one), one, bound, where);
      NavigableSet<Integer> both = new TreeSet<>(one);
      both.retainAll(other);
      assertAgree(of(one).intersect(of(other)), both, bound, where);
      assertThat(of(one).intersect(of(other))).as(where).isEqualTo(of(other).intersect(of(one)));
      assertThat(of(one).equals(of(other))).as(where).isEqualTo(one.equals(other));
    }
  }

  private static NavigableSet<Integer> members(Random random, int bound) {
    NavigableSet<Integer> members = new TreeSet<>();
    double density = random.nextDouble();
    for (int length = 1; length <= bound; length++) {
      if (random.nextDouble() < density) {
        members.add(length);
      }
    }
    return members;
  }

  private static RestorablePrefixes of(Collection<Integer> members) {
    return RestorablePrefixes.of(members.stream().mapToInt(Integer::intValue).toArray());
  }

  private static void assertAgree(
      RestorablePrefixes set, NavigableSet<Integer> model, int bound, String where) {
    assertThat(set).as(where).containsExactlyElementsOf(model);
    assertThat(set.size()).as(where).isEqualTo(model.size());
    assertThat(set.isEmpty()).as(where).isEqualTo(model.isEmpty());
    assertThat(set.longest()).as(where).isEqualTo(model.isEmpty() ? 0 : model.last());
    for (int length = -1; length <= bound + 70; length++) {
      Integer floor = model.floor(length);
      assertThat(set.contains(length)).as(where).isEqualTo(model.contains(length));
      assertThat(set.longestAtMost(length)).as(where).isEqualTo(floor == null ? 0 : floor);
    }
    RestorablePrefixes copy = RestorablePrefixes.ofBits(set.toBits());
    assertThat(copy).as(where).isEqualTo(set).hasSameHashCodeAs(set);
    List<Integer> named = new ArrayList<>();
    Matcher run = RUN.matcher(set.toString());
    while (run.find()) {
      int from = Integer.parseInt(run.group(1));
      int to = run.group(2) == null ? from : Integer.parseInt(run.group(2));
      IntStream.rangeClosed(from, to).forEach(named::add);
    }
    assertThat(named).as(where + ": " + set).containsExactlyElementsOf(model);
  }

  @Test
  void toString_shortensRuns() {
    assertThat(RestorablePrefixes.of(5, 1, 2, 3, 9, 8)).hasToString("[1-3, 5, 8-9]");
    assertThat(RestorablePrefixes.none()).hasToString("[]");
  }

  @Test
  void upTo_isEveryLength() {
    assertThat(RestorablePrefixes.upTo(3)).containsExactly(1, 2, 3);
    assertThat(RestorablePrefixes.upTo(0)).isEqualTo(RestorablePrefixes.none()).isEmpty();
  }

  @Test
  void bits_areCopied() {
    BitSet bits = new BitSet();
    bits.set(1);
    RestorablePrefixes set = RestorablePrefixes.ofBits(bits);

    bits.set(7);
    set.toBits().clear();
    assertThat(set).containsExactly(2);
  }

  @Test
  void iterator_pastTheEnd_isRefused() {
    PrimitiveIterator.OfInt lengths = RestorablePrefixes.of(4).iterator();

    assertThat(lengths.nextInt()).isEqualTo(4);
    assertThat(lengths.hasNext()).isFalse();
    assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(lengths::nextInt);
  }
}
