package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.linker.golden.Allocations;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PageHasherTest {
  /**
   * What a page key costs: the digits, the text around them, the record and its place in a list.
   */
  private static final long KEY_BYTES = 160;

  @Test
  void pageKeys_lastPageNotFull_leavesItOut() {
    PageHasher hasher = PageHasher.of(4);
    long[] tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};

    assertThat(hasher.pageKeys(tokens)).hasSize(2);
    assertThat(hasher.pageKeysWithTail(tokens)).hasSize(3).startsWith(first(hasher, tokens, 2));
    assertThat(hasher.pageKeys(new int[] {1, 2, 3})).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 16, 64, 512})
  void pageKeys_resumedAtAnyPage_continueTheChain(int pageTokens) {
    int[] tokens = new Random(1).ints(5L * pageTokens, 0, Integer.MAX_VALUE).toArray();
    PageHasher hasher = PageHasher.of(pageTokens);
    List<PageKey> whole = hasher.pageKeys(tokens);

    for (int page = 1; page < 5; page++) {
      int[] rest = Arrays.copyOfRange(tokens, page * pageTokens, tokens.length);
      long[] wideRest = IntStream.of(rest).asLongStream().toArray();
      PageKey prior = whole.get(page - 1);
      assertThat(hasher.pageKeys(rest, prior)).isEqualTo(whole.subList(page, 5));
      assertThat(hasher.pageKeys(wideRest, prior)).isEqualTo(whole.subList(page, 5));
    }
  }

  @Test
  void pageKeys_bigramsResumed_continueTheChain() {
    long[] tokens = LongStream.range(0, 41).toArray();
    PageHasher hasher = PageHasher.of(8).withBigrams();
    List<PageKey> whole = hasher.pageKeys(tokens);

    assertThat(whole).hasSize(5);
    assertThat(hasher.pageKeys(Arrays.copyOfRange(tokens, 16, 41), whole.get(1)))
        .isEqualTo(whole.subList(2, 5));
  }

  @Test
  void pageKeys_bigramsOfFewTokens_areNone() {
    PageHasher hasher = PageHasher.of(1).withBigrams();

    assertThat(hasher.pageKeysWithTail(new long[0])).isEmpty();
    assertThat(hasher.pageKeysWithTail(new long[] {7})).isEmpty();
    assertThat(hasher.pageKeysWithTail(new long[] {7, 8})).hasSize(1);
  }

  @Test
  void pageKeys_otherNamespaces_shareNone() {
    long[] tokens = {1, 2, 3};
    List<PageHasher> hashers = new ArrayList<>();
    PageHasher plain = PageHasher.of(1);
    hashers.add(plain);
    hashers.add(plain.withNamespace(Optional.of(""), Optional.empty()));
    hashers.add(plain.withNamespace(Optional.of("ab"), Optional.empty()));
    hashers.add(plain.withNamespace(Optional.empty(), Optional.of("ab")));
    hashers.add(plain.withNamespace(Optional.of("a"), Optional.of("b")));

    assertThat(hashers.stream().flatMap(hasher -> hasher.pageKeys(tokens).stream()))
        .hasSize(15)
        .doesNotHaveDuplicates();
  }

  @Test
  void withNamespace_emptySalt_countsAsNone() {
    long[] tokens = {1, 2};
    PageHasher plain = PageHasher.of(1);

    assertThat(plain.withNamespace(Optional.empty(), Optional.of("")).pageKeys(tokens))
        .isEqualTo(plain.pageKeys(tokens));
    assertThat(PageHasher.namespaceSeed(Optional.empty(), Optional.of(""))).isPresent();
  }

  @Test
  void pageKeys_negativeToken_isRefusedWithItsIndex() {
    PageHasher hasher = PageHasher.of(2);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> hasher.pageKeys(new long[] {1, 2, -3}))
        .withMessage("token -3 at index 2 must not be negative");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> hasher.pageKeys(new int[] {-1, 2}))
        .withMessageContaining("token -1 at index 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> hasher.wholeKey(new long[] {Long.MIN_VALUE}))
        .withMessageContaining("index 0");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "abcd",
        "page0",
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
      })
  void after_pageThatIsNoDigest_isRefused(String prior) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PageHasher.of(1).pageKeys(new int[] {1}, new PageKey(prior)))
        .withMessageContaining("must be 64 hexadecimal digits")
        .withMessageContaining(prior);
  }

  @Test
  void of_noTokens_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PageHasher.of(0))
        .withMessage("a page has at least 1 token, not 0");
  }

  @Test
  void withNamespace_unpairedSurrogate_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PageHasher.of(1).withNamespace(Optional.of("\ud800"), Optional.empty()))
        .withMessageContaining("extra key has an unpaired surrogate");
  }

  /** A page larger than the buffer is hashed in several steps to the same digest. */
  @Test
  void pageKeys_pageLargerThanTheBuffer_equalsOneHash() {
    long[] tokens = new Random(2).longs(10_000, 0, 1L << 40).toArray();

    assertThat(PageHasher.of(10_000).pageKeys(tokens))
        .containsExactly(PageHasher.of(1).wholeKey(tokens));
    assertThat(PageHasher.of(Integer.MAX_VALUE).pageKeysWithTail(tokens))
        .containsExactly(PageHasher.of(1).wholeKey(tokens));
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 512})
  void pageKeys_100000Tokens_allocateNothingPerToken(int pageTokens) {
    int[] ints = new Random(3).ints(100_000, 0, 150_000).toArray();
    long[] longs = IntStream.of(ints).asLongStream().toArray();
    PageHasher hasher = PageHasher.of(pageTokens);
    long keys = KEY_BYTES * (ints.length / pageTokens);

    assertThat(Allocations.of(() -> hasher.pageKeys(ints)) - keys).isLessThan(ints.length / 10);
    assertThat(Allocations.of(() -> hasher.withBigrams().pageKeys(longs)) - keys)
        .isLessThan(ints.length / 10);
  }

  @Test
  void pageKeys_manyThreads_agree() throws Exception {
    int[] tokens = new Random(4).ints(2_000, 0, 150_000).toArray();
    PageHasher hasher = PageHasher.of(16);
    List<PageKey> expected = hasher.pageKeys(tokens);
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<List<PageKey>>> results = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        results.add(threads.submit(() -> hasher.pageKeys(tokens)));
      }
      for (Future<List<PageKey>> result : results) {
        assertThat(result.get()).isEqualTo(expected);
      }
    }
  }

  private static PageKey[] first(PageHasher hasher, long[] tokens, int pages) {
    return hasher.pageKeys(tokens).subList(0, pages).toArray(PageKey[]::new);
  }
}
