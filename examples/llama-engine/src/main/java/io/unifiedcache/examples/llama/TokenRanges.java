package io.unifiedcache.examples.llama;

import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Parts of a text's tokens, one after the other: {@code 0-750,1500-2250} without the last ones. */
record TokenRanges(String text) {
  private static final Pattern RANGE = Pattern.compile("(\\d{1,9})-(\\d{1,9})");

  /** Returns the tokens of the prompt's beginning. */
  static TokenRanges first(int count) {
    return new TokenRanges("0-" + count);
  }

  /** Returns these parts and then another. */
  TokenRanges and(int from, int to) {
    return new TokenRanges(text + "," + from + "-" + to);
  }

  /**
   * Picks the parts.
   *
   * @throws IllegalArgumentException if the text is not of this form, or there are fewer tokens
   */
  int[] of(int[] tokens) {
    return Arrays.stream(text.split(",", -1)).flatMapToInt(range -> part(tokens, range)).toArray();
  }

  private static IntStream part(int[] tokens, String range) {
    Matcher matcher = RANGE.matcher(range);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("a range of tokens is FROM-TO, not " + range);
    }
    int from = Integer.parseInt(matcher.group(1));
    int to = Integer.parseInt(matcher.group(2));
    if (from >= to || to > tokens.length) {
      throw new IllegalArgumentException(
          "there is no range %s in the %d tokens of the text".formatted(range, tokens.length));
    }
    return Arrays.stream(tokens, from, to);
  }
}
