package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.ObjectKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SglangNamesTest {
  @Test
  void of_aNameOfSglangs_isItself() {
    for (String name :
        List.of(
            "34fb5c825de7ca4aea6e712f19d439c1da0c92c37b423936c5f618545ca4fa1f__0_1.bin",
            "page0.deepseek_v4_c4_indexer_org-model-a_0_2_2_1_cp0_2.bin",
            "page0_a%2Fb_0_1.bin",
            "page0_模型_0_1.bin",
            "a.bin.bin")) {
      assertThat(SglangNames.of(new ObjectKey(name))).isEqualTo(name);
      assertThat(SglangNames.key(name)).isEqualTo(new ObjectKey(name));
    }
  }

  @Test
  void of_anyOtherKey_staysInTheFolderAndMeetsNoOther() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    char[] alphabet = "ab./\\=%~-\n\0é.bin".toCharArray();
    Map<String, ObjectKey> names = new HashMap<>();
    for (int i = 0; i < 200_000; i++) {
      StringBuilder text = new StringBuilder();
      int length = 1 + random.nextInt(6);
      for (int j = 0; j < length; j++) {
        text.append(alphabet[random.nextInt(alphabet.length)]);
      }
      ObjectKey key = new ObjectKey(random.nextInt(4) == 0 ? text + ".bin" : text.toString());
      String name = SglangNames.of(key);
      assertThat(name).as("%s of seed %d", key, seed).isNotNull();
      assertThat(name)
          .as("%s of seed %d", key, seed)
          .doesNotContain("/", "\0")
          .doesNotStartWith(".");
      assertThat(SglangNames.key(name)).as("%s of seed %d", key, seed).isEqualTo(key);
      ObjectKey other = names.put(name, key);
      assertThat(other == null || other.equals(key)).as("%s of seed %d", key, seed).isTrue();
    }
  }

  @Test
  void key_ofOtherFiles_isNone() {
    for (String name :
        List.of(
            ".0123456789abcdef.tmp",
            ".hidden.bin",
            ".bin",
            "README",
            "=",
            "=2=",
            "a=2f.bin",
            "a=41.bin",
            "a.bin=",
            "\ufffd.bin",
            SglangFolder.BEGUN)) {
      assertThat(SglangNames.key(name)).as(name).isNull();
    }
    assertThat(SglangNames.key("a=")).isEqualTo(new ObjectKey("a"));
  }

  @Test
  void of_aKeyThatIsTooLong_isNone() {
    assertThat(SglangNames.of(new ObjectKey("k".repeat(254)))).isNotNull();
    assertThat(SglangNames.of(new ObjectKey("k".repeat(255)))).isNull();
    assertThat(SglangNames.of(new ObjectKey("é".repeat(128)))).isNull();
  }
}
