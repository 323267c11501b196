package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the salts and the tokens are, there is one key a full page, or a refusal. */
class PageHasherFuzzTest {
  @MethodSource("io.unifiedcache.linker.key.KeyTexts#seeds")
  @FuzzTest
  void pageKeys_anySaltsAndTokens_areKeysOrRefused(byte[] bytes) {
    int cut = bytes.length / 2;
    int[] tokens = new int[(bytes.length - cut) / Integer.BYTES];
    ByteBuffer.wrap(bytes, cut, bytes.length - cut).slice().asIntBuffer().get(tokens);
    try {
      PageHasher hasher =
          PageHasher.of(3)
              .withNamespace(
                  Optional.of(KeyTexts.raw(Arrays.copyOf(bytes, cut))),
                  Optional.of(new String(bytes, StandardCharsets.UTF_8)));
      assertThat(hasher.pageKeys(tokens)).hasSize(tokens.length / 3);
    } catch (IllegalArgumentException e) {
      assertThat(e).hasMessageMatching("(?s).+");
    }
  }
}
