package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.ObjectKey;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the text of a key is, it is read and written back, or refused. */
class StrictKeyFuzzTest {
  @MethodSource("io.unifiedcache.linker.key.KeyTexts#seeds")
  @FuzzTest
  void parse_anyText_isAKeyOrRefused(byte[] bytes) {
    for (String text :
        List.of(
            new String(bytes, StandardCharsets.UTF_8),
            new String(bytes, StandardCharsets.UTF_16BE),
            KeyTexts.raw(bytes))) {
      try {
        ObjectKey key = new ObjectKey(text);
        assertThat(StrictKey.parse(key).key()).isEqualTo(key);
      } catch (IllegalArgumentException e) {
        assertThat(e).hasMessageMatching("(?s).+");
      }
    }
  }
}
