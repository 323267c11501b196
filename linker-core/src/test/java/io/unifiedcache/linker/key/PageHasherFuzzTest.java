package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the salts and the tokens are, there is one key a full page, or a refusal. */
class PageHasherFuzzTest {
  @MethodSource("keys")
  @FuzzTest
  void pageKeys_anySaltsAndTokens_areKeysOrRefused(byte[] bytes) {
    int cut = bytes.length / 2;
    int[] tokens = new int[(bytes.length - cut) / Integer.BYTES];
    ByteBuffer.wrap(bytes, cut, bytes.length - cut).slice().asIntBuffer().get(tokens);
    try {
      PageHasher hasher =
          PageHasher.of(3)
              .withNamespace(
                  Optional.of(raw(Arrays.copyOf(bytes, cut))),
                  Optional.of(new String(bytes, StandardCharsets.UTF_8)));
      assertThat(hasher.pageKeys(tokens)).hasSize(tokens.length / 3);
    } catch (IllegalArgumentException e) {
      assertThat(e).hasMessageMatching("(?s).+");
    }
  }

  /** A text is two bytes a character, so that unpaired surrogates come, too. */
  private static String raw(byte[] bytes) {
    char[] text = new char[bytes.length / 2];
    ByteBuffer.wrap(bytes).asCharBuffer().get(text);
    return new String(text);
  }

  /** Returns keys as text of one and of two bytes a character. */
  static List<byte[]> keys() {
    String key =
        "uc2_prod_org%2Fmodel%5Fa_v1%2E0_bf16_64__tp1-2_pp0-3_cp2-4_dcp1-2-128_sh4_ab12_kv_d2214d97"
            + "_k%2E0";
    return List.of(
        key.getBytes(StandardCharsets.UTF_8),
        key.getBytes(StandardCharsets.UTF_16BE),
        new byte[] {(byte) 0xd8, 0, 0, 'a', (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff});
  }
}
