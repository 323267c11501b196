package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.ObjectKey;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the text of a key is, it is read and written back, or refused. */
class StrictKeyFuzzTest {
  @MethodSource("keys")
  @FuzzTest
  void parse_anyText_isAKeyOrRefused(byte[] bytes) {
    for (String text :
        List.of(
            new String(bytes, StandardCharsets.UTF_8),
            new String(bytes, StandardCharsets.UTF_16BE),
            raw(bytes))) {
      try {
        ObjectKey key = new ObjectKey(text);
        assertThat(StrictKey.parse(key).key()).isEqualTo(key);
      } catch (IllegalArgumentException e) {
        assertThat(e).hasMessageMatching("(?s).+");
      }
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
