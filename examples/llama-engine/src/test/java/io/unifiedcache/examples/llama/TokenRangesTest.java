package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenRangesTest {
  private static final int[] TOKENS = IntStream.range(0, 10).toArray();

  @Test
  void of_severalRanges_followEachOther() {
    assertThat(TokenRanges.first(2).and(5, 8).of(TOKENS)).containsExactly(0, 1, 5, 6, 7);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "3", "3-3", "4-3", "0-11", "0-2,", "a-b", "-1-2"})
  void of_badRange_isRefused(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new TokenRanges(text).of(TOKENS))
        .withMessageContaining("range");
  }
}
