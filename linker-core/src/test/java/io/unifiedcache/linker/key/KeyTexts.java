package io.unifiedcache.linker.key;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The texts that the fuzz tests of keys make of bytes, and what they begin with. */
final class KeyTexts {
  private KeyTexts() {}

  /** Returns a text of two bytes a character, so that unpaired surrogates come, too. */
  static String raw(byte[] bytes) {
    char[] text = new char[bytes.length / 2];
    ByteBuffer.wrap(bytes).asCharBuffer().get(text);
    return new String(text);
  }

  /** Returns keys as text of one and of two bytes a character. */
  static List<byte[]> seeds() {
    String key =
        "uc2_prod_org%2Fmodel%5Fa_v1%2E0_bf16_64__tp1-2_pp0-3_cp2-4_dcp1-2-128_sh4_ab12_kv_d2214d97"
            + "_k%2E0";
    return List.of(
        key.getBytes(StandardCharsets.UTF_8),
        key.getBytes(StandardCharsets.UTF_16BE),
        new byte[] {(byte) 0xd8, 0, 0, 'a', (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff});
  }
}
