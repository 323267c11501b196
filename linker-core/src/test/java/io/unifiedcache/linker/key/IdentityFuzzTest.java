package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import java.util.Arrays;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the parts of an identity are, its keys say the same when they are read. */
class IdentityFuzzTest {
  @MethodSource("io.unifiedcache.linker.key.KeyTexts#seeds")
  @FuzzTest
  void key_anyParts_areReadBackOrRefused(byte[] bytes) {
    int cut = bytes.length / 2;
    String first = KeyTexts.raw(Arrays.copyOf(bytes, cut));
    String second = KeyTexts.raw(Arrays.copyOfRange(bytes, cut, bytes.length));
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
}
