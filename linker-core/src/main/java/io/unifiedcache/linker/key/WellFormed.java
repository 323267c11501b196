package io.unifiedcache.linker.key;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Text without unpaired surrogates, which UTF-8 could not tell apart. */
final class WellFormed {
  private WellFormed() {}

  /**
   * Returns the UTF-8 of {@code text}.
   *
   * @param what names the text in the refusal
   * @throws IllegalArgumentException if the text has an unpaired surrogate
   */
  static byte[] utf8(String what, String text) {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] exact = new byte[bytes.remaining()];
      bytes.get(exact);
      return exact;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException(what + " has an unpaired surrogate", e);
    }
  }
}
