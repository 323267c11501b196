package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the parts of an identity are, its keys say the same when they are read. */
class IdentityFuzzTest {
  @MethodSource("keys")
  @FuzzTest
  void key_anyParts_areReadBackOrRefused(byte[] bytes) {
    int cut = bytes.length / 2;
    String first = raw(Arrays.copyOf(bytes, cut));
    String second = raw(Arrays.copyOfRange(bytes, cut, bytes.length));
    try {
      StrictKey key =
          new StrictKey(
              CacheIdentity.builder().tag(first).model(second).salt(first + second).build(),
              /* rankReplicated= */ false,
              new PageKey(first),
              new PoolName(second),
              "0123abcd",
              first);
      assertThat(StrictKey.parse(key.key())).isEqualTo(key);
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
