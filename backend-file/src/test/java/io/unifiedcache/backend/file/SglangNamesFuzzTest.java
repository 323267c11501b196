package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.ObjectKey;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever files are called, their names are those of keys, each of one, or of nothing. */
class SglangNamesFuzzTest {
  /** Takes the bytes for the name of a file, and for a key. */
  @MethodSource("names")
  @FuzzTest
  void names_anyText_areOfOneKeyEach(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.UTF_8);
    ObjectKey named = SglangNames.key(text);
    if (named != null && bytes.length <= SglangNames.MOST_BYTES) {
      assertThat(SglangNames.of(named)).isEqualTo(text);
    }
    if (!text.isEmpty() && text.indexOf('\ufffd') < 0) {
      String name = SglangNames.of(new ObjectKey(text));
      if (name != null) {
        assertThat(name.getBytes(StandardCharsets.UTF_8).length)
            .isLessThanOrEqualTo(SglangNames.MOST_BYTES);
        assertThat(name).doesNotStartWith(".").doesNotContain("/").doesNotContain("\0");
        assertThat(SglangNames.key(name)).isEqualTo(new ObjectKey(text));
      }
    }
  }

  /** Returns names as SGLang gives them, and as this store does. */
  static List<byte[]> names() {
    return Stream.of("page0__0_1.bin", "a\\b=2E=", "=2E.bin", ".bin", "=", "==", "=3D=", "ä/b\\c=.")
        .map(name -> name.getBytes(StandardCharsets.UTF_8))
        .toList();
  }
}
