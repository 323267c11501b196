package io.unifiedcache.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeysTest {
  @ParameterizedTest
  @ValueSource(
      strings = {" ", "a/b", "..", "A/b", "x. ", "CON", "\n", "\u0000", "\ud83d\ude00", "e\u0301"})
  void keys_areTakenAsGiven(String text) {
    assertThat(new ObjectKey(text).value()).isSameAs(text);
    assertThat(new ObjectKey(text)).hasToString(text);
    assertThat(new PageKey(text).value()).isSameAs(text);
    assertThat(new PageKey(text)).hasToString(text);
    assertThat(new PoolName(text)).hasToString(text);
    assertThat(KeyPrefix.of(text).value()).isSameAs(text);
  }

  @Test
  void matches_comparesCharacterByCharacter() {
    KeyPrefix prefix = KeyPrefix.of("a.*");

    assertThat(List.of("a.*", "a.*b", "a.b", "A.*", "a.", " a.*"))
        .filteredOn(key -> prefix.matches(new ObjectKey(key)))
        .containsExactly("a.*", "a.*b");
    assertThat(KeyPrefix.EVERYTHING.matches(new ObjectKey("any"))).isTrue();
  }

  @Test
  void keyPrefix_equality_isThatOfText() {
    assertThat(KeyPrefix.of("a")).isEqualTo(KeyPrefix.of("a")).hasSameHashCodeAs(KeyPrefix.of("a"));
    assertThat(KeyPrefix.of("a")).isNotEqualTo(KeyPrefix.of("b")).isNotEqualTo(new PageKey("a"));
    assertThat(KeyPrefix.of("a")).hasToString("a");
    assertThat(KeyPrefix.EVERYTHING).hasToString("EVERYTHING");
    assertThat(KeyPrefix.EVERYTHING.value()).isEmpty();
  }
}
